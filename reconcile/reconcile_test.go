package reconcile_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

func TestShares(t *testing.T) {
	for _, tc := range []struct {
		name            string
		wishes, weights []int64
		total           int64
		want            []int64
	}{
		{"enough for all", []int64{5, 10}, []int64{1, 1}, 100, []int64{5, 10}},
		{"equal when all want more", []int64{90, 90, 90}, []int64{1, 1, 1}, 30, []int64{10, 10, 10}},
		{"who wants little leaves more for the others", []int64{2, 90, 90}, []int64{1, 1, 1}, 30, []int64{2, 14, 14}},
		{"by weight", []int64{90, 90}, []int64{2, 1}, 30, []int64{20, 10}},
		{"nothing to share is nothing, never unlimited", []int64{90, 90, 90, 90}, []int64{1, 1, 1, 1}, 0, []int64{0, 0, 0, 0}},
		{"COST-09: 3 tokens in 4 regions", []int64{9, 9, 9, 9}, []int64{1, 1, 1, 1}, 3, []int64{1, 1, 1, 0}},
		{"no wish, no share", []int64{0, 9}, []int64{1000, 1}, 5, []int64{0, 5}},
		{"largest numbers", []int64{1 << 53, 1 << 53}, []int64{1 << 20, 1 << 20}, 1 << 53, []int64{1 << 52, 1 << 52}},
		{"none", nil, nil, 5, []int64{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, reconcile.Shares(tc.wishes, tc.weights, tc.total, 0))
		})
	}
}

func TestSharesReachEveryoneInTime(t *testing.T) {
	got := make([]int64, 4)
	for turn := range uint64(8) {
		for i, s := range reconcile.Shares([]int64{9, 9, 9, 9}, []int64{1, 1, 1, 1}, 1, turn) {
			got[i] += s
		}
	}
	require.Equal(t, []int64{2, 2, 2, 2}, got)
}

// A share is max-min fair when whoever is below its wish has, for its weight
// and up to rounding, no less than anyone else.
func TestSharesAreMaxMin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		wishes := rapid.SliceOfN(rapid.Int64Range(0, 1000), n, n).Draw(t, "wishes")
		weights := rapid.SliceOfN(rapid.Int64Range(1, 10), n, n).Draw(t, "weights")
		total := rapid.Int64Range(0, 3000).Draw(t, "total")
		shares := reconcile.Shares(wishes, weights, total, rapid.Uint64().Draw(t, "turn"))
		var sum, wished int64
		for i := range shares {
			sum += shares[i]
			wished += wishes[i]
			require.GreaterOrEqual(t, shares[i], int64(0))
			require.LessOrEqual(t, shares[i], wishes[i])
		}
		require.Equal(t, min(total, wished), sum, "all of it is used, and no more")
		for i := range shares {
			for j := range shares {
				if shares[i] == wishes[i] || shares[j] == 0 {
					continue
				}
				mine := new(big.Rat).SetFrac64(shares[i]+1+int64(n), weights[i])
				theirs := new(big.Rat).SetFrac64(shares[j]-1, weights[j])
				require.GreaterOrEqual(t, mine.Cmp(theirs), 0, "%v: %d is below its wish and has less than %d", shares, i, j)
			}
		}
	})
}

func allocate(free, limit int64, asks ...lease.HolderAsk) []lease.Target {
	for i := range asks {
		if asks[i].Region.Weight == 0 {
			asks[i].Region = lease.RegionTerms{Region: string(rune('a' + i)), Weight: 1}
		}
	}
	targets := make([]lease.Target, len(asks))
	reconcile.Allocate(&lease.Situation{Free: free, Limit: limit, Asks: asks}, targets)
	return targets
}

func TestAllocateNeverPromisesMoreThanThereIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.Int64Range(0, 100).Draw(t, "free")
		asks := make([]lease.HolderAsk, rapid.IntRange(0, 5).Draw(t, "n"))
		for i := range asks {
			asks[i].Outstanding = rapid.Int64Range(0, 50).Draw(t, "outstanding")
			asks[i].Ask = lease.Ask{Want: rapid.Int64Range(0, 200).Draw(t, "want"), Need: rapid.Int64Range(0, 200).Draw(t, "need")}
			asks[i].Region = lease.RegionTerms{
				Region: rapid.SampledFrom([]string{"us", "eu"}).Draw(t, "region"), Weight: 1,
				Min: rapid.Int64Range(0, 20).Draw(t, "min"), Max: rapid.Int64Range(0, 99).Draw(t, "max"),
			}
		}
		var given int64
		for i, target := range allocate(free, 120, asks...) {
			given += max(0, target.Hold-asks[i].Outstanding)
			require.GreaterOrEqual(t, target.Hold, int64(0))
		}
		require.LessOrEqual(t, given, free)
	})
}

func TestAllocateRecallsOnlyWhileAnotherGoesShort(t *testing.T) {
	idle := lease.HolderAsk{Outstanding: 80}
	hungry := lease.HolderAsk{Outstanding: 0, Ask: lease.Ask{Want: 60}}
	got := allocate(100, 200, idle, hungry)
	require.Equal(t, []lease.Target{{Hold: 80}, {Hold: 60}}, got)
	got = allocate(0, 100, idle, hungry)
	require.True(t, got[0].Recall)
	require.Equal(t, int64(40), got[0].Hold)
	require.Zero(t, got[1].Hold)
}

func TestAllocateGrantsANeedWhole(t *testing.T) {
	got := allocate(50, 100, lease.HolderAsk{Ask: lease.Ask{Want: 50}}, lease.HolderAsk{Ask: lease.Ask{Want: 40, Need: 40}})
	require.Equal(t, int64(40), got[1].Hold)
	require.Equal(t, int64(10), got[0].Hold)
}

func TestAllocateHonoursARegionsBounds(t *testing.T) {
	us := lease.HolderAsk{Region: lease.RegionTerms{Region: "us", Weight: 1, Max: 10}, Ask: lease.Ask{Want: 90}}
	eu := lease.HolderAsk{Region: lease.RegionTerms{Region: "eu", Weight: 1, Min: 70}, Ask: lease.Ask{Want: 90}}
	ap := lease.HolderAsk{Region: lease.RegionTerms{Region: "ap", Weight: 1}, Ask: lease.Ask{Want: 90}}
	got := allocate(100, 100, us, eu, ap)
	require.Equal(t, int64(10), got[0].Hold)
	require.Equal(t, int64(80), got[1].Hold, "its least, and a part of the rest")
	require.Equal(t, int64(10), got[2].Hold)
}

func TestDemandIsSeenWithinAReportAndForgottenWithinAFew(t *testing.T) {
	var d int64
	for range 3 {
		d = reconcile.Demand(d, 100, 1, 100*time.Millisecond)
	}
	require.InDelta(t, 1_000_000, d, 300_000, "thousandths of a token a second")
	for range 50 {
		d = reconcile.Demand(d, 0, 1, 100*time.Millisecond)
	}
	require.Less(t, d, int64(10_000))
}

func TestASmallDemandIsNotRoundedToNothing(t *testing.T) {
	d := reconcile.Demand(0, 1, 1, time.Hour)
	require.Positive(t, d)
	p := reconcile.Plan(&lease.Usage{Elapsed: 100 * time.Millisecond, Refused: 1, MaxRefused: 1, Largest: 1, Limit: 10})
	require.Equal(t, int64(1), p.Ask.Need)
	require.Positive(t, p.Ask.Want)
}

func TestPlanAsksBeforeItRunsDry(t *testing.T) {
	u := lease.Usage{
		Elapsed: 100 * time.Millisecond, Admitted: 100, Unspent: 250, Limit: 100_000, RoundTrip: 200 * time.Millisecond,
		Interval: 100 * time.Millisecond, Last: lease.Ask{Demand: 1_000_000},
	}
	p := reconcile.Plan(&u)
	require.Equal(t, int64(1001), p.Ask.Want, "a second of demand")
	require.Equal(t, int64(401), p.Low, "a round trip and two reports")
	u.Unspent = 900
	require.Zero(t, reconcile.Plan(&u).Ask.Want)
}
