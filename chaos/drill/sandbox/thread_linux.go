package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// space is an open network namespace.
type space struct{ file *os.File }

// here opens that of the calling thread.
func here() (space, error) {
	f, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return space{}, fmt.Errorf("open the network namespace: %w", err)
	}
	return space{f}, nil
}

// enter moves the calling thread into it.
func (s space) enter() error {
	if err := unix.Setns(int(s.file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	return nil
}

// thread is one thread of the system that is moved between network namespaces.
// Children are started by it alone: it never ends, and so does not take them
// along (see Command about the death of threads).
type thread struct {
	work chan func()
	home space
}

func newThread() (*thread, error) {
	t := &thread{work: make(chan func())}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		var err error
		t.home, err = here()
		failed <- err
		if err != nil {
			return
		}
		for f := range t.work {
			f()
		}
	}()
	return t, <-failed
}

// in runs f in a namespace and waits for it. f must not block.
func (t *thread) in(s space, f func() error) error {
	done := make(chan error)
	t.work <- func() {
		if err := s.enter(); err != nil {
			done <- err
			return
		}
		err := f()
		if back := t.home.enter(); back != nil {
			// The thread is lost somewhere: nothing that it does later is where
			// it should be.
			panic(errors.Join(back, err))
		}
		done <- err
	}
	return <-done
}

// create makes a new namespace.
func (t *thread) create() (s space, err error) {
	err = t.in(t.home, func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("%w: a network namespace: %w", ErrUnavailable, err)
		}
		s, err = here()
		return err
	})
	return s, err
}

// aside runs f, which may block, in a namespace, on a thread that ends with it.
func aside[T any](s space, f func() (T, error)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here, where it is
		var o outcome
		if o.err = s.enter(); o.err == nil {
			o.v, o.err = f()
		}
		done <- o
	}()
	o := <-done
	return o.v, o.err
}
