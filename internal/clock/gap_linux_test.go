package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGapIsSteady(t *testing.T) {
	measure := func() (d time.Duration) {
		require.Eventually(t, func() (ok bool) { d, ok = gap(); return ok }, 10*time.Second, time.Millisecond)
		return d
	}
	first := measure()
	require.InDelta(t, first, measure(), float64(noise))
}
