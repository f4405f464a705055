package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// TestLaw11_OneBusyRegionOfThreeGetsTheWindow has one region ask for twice a
// window's limit, and wants it to be given what the floors of the idle ones keep.
func TestLaw11_OneBusyRegionOfThreeGetsTheWindow(t *testing.T) {
	const limit, minutes = 6000, 5
	windows, err := bucket.FixedWindows(time.Minute)
	require.NoError(t, err)
	terms := lease.Terms{
		Quota: "quota 1", Tokens: limit, Windowed: true, Windows: windows, TTL: 5 * time.Second, FloorTTL: 10 * time.Minute,
	}
	c := &Config{
		Seed: 1, Duration: minutes * time.Minute, Drift: 1000, ElectionTTL: 2 * time.Second,
		ReportInterval: 100 * time.Millisecond, LedgerTick: 10 * time.Millisecond, Keys: 1, Coordinators: []Machine{{}},
		Clients: []Client{{Cells: []Cell{{0, 0}}, To: minutes * time.Minute, Every: 5 * time.Millisecond, Burst: 1, MinCost: 1, MaxCost: 1}},
	}
	c.Regions = []Region{
		{Name: "us", Node: "1", Latency: 40 * time.Millisecond},
		{Name: "eu", Node: "1", Latency: 75 * time.Millisecond},
		{Name: "ap", Node: "1", Latency: 105 * time.Millisecond},
	}
	for _, name := range []string{"us", "eu", "ap"} {
		terms.Floors = append(terms.Floors, lease.FloorTerms{Region: name, Tokens: limit / 10})
	}
	c.Policies = [][]lease.Terms{{terms}}
	w := newWorld(c, false)
	w.run(c.Duration)
	require.NoError(t, w.failure)
	require.Len(t, w.bounds[0].windows, minutes)
	for i, s := range w.bounds[0].windows {
		t.Logf("minute %d: %d of %d", i+1, s.spent, limit)
		require.LessOrEqual(t, s.spent, int64(limit))
		require.GreaterOrEqual(t, s.spent, int64(limit*99/100))
	}
}
