package clock

import (
	"context"
	"time"
)

const (
	// beat is how soon after a resume the suspension is counted: what is done
	// in between is done by a clock that missed it (law 6, the one exception).
	beat = 5 * time.Millisecond
	// noise is what two clocks that are read one after the other may seem to
	// differ by; no suspension is that short.
	noise = time.Millisecond
)

// Run counts suspensions until ctx ends: every few milliseconds it compares the
// system's clock that counts suspended time with the one that does not, and
// adds what they moved apart to the time that Mono tells. Deadlines that are
// compared with Mono so expire in true time.
//
// Where the system has no such pair of clocks, Run does nothing: there,
// suspending the machine breaks the assumption that clocks keep time.
func (c *Clock) Run(ctx context.Context) {
	first, ok := c.gap()
	if !ok {
		return
	}
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.count(first)
		}
	}
}

// count adds what was slept through since the gap was first measured.
func (c *Clock) count(first time.Duration) {
	now, ok := c.gap()
	if slept := now - first; ok && slept > time.Duration(c.asleep.Load())+noise {
		c.asleep.Store(int64(slept))
	}
}

// Slept returns how long the machine was suspended, in real time, since Run
// began.
func (c *Clock) Slept() time.Duration { return time.Duration(c.asleep.Load()) }
