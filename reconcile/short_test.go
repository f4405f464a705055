package reconcile_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// asking is a holder 100 ms away with a demand of so many tokens a second.
func asking(want, perSecond, has int64) lease.HolderAsk {
	return lease.HolderAsk{
		Outstanding: has, RoundTrip: 100 * time.Millisecond,
		Ask: lease.Ask{Want: want, Demand: 1000 * perSecond},
	}
}

func situation(free, limit int64, asks ...lease.HolderAsk) (*lease.Situation, []lease.Target) {
	for i := range asks {
		if asks[i].Region.Weight == 0 {
			asks[i].Region = lease.RegionTerms{Region: string(rune('a' + i)), Weight: 1, Max: asks[i].Region.Max}
		}
	}
	return &lease.Situation{Free: free, Limit: limit, Interval: 100 * time.Millisecond, Asks: asks}, make([]lease.Target, len(asks))
}

// What a region holds beyond what lasts until its next chance is taken back while
// another goes short: 40 a second over a round trip and two reports are 13, and 3 for
// chance.
func TestFAIR03_WhoIsShortIsGivenWhatOthersKeepForLater(t *testing.T) {
	s, targets := situation(0, 2000, asking(0, 40, 250), asking(600, 600, 100))
	reconcile.Allocate(s, targets)
	require.Equal(t, lease.Target{Hold: 86, Recall: true}, targets[0], "16 are urgent, and it has its part of what is not")
	s, targets = situation(0, 2000, asking(0, 40, 100), asking(600, 600, 90))
	reconcile.Allocate(s, targets)
	require.Equal(t, lease.Target{Hold: 16, Recall: true}, targets[0], "what is urgent to both is all that there is")
	require.False(t, targets[1].Recall)
}

// Two regions that want alike in a bucket that is in demand everywhere are left as
// they are while neither is more than a quarter above its share: budget does not go
// to and fro.
func TestFAIR07_SmallDifferencesAreNotRecalled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noise := rapid.Int64Range(-5, 5).Draw(t, "percent")
		half := int64(500)
		s, targets := situation(0, 2000, asking(900, half+half*noise/100, 200), asking(900, half-half*noise/100, 200))
		reconcile.Allocate(s, targets)
		require.False(t, targets[0].Recall || targets[1].Recall, "%+v", targets)
	})
}

func TestWhoWasJustGivenSomeComesAfterTheOthers(t *testing.T) {
	later := asking(100, 500, 0)
	later.Later = true
	s, targets := situation(10, 2000, later, asking(100, 500, 0), asking(100, 500, 30))
	reconcile.Allocate(s, targets)
	require.Equal(t, []int64{0, 10}, []int64{targets[0].Hold, targets[1].Hold}, "all that is free, and not half of it")
}

// A window quota is given ahead of need, by half of what it will last for.
func TestAWindowQuotaIsHalved(t *testing.T) {
	ahead := func(free int64, asks ...lease.HolderAsk) []int64 {
		s, targets := situation(free, 100_000, asks...)
		s.Ahead = true
		reconcile.Allocate(s, targets)
		holds := make([]int64, len(targets))
		for i := range targets {
			holds[i] = targets[i].Hold
		}
		return holds
	}
	require.Equal(t, []int64{301, 7}, ahead(10_000, asking(100, 100, 0), asking(0, 100, 7)), "3 s at most, and only to who asks")
	require.Equal(t, []int64{201}, ahead(400, asking(50, 100, 0)), "half of four seconds")
	require.Equal(t, []int64{100}, ahead(100, asking(50, 100, 0)), "a second is not worth halving")
	require.Equal(t, []int64{100}, ahead(1000, lease.HolderAsk{Region: lease.RegionTerms{Max: 100}, Ask: lease.Ask{Want: 50, Demand: 100_000}}), "a region's maximum holds")
	require.Equal(t, []int64{50}, ahead(1000, lease.HolderAsk{Ask: lease.Ask{Want: 50}}), "no demand is known")
}

func TestAFallThatIsNoChanceIsBelievedAtOnce(t *testing.T) {
	const tenth = 100 * time.Millisecond
	require.Equal(t, int64(125_000), reconcile.Demand(1_000_000, 0, 1, tenth), "100 were to come and none came")
	require.Equal(t, int64(200_000), reconcile.Demand(1_000_000, 20, 1, tenth))
	require.Greater(t, reconcile.Demand(1_000_000, 70, 1, tenth), int64(900_000), "30 fewer than 100 may be chance")
	require.Greater(t, reconcile.Demand(1_000_000, 0, 50, tenth), int64(800_000), "and so may two large costs that did not come")
}
