package clock

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSpeedOneIsExact(t *testing.T) {
	c := New(1)
	for _, d := range []time.Duration{0, 1, -5, time.Hour, math.MaxInt64, 1<<53 + 1} {
		assert.Equal(t, d, c.Real(d))
		assert.Equal(t, d, c.Scaled(d))
	}
	assert.WithinDuration(t, time.Now(), c.Wall(), time.Second)
	assert.Zero(t, New(1).Speed()-1)
}

func TestSpeedScalesBothWays(t *testing.T) {
	c := New(20)
	assert.Equal(t, 50*time.Millisecond, c.Real(time.Second))
	assert.Equal(t, time.Second, c.Scaled(50*time.Millisecond))
	assert.Equal(t, time.Duration(1), c.Real(1), "rounded up: nothing waits too short")
	slow := New(0.5)
	assert.Equal(t, 2*time.Second, slow.Real(time.Second))
	assert.Equal(t, time.Duration(math.MaxInt64), slow.Real(math.MaxInt64), "no overflow")
}

func TestSpeedsThatAreRefused(t *testing.T) {
	for _, s := range []float64{0, -1, math.NaN(), math.Inf(1), 1e7, 1e-9} {
		require.Error(t, CheckSpeed(s))
		require.Panics(t, func() { New(s) })
	}
	require.NoError(t, CheckSpeed(1))
}

func TestMonoNeverGoesBack(t *testing.T) {
	for _, speed := range []float64{1, 3, 0.3} {
		c := New(speed)
		last := c.Mono()
		for range 10_000 {
			now := c.Mono()
			require.GreaterOrEqual(t, now, last)
			last = now
		}
	}
}

func TestWallRunsAheadWithTheClock(t *testing.T) {
	c := New(1000)
	c.asleep.Store(int64(time.Minute))
	assert.GreaterOrEqual(t, c.Wall().Sub(c.start), 1000*time.Minute)
	m := c.Moment()
	assert.GreaterOrEqual(t, m.Mono, 1000*time.Minute)
}

// TestSuspensionCounts moves the two system clocks apart under a running beat,
// as a suspended machine does (law 6; field case CLK-05).
func TestSuspensionCounts(t *testing.T) {
	var apart atomic.Int64
	apart.Store(int64(time.Hour)) // since the machine started
	c := New(1)
	c.gap = func() (time.Duration, bool) { return time.Duration(apart.Load()), true }
	ctx, cancel := context.WithCancel(t.Context())
	var beats sync.WaitGroup
	beats.Go(func() { c.Run(ctx) })
	defer beats.Wait()
	defer cancel()

	require.Never(t, func() bool { return c.Slept() > 0 }, 20*time.Millisecond, beat, "an old suspension is not ours")
	apart.Add(int64(noise / 2))
	require.Never(t, func() bool { return c.Slept() > 0 }, 20*time.Millisecond, beat, "noise is no suspension")
	apart.Add(int64(time.Minute))
	require.Eventually(t, func() bool { return c.Mono() > time.Minute }, 10*time.Second, time.Millisecond)
	apart.Add(-int64(time.Hour))
	require.Never(t, func() bool { return c.Mono() < time.Minute }, 20*time.Millisecond, beat, "it never goes back")
}

func TestRunEndsWithoutClocksToCompare(t *testing.T) {
	c := New(1)
	c.gap = func() (time.Duration, bool) { return 0, false }
	c.Run(context.Background())
}

func TestTimersAreScaled(t *testing.T) {
	c := New(1000)
	ctx, cancel := c.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ticker := c.NewTicker(time.Second)
	defer ticker.Stop()
	timer := c.NewTimer(time.Second)
	defer timer.Stop()
	for _, fired := range []<-chan time.Time{ticker.C, timer.C, c.After(time.Second)} {
		select {
		case <-fired:
		case <-time.After(10 * time.Second):
			require.Fail(t, "a second at speed 1000 takes a millisecond")
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		require.Fail(t, "ten seconds at speed 1000 take ten milliseconds")
	}
}

func BenchmarkMono(b *testing.B) {
	c := New(1)
	for b.Loop() {
		c.Mono()
	}
}
