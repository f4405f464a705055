package reconcile_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// lending is what each holder should have of a bucket that may be lent.
func lending(free, limit int64, asks ...lease.HolderAsk) []int64 {
	for i := range asks {
		if asks[i].Region.Weight == 0 {
			asks[i].Region = lease.RegionTerms{Region: string(rune('a' + i)), Weight: 1, Max: asks[i].Region.Max}
		}
	}
	targets := make([]lease.Target, len(asks))
	reconcile.Allocate(&lease.Situation{Free: free, Limit: limit, Lend: true, Asks: asks}, targets)
	holds := make([]int64, len(asks))
	for i := range targets {
		holds[i] = targets[i].Hold
	}
	return holds
}

func TestLend(t *testing.T) {
	asks := func(want, demand, has int64) lease.HolderAsk {
		return lease.HolderAsk{Outstanding: has, Ask: lease.Ask{Want: want, Demand: demand}}
	}
	for _, tc := range []struct {
		name        string
		free, limit int64
		asks        []lease.HolderAsk
		want        []int64
	}{
		{"one part of five for each of two", 300, 4000, []lease.HolderAsk{asks(10, 10_000, 0), asks(10, 10_000, 0)}, []int64{56, 56}},
		{"a sixteenth of the bucket at most", 4000, 4000, []lease.HolderAsk{asks(10, 10_000, 0)}, []int64{250}},
		{"who asks for more is not lent to", 1000, 1000, []lease.HolderAsk{asks(200, 200_000, 0)}, []int64{200}},
		{"nothing while another goes short", 100, 4000, []lease.HolderAsk{asks(10, 10_000, 0), asks(900, 900_000, 0)}, []int64{6, 94}},
		{"who used a quarter of it up is given it again", 1000, 1000, []lease.HolderAsk{asks(0, 10_000, 46)}, []int64{62}},
		{"who has most of it is left alone", 1000, 1000, []lease.HolderAsk{asks(0, 10_000, 47)}, []int64{47}},
		{"who is idle is lent nothing", 1000, 1000, []lease.HolderAsk{asks(0, 0, 0)}, []int64{0}},
		{"nothing is there", 0, 1000, []lease.HolderAsk{asks(0, 10_000, 0)}, []int64{0}},
		{"a region's maximum holds", 1000, 1000, []lease.HolderAsk{{Region: lease.RegionTerms{Max: 50}, Ask: lease.Ask{Want: 10, Demand: 1}}}, []int64{50}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, lending(tc.free, tc.limit, tc.asks...))
		})
	}
}

func TestNothingIsLentWhereThatIsNotAllowed(t *testing.T) {
	require.Equal(t, []lease.Target{{Hold: 10}}, allocate(1000, 1000, lease.HolderAsk{Ask: lease.Ask{Want: 10, Demand: 10_000}}))
}

// What is lent is within what there is, and the same situation looked at again, with
// what was given in the holders' hands, lends nothing more: else every look would.
func TestLendingComesToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.Int64Range(0, 1000).Draw(t, "free")
		asks := make([]lease.HolderAsk, rapid.IntRange(1, 6).Draw(t, "n"))
		for i := range asks {
			asks[i].Outstanding = rapid.Int64Range(0, 200).Draw(t, "outstanding")
			asks[i].Ask = lease.Ask{
				Want: rapid.Int64Range(0, 300).Draw(t, "want"), Need: rapid.Int64Range(0, 50).Draw(t, "need"),
				Demand: rapid.Int64Range(0, 1000).Draw(t, "demand"),
			}
		}
		first := lending(free, 1200, asks...)
		for i := range asks {
			given := max(0, first[i]-asks[i].Outstanding)
			free -= given
			asks[i].Outstanding += given
		}
		require.GreaterOrEqual(t, free, int64(0), "more is given than there is")
		for i, hold := range lending(free, 1200, asks...) {
			require.LessOrEqual(t, hold, asks[i].Outstanding, "holder %d", i)
		}
	})
}

func TestABurstIsToldAtOnce(t *testing.T) {
	usage := func(unspent, largest int64) lease.Usage {
		return lease.Usage{
			Elapsed: 100 * time.Millisecond, Interval: 100 * time.Millisecond, RoundTrip: 100 * time.Millisecond,
			Admitted: 1, Largest: largest, Unspent: unspent, TTL: 5 * time.Second, Limit: 10_000, Last: lease.Ask{Demand: 10_000},
		}
	}
	u := usage(400, 1)
	p := reconcile.Plan(&u)
	require.Equal(t, int64(300), p.Low, "a quarter is gone")
	require.Zero(t, p.Ask.Want, "but what is left lasts for long")
	u = usage(40, 1)
	require.Equal(t, int64(24), reconcile.Plan(&u).Low, "some requests are no burst")
	u = usage(400, 20)
	require.Less(t, reconcile.Plan(&u).Low, int64(300), "nor are some large ones")
}
