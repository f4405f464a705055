package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	scratchName = "leasehold-drill-"
	scratchLock = "lock"
	// youngest is how old a directory must be that is removed as a leftover: its
	// owner may not have locked it yet.
	youngest = time.Minute
)

// scratch makes a directory for the data of a drill, and removes those that
// drills left which were killed. done removes it.
func scratch() (dir string, done func() error, err error) {
	if err := sweep(); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp("", scratchName); err != nil {
		return "", nil, err
	}
	lock, err := os.Create(filepath.Join(dir, scratchLock))
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }, nil
}

// sweep removes directories whose owner is gone: nobody holds their lock.
func sweep() error {
	all, err := filepath.Glob(filepath.Join(os.TempDir(), scratchName+"*"))
	if err != nil {
		return err
	}
	for _, dir := range all {
		lock, err := os.Open(filepath.Join(dir, scratchLock))
		if err != nil {
			continue // another user's, or not locked yet
		}
		info, err := lock.Stat()
		if err == nil && time.Since(info.ModTime()) > youngest && unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			err = os.RemoveAll(dir)
		}
		if err = errors.Join(err, lock.Close()); err != nil {
			return fmt.Errorf("remove what a drill left: %w", err)
		}
	}
	return nil
}
