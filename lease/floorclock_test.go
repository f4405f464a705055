package lease_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// floorHolder is a holder with a floor of 5 tokens in each window of a second,
// which it is told at ten seconds of its clock, when the leader's shows wall; the
// answer took from the report at echo.
func floorHolder(t *testing.T, echo time.Duration, first, wall time.Time) (*lease.Holder, func(at time.Duration) int64) {
	h := lease.NewHolder(lease.HolderConfig{ID: lease.HolderID{Region: "us", Node: "1"}, Plan: exactly}, lease.State{})
	terms := tenths(t, 50, time.Second, "us")
	h.Adopt(1, []lease.QuotaLimits{{Terms: terms, MaxKeys: 10}})
	tell(t, h, 1, 10*time.Second, echo, first, wall)
	return h, func(at time.Duration) (n int64) {
		c := []*lease.Cell{h.Cell("api/key", "k")}
		for lease.Decide(func() time.Duration { return at }, c, 1).Outcome == lease.Admitted {
			n++
		}
		return n
	}
}

// tell opens a session and gives the floor in it.
func tell(t *testing.T, h *lease.Holder, n uint64, now, echo time.Duration, first, wall time.Time) {
	s := lease.Session{Epoch: lease.Epoch{History: 1, Revision: 1}, N: n}
	_, err := h.Welcome(echo, lease.Welcome{Cluster: "test", Session: s, StoreRevision: 1})
	require.NoError(t, err)
	require.NoError(t, h.Grants(now, lease.GrantBatch{Session: s, Floors: []lease.FloorGrant{{
		Quota: "api/key", Grant: 1, Tokens: 5, TTL: time.Minute, Echo: echo, First: first.UnixMilli(), Wall: wall.UnixNano(),
	}}}))
}

func TestLaw5_NoFloorIsSpentWhileTheWindowIsNotSure(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	_, spend := floorHolder(t, 9800*time.Millisecond, noon, noon)
	require.Equal(t, int64(5), spend(10*time.Second))
	require.Zero(t, spend(10*time.Second+790*time.Millisecond))
	for _, late := range []int{800, 900, 999} {
		require.Zero(t, spend(10*time.Second+time.Duration(late)*time.Millisecond), "the answer may have been on its way for 200 ms")
	}
	require.Equal(t, int64(5), spend(11*time.Second))
	require.Zero(t, spend(11*time.Second+700*time.Millisecond))
	require.Equal(t, int64(5), spend(14*time.Second+300*time.Millisecond), "windows that passed unseen are lost")
	require.Zero(t, spend(9*time.Second+800*time.Millisecond+time.Minute), "its lease has ended")
}

func TestLaw5_WindowsOfAFloorNeverGoBack(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h, spend := floorHolder(t, 10*time.Second, noon.Add(time.Second), noon)
	require.Zero(t, spend(10*time.Second), "it begins with the next window")
	require.Equal(t, int64(5), spend(13*time.Second))
	tell(t, h, 2, 14*time.Second, 14*time.Second, noon.Add(time.Second), noon.Add(2*time.Second)) // another leader
	require.Zero(t, spend(14*time.Second), "it was in a later one")
	require.Zero(t, spend(15*time.Second), "it has spent this one's part")
	require.Equal(t, int64(5), spend(16*time.Second))
	tell(t, h, 3, 17*time.Second, 12*time.Second, noon.Add(time.Second), noon.Add(time.Hour)) // said before the last one
	require.Equal(t, int64(5), spend(17*time.Second))
}

func TestLaw11_ManyWhoDecideAtOnceSpendAPartOnce(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h, _ := floorHolder(t, 10*time.Second, noon, noon)
	cells := []*lease.Cell{h.Cell("api/key", "a"), h.Cell("api/key", "b")}
	const windows = 20
	var clock atomic.Int64
	clock.Store(int64(10 * time.Second))
	admitted := make([]atomic.Int64, len(cells))
	var wg, begun sync.WaitGroup
	begun.Add(4)
	for range 4 {
		wg.Go(func() {
			for n := 0; clock.Load() < int64((10+windows)*time.Second); n++ {
				if n == 1000 {
					begun.Done()
				}
				for i := range cells {
					if lease.Decide(func() time.Duration { return time.Duration(clock.Load()) }, cells[i:i+1], 2).Outcome == lease.Admitted {
						admitted[i].Add(2)
					}
				}
			}
		})
	}
	for i := range 1000 * windows { // its owner goes on meanwhile
		if i == 1000 {
			begun.Wait() // or a busy machine lets all windows pass first
		}
		now := time.Duration(clock.Add(int64(time.Millisecond)))
		h.Tick(now)
		_ = h.Grants(now, lease.GrantBatch{Session: h.Session(), Floors: []lease.FloorGrant{{
			Quota: "api/key", Grant: 1, Tokens: 5, TTL: time.Minute, Echo: now, First: noon.UnixMilli(),
			Wall: noon.Add(now - 10*time.Second).UnixNano(),
		}}})
	}
	wg.Wait()
	for i := range admitted {
		require.LessOrEqual(t, admitted[i].Load(), int64(4*(windows+1)), "two costs of 2 in each, the last one begins at the end")
		require.Positive(t, admitted[i].Load())
	}
}
