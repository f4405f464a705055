package retry

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAWaitIsNeverShorterThanAskedAndFullySpread(t *testing.T) {
	spreads := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 16 * time.Second}
	least, most := make([]time.Duration, len(spreads)), make([]time.Duration, len(spreads))
	for range 500 {
		c := New(Limits{MaxTries: len(spreads) + 1})
		for i, spread := range spreads {
			wait, ok := c.Next(t.Context(), 10*time.Second)
			require.True(t, ok)
			extra := wait - 10*time.Second
			require.GreaterOrEqual(t, extra, time.Duration(0))
			require.LessOrEqual(t, extra, spread)
			if least[i] == 0 || extra < least[i] {
				least[i] = extra
			}
			most[i] = max(most[i], extra)
		}
	}
	for i, spread := range spreads {
		assert.Less(t, least[i], spread/10, "from the very start")
		assert.Greater(t, most[i], spread*9/10, "to the end")
	}
}

func TestTriesAndWaitsAreBounded(t *testing.T) {
	c := New(Limits{})
	for range 3 {
		_, ok := c.Next(t.Context(), time.Millisecond)
		require.True(t, ok)
	}
	_, ok := c.Next(t.Context(), time.Millisecond)
	assert.False(t, ok, "four tries are the default")
	_, ok = New(Limits{MaxTries: 1}).Next(t.Context(), 0)
	assert.False(t, ok)
	_, ok = New(Limits{}).Next(t.Context(), time.Minute+1)
	assert.False(t, ok, "a minute is the default")
	_, ok = New(Limits{MaxWait: time.Hour}).Next(t.Context(), time.Hour)
	assert.True(t, ok)
	wait, ok := New(Limits{}).Next(t.Context(), -time.Hour)
	assert.True(t, ok)
	assert.GreaterOrEqual(t, wait, time.Duration(0))
	c = New(Limits{MaxTries: -1, MaxWait: -1})
	for range 3 {
		_, ok = c.Next(t.Context(), time.Minute)
		require.True(t, ok)
	}
	_, ok = c.Next(t.Context(), time.Minute)
	assert.False(t, ok, "no field makes it endless")
}

func TestNobodyWaitsForWhatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, ok := New(Limits{}).Next(ctx, 5*time.Second+1)
		assert.False(t, ok, "the caller's own deadline")
		began := time.Now()
		require.ErrorIs(t, Sleep(ctx, time.Hour), context.DeadlineExceeded)
		assert.Equal(t, 5*time.Second, time.Since(began))
		require.NoError(t, Sleep(t.Context(), time.Minute))
		assert.Equal(t, time.Minute+5*time.Second, time.Since(began))
	})
}
