// Package retry is the patience of a polite client: when to come back after a
// denial that says how long to wait, and when not to.
//
// Its border: it computes and waits. What is a denial, and how it says so, is
// its callers' to know.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Limits bound the patience with one call. Fields that are not above 0 mean the
// defaults: nothing is without a bound.
type Limits struct {
	// MaxTries is how often the call is made at most, the first time included.
	// The default is 4; 1 does not retry.
	MaxTries int
	// MaxWait is the longest single wait. A denial that asks for a longer one is
	// handed to the caller. The default is a minute.
	MaxWait time.Duration
}

const (
	defaultTries = 4
	defaultWait  = time.Minute

	// The spread of the first retry, and of later ones, which grows by 2.
	firstSpread = time.Second
	lastSpread  = 16 * time.Second
)

// Call is the patience with one call. It belongs to one goroutine.
type Call struct {
	limits  Limits
	tries   int
	backoff backoff.ExponentialBackOff
}

// New returns the patience with a call that was made once.
func New(l Limits) *Call {
	if l.MaxTries <= 0 {
		l.MaxTries = defaultTries
	}
	if l.MaxWait <= 0 {
		l.MaxWait = defaultWait
	}
	return &Call{limits: l, tries: 1, backoff: backoff.ExponentialBackOff{
		// Full jitter: with a factor of 1 it is evenly spread from 0 to twice the
		// interval.
		InitialInterval: firstSpread / 2, MaxInterval: lastSpread / 2, Multiplier: 2, RandomizationFactor: 1,
	}}
}

// Next returns how long to wait before the call is made again, after a denial
// that asked for at least hint: never less, and more by a random part, since who
// was denied together should not come back together. It returns false when the
// call should not be made again: it was made often enough, the wait is longer
// than MaxWait, or ctx would end before it is over.
func (c *Call) Next(ctx context.Context, hint time.Duration) (time.Duration, bool) {
	if c.tries >= c.limits.MaxTries || hint > c.limits.MaxWait {
		return 0, false
	}
	c.tries++
	wait := max(0, hint) + c.backoff.NextBackOff()
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return 0, false
	}
	return wait, true
}

// Sleep waits, or returns ctx's error when ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
