package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command returns a command that runs this program again, with other arguments,
// in namespaces of its own: of users, networks, mounts and processes. It is the
// first process of them, so that the kernel kills all others when it ends. It is
// killed itself when the thread that starts it ends: the caller locks that one
// (runtime.LockOSThread) and keeps it. Signals of the terminal do not reach it.
func Command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
		Setpgid:     true,
	}
	return cmd
}

// Why says that a command could not be started because namespaces are not
// allowed, if that is the reason.
func Why(err error) error {
	for _, e := range []error{syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EINVAL, syscall.ENOSYS, syscall.EUSERS} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w (unprivileged user namespaces may be switched off, or a container may forbid them)", ErrUnavailable, err)
		}
	}
	return err
}

// scratch is where the file system in memory is mounted: a directory that every
// system has and that no process of a drill needs.
const scratch = "/run"

// mountScratch mounts it. What is mounted from now on is seen in here alone.
func mountScratch() error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("%w: make the mounts private: %w", ErrUnavailable, err)
	}
	if err := unix.Mount("tmpfs", scratch, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=4g,mode=700"); err != nil {
		return fmt.Errorf("%w: mount a file system in memory at %s: %w", ErrUnavailable, scratch, err)
	}
	return nil
}
