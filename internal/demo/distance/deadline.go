package distance

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// deadline is when a call gives up; zero is never.
type deadline struct{ at atomic.Pointer[time.Time] }

func (d *deadline) set(t time.Time) { d.at.Store(&t) }

func (d *deadline) get() time.Time {
	if t := d.at.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

func (d *deadline) passed() bool {
	t := d.get()
	return !t.IsZero() && !time.Now().Before(t)
}

// wait returns when changed is closed, at until, or at the deadline.
func (d *deadline) wait(changed <-chan struct{}, until time.Time) {
	if t := d.get(); !t.IsZero() && (until.IsZero() || t.Before(until)) {
		until = t
	}
	if until.IsZero() {
		<-changed
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

// broken is what a writer is told of the end of a pipe.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return net.ErrClosed
	}
	return err
}
