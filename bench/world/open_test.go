package world

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOpenLoopOmitsNothing: while all calls hang for a second, those that are
// due meanwhile wait, and their waiting counts.
func TestOpenLoopOmitsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		h, err := OpenLoop(2000, 1000, func(int) error {
			if hang := time.Second - time.Since(start); hang > 0 {
				time.Sleep(hang)
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, int64(2000), h.TotalCount())
		require.InDelta(t, float64(500*time.Millisecond), float64(h.ValueAtQuantile(75)), float64(20*time.Millisecond))
		require.InDelta(t, float64(time.Second), float64(h.Max()), float64(2*time.Millisecond))
		require.Equal(t, 1999*time.Millisecond, time.Since(start).Truncate(time.Millisecond), "at the rate that was asked for")
	})
}

func TestOpenLoopTellsErrors(t *testing.T) {
	var calls atomic.Int64
	_, err := OpenLoop(100, 1_000_000, func(int) error {
		if calls.Add(1) == 50 {
			return errors.ErrUnsupported
		}
		return nil
	})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
