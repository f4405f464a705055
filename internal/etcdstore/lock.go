package etcdstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process uses the data directory.
var ErrLocked = errors.New("etcdstore: data directory is in use by another process")

// lockDir makes the directory and takes its lock, which ends when the file is
// closed or the process dies. etcd has locks of its own, but waits for them
// without end and without a word.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("etcdstore: data directory: %w", err)
	}
	// A plain etcd on the same directory knows nothing of our lock.
	database, err := flock(filepath.Join(dir, "member", "snap", "db"), os.O_RDWR)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err = database.Close(); err != nil {
			return nil, fmt.Errorf("etcdstore: data directory: %w", err)
		}
	}
	return flock(filepath.Join(dir, "leasehold.lock"), os.O_RDWR|os.O_CREATE)
}

// flock opens a file and locks it without waiting.
func flock(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, fmt.Errorf("etcdstore: data directory: %w", err)
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%w: %s is locked", ErrLocked, path)
	} else {
		err = fmt.Errorf("etcdstore: lock %s: %w", path, err)
	}
	return nil, errors.Join(err, f.Close())
}
