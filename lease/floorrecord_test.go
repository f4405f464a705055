package lease

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFloorRecord_IsReadAsItWasWritten(t *testing.T) {
	r := floorRecord{
		Holder: HolderID{Region: "us", Node: "1"}, Grant: 7, Region: "us", Tokens: 10, Burst: 3, TTL: time.Minute,
		Free: true, Per: time.Second, First: math.MinInt64, Through: -5, PriorLast: math.MaxInt64, PriorTokens: 1 << 53,
	}
	got, err := decodeFloor(r.encode())
	require.NoError(t, err)
	require.Equal(t, r, got)
	whole := r.encode()
	for n := range whole {
		if _, err := decodeFloor(whole[:n]); err == nil {
			// Older builds wrote less: without the windows, and without the period.
			got, _ := decodeFloor(whole[:n])
			require.Zero(t, got.First, "%d of %d bytes", n, len(whole))
		}
	}
	_, err = decodeFloor(append(whole, 0))
	require.ErrorIs(t, err, errRecord)
}
