// Package clock is the clock of the shells. It counts the time that the machine
// was suspended, and its time may run faster than the wall's, so that a demo
// can play an hour in a minute with every rule intact.
//
// The pure packages know no clock: they are given what this one reads.
package clock

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// Clock reads time. Its methods may be called concurrently.
type Clock struct {
	start time.Time // with a monotonic reading
	scale scale
	// asleep is how long the machine was suspended since start, in nanoseconds
	// of real time. Go's monotonic clock stands still meanwhile; Run adds it.
	asleep atomic.Int64
	gap    func() (time.Duration, bool)
}

// maxSpeed keeps a century of clock time within an int64.
const maxSpeed = 1_000_000

// New returns a clock that runs speed times as fast as real time. Speed 1 is
// exact. New panics when the speed is not above 0 and at most 1,000,000: a
// program checks what its user asked for with CheckSpeed.
func New(speed float64) *Clock {
	if err := CheckSpeed(speed); err != nil {
		panic(err)
	}
	return &Clock{start: time.Now(), scale: scale{speed: speed, exact: speed == 1}, gap: gap}
}

// CheckSpeed says what is wrong with a speed.
func CheckSpeed(speed float64) error {
	if !(speed >= 1.0/maxSpeed && speed <= maxSpeed) {
		return fmt.Errorf("clock: a speed of %v is not from 1/%d to %d", speed, maxSpeed, maxSpeed)
	}
	return nil
}

// Speed returns how many times as fast as real time the clock runs.
func (c *Clock) Speed() float64 { return c.scale.speed }

// Mono returns the time since the clock was made. It never goes back, and it
// includes the time that the machine was suspended, as soon as Run noticed.
// It costs one reading of the monotonic clock and one atomic load.
func (c *Clock) Mono() time.Duration {
	return c.scale.up(time.Since(c.start) + time.Duration(c.asleep.Load()))
}

// Wall returns the time of day. At speed 1 it is the system's; else it began
// with the system's and runs ahead of it.
func (c *Clock) Wall() time.Time {
	if c.scale.exact {
		return time.Now()
	}
	return c.start.Round(0).Add(c.Mono())
}

// Moment returns both readings.
func (c *Clock) Moment() lease.Moment {
	return lease.Moment{Mono: c.Mono(), Wall: c.Wall()}
}

// Real returns how much real time passes while d passes on this clock, rounded
// up: whoever waits that long has waited for d.
func (c *Clock) Real(d time.Duration) time.Duration { return c.scale.down(d) }

// Scaled returns how far this clock moves while d of real time passes, rounded
// down.
func (c *Clock) Scaled(d time.Duration) time.Duration { return c.scale.up(d) }

// After is time.After for a duration of this clock. Like every timer of Go it
// stands still while the machine is suspended; who must not act on time that
// passed unnoticed asks Mono.
func (c *Clock) After(d time.Duration) <-chan time.Time { return time.After(c.Real(d)) }

// WithTimeout is context.WithTimeout for a duration of this clock.
func (c *Clock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.Real(d))
}

// NewTimer is time.NewTimer for a duration of this clock. Reset takes real
// time: pass it Real(d).
func (c *Clock) NewTimer(d time.Duration) *time.Timer { return time.NewTimer(c.Real(d)) }

// NewTicker is time.NewTicker for a period of this clock.
func (c *Clock) NewTicker(d time.Duration) *time.Ticker {
	return time.NewTicker(max(c.Real(d), minPeriod))
}

// minPeriod keeps a ticker of a very fast clock from using up a core.
const minPeriod = 100 * time.Microsecond

// scale converts between real and clock time.
type scale struct {
	speed float64
	exact bool // the speed is 1: integers only
}

// up converts real time to clock time. It is monotonic: rounding is.
func (s *scale) up(d time.Duration) time.Duration {
	if s.exact {
		return d
	}
	return time.Duration(float64(d) * s.speed)
}

// down converts clock time to real time, rounded up.
func (s *scale) down(d time.Duration) time.Duration {
	if s.exact {
		return d
	}
	ns := math.Ceil(float64(d) / s.speed)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
