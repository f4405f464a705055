package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"

	"github.com/a1009580/leasehold/lease"
)

func TestLaw1_RefillAgainstTheSum(t *testing.T) {
	r := newRig(t, perMinute(60_000, 10_000))
	r.join("us")
	r.join("eu")
	n := r.hammer(time.Minute, "k", "us", "eu")
	require.LessOrEqual(t, n, int64(10_000+60_000+60))
	require.Greater(t, n, int64(69_000))
}

func TestLaw1_TimeSpentFullIsLost(t *testing.T) {
	r := newRig(t, perMinute(60, 10))
	r.join("us")
	require.Equal(t, lease.Cold, r.ask("us", "k", 1).Outcome)
	r.run(time.Hour)
	n := r.hammer(time.Second, "k", "us")
	require.LessOrEqual(t, n, int64(11))
	require.GreaterOrEqual(t, n, int64(10))
}

func TestLaw4_ExpiredIsDestroyedAndRefillMakesUpForIt(t *testing.T) {
	r := newRig(t, perMinute(60, 10))
	r.join("us")
	r.join("eu")
	r.ask("us", "k", 10)
	r.step(100 * time.Millisecond)
	require.Equal(t, int64(10), r.quota().Stock.Outstanding)
	r.closed = map[string]bool{"us": true} // it crashed
	require.Zero(t, r.hammer(4*time.Second, "k", "eu"), "its tokens are not granted twice")
	r.hammer(2*time.Second, "k", "eu")
	q := r.quota()
	require.Equal(t, int64(10), q.Books.Destroyed)
	require.LessOrEqual(t, q.Books.Spent, int64(2))
	n := r.hammer(10*time.Second, "k", "eu")
	require.InDelta(t, 10, n, 1)
}

func TestLaw2_TakeoverCountsTheChunkAsOutstandingUntilItIsClaimed(t *testing.T) {
	r := newRig(t, perMinute(60_000, 10_000))
	r.join("us")
	r.ask("us", "k", 500)
	r.step(0)
	held := r.quota().Stock
	require.GreaterOrEqual(t, held.Outstanding, int64(500))
	require.Positive(t, held.Chunk)

	r.now += time.Second
	r.lead() // the old leader is gone with all that it had in memory
	r.join("us")
	r.step(0)
	q := r.quota()
	require.Positive(t, q.Stock.Outstanding)
	require.GreaterOrEqual(t, r.drain("us", "k"), int64(500), "the claim was accepted: the holder goes on spending")
	require.LessOrEqual(t, q.Stock.Pool+q.Stock.Chunk+q.Stock.Outstanding, int64(10_000))
	r.run(10 * time.Second)
	require.LessOrEqual(t, r.hammer(time.Millisecond, "k", "us"), int64(10_000))
}

func TestLaw2_FourTakeoversInARowMintNothing(t *testing.T) {
	r := newRig(t, perMinute(60_000, 10_000))
	r.join("us")
	r.join("eu")
	begin := r.now
	n := r.hammer(time.Second, "k", "us", "eu")
	for range 4 {
		r.lead()
		r.join("us")
		n += r.hammer(300*time.Millisecond, "k", "us", "eu")
		r.join("eu")
		n += r.hammer(300*time.Millisecond, "k", "us", "eu")
	}
	n += r.hammer(20*time.Second, "k", "us", "eu")
	most := 10_000 + int64((r.now-begin)/time.Millisecond)
	require.LessOrEqual(t, n, most)
	require.Greater(t, n, most*8/10)
}

func TestLaw3_AnAccountThatTheCoordinatorEndedStaysClosed(t *testing.T) {
	r := newRig(t, perMinute(60, 10))
	r.plan = exactly
	r.join("us")
	r.ask("us", "k", 5)
	r.step(0)
	r.closed = map[string]bool{"us": true}
	r.run(6 * time.Second) // its lease ends on both sides
	require.NotEqual(t, lease.Admitted, r.ask("us", "k", 1).Outcome)
	destroyed := r.quota().Books.Destroyed
	require.Equal(t, int64(5), destroyed)
	r.closed = nil
	r.step(100 * time.Millisecond)
	r.step(100 * time.Millisecond)
	require.Equal(t, destroyed, r.quota().Books.Destroyed)
	require.Equal(t, lease.Admitted, r.ask("us", "k", 1).Outcome, "a new account was opened")
}

func TestLaw10_ARestartedProcessIsANewHolder(t *testing.T) {
	r := newRig(t, perMinute(60, 100))
	r.join("us")
	r.ask("us", "k", 60)
	r.step(0)
	delete(r.holders, "us")
	id := lease.HolderID{Region: "us", Node: "1", Incarnation: [16]byte{9}}
	r.holders["us2"] = lease.NewHolder(lease.HolderConfig{ID: id, Plan: greedy}, lease.State{})
	r.join("us2")
	n := r.hammer(2*time.Second, "k", "us2")
	require.LessOrEqual(t, n, int64(42), "the old account stays charged")
}

// greedy asks for all that it could ever have.
func greedy(u *lease.Usage) lease.Plan {
	return lease.Plan{Ask: lease.Ask{Want: u.Limit, Demand: 1}, Keep: u.Limit, Low: u.Limit}
}

func TestLaw5_WindowsEndAtTheirEndAndNeverGoBack(t *testing.T) {
	w := perWindow(t, 100, time.Minute)
	r := newRig(t, w)
	r.join("us")
	require.Equal(t, int64(100), r.hammer(30*time.Second, "k", "us"))
	require.Zero(t, r.hammer(28*time.Second, "k", "us"))
	r.run(3 * time.Second)
	require.Equal(t, int64(100), r.hammer(5*time.Second, "k", "us"))
	r.lead()
	r.join("us")
	require.Zero(t, r.hammer(5*time.Second, "k", "us"), "a new leader knows what is used")
}

func perWindow(t *testing.T, tokens int64, length time.Duration) lease.Terms {
	w, err := bucket.FixedWindows(length)
	require.NoError(t, err)
	return lease.Terms{Quota: "api/key", Tokens: tokens, Windowed: true, Windows: w, TTL: 5 * time.Second}
}

func TestLaw5_AReturnComesBackInItsWindow(t *testing.T) {
	r := newRig(t, perWindow(t, 100, time.Hour))
	r.plan = exactly
	r.join("us")
	r.join("eu")
	r.ask("us", "k", 80)
	r.step(0)
	require.Equal(t, int64(80), r.quota().Stock.Outstanding)
	r.ask("eu", "k", 90)
	r.run(7 * time.Second) // us does not use it, and is asked to give it back
	require.Less(t, r.quota().Stock.Outstanding, int64(80+90))
	r.ask("eu", "k", 90)
	r.step(100 * time.Millisecond)
	r.step(100 * time.Millisecond)
	require.Equal(t, lease.Admitted, r.ask("eu", "k", 90).Outcome)
}

func TestLaw11_AFloorServesAColdKeyAndIsTakenOffTheTop(t *testing.T) {
	terms := perMinute(6000, 1000)
	terms.Floors = []lease.FloorTerms{{Region: "us", Tokens: 600, Burst: 100}, {Region: "eu", Tokens: 600, Burst: 100}}
	r := newRig(t, terms)
	r.join("us")
	r.step(100 * time.Millisecond)
	r.step(100 * time.Millisecond)
	require.Equal(t, 1, r.quota().Floors)
	require.Equal(t, lease.Cold, r.ask("us", "new", 50).Outcome, "it starts empty")
	r.run(time.Minute)
	r.closed = map[string]bool{"us": true}
	require.Equal(t, int64(100), r.drain("us", "never seen"), "its burst, without asking")
	r.now += time.Second
	require.Equal(t, int64(10), r.drain("us", "never seen"), "and its rate")
}

func TestLaw11_AFloorIsNotGivenTwice(t *testing.T) {
	terms := perMinute(6000, 1000)
	terms.FloorTTL = 30 * time.Second
	terms.Floors = []lease.FloorTerms{{Region: "us", Tokens: 600, Burst: 100}}
	r := newRig(t, terms)
	r.join("us")
	r.run(time.Second)
	old := r.holders["us"]
	id := lease.HolderID{Region: "us", Node: "1", Incarnation: [16]byte{9}}
	r.closed = map[string]bool{"us": true}
	r.holders["us2"] = lease.NewHolder(lease.HolderConfig{ID: id, Plan: greedy}, lease.State{})
	r.join("us2")
	oldCell, newCell := old.Cell("api/key", "x"), r.holders["us2"].Cell("api/key", "y")
	both := 0
	for range 80 {
		r.step(time.Second)
		a := lease.Decide(r.clock, []*lease.Cell{oldCell}, 1).Outcome == lease.Admitted
		_ = newCell
		if a && r.quota().Floors == 1 {
			both++
		}
	}
	require.Equal(t, 1, r.quota().Floors, "it came to the new process in the end")
	require.NotZero(t, both)
}

func TestLaw12_ACutTrimsAndARaiseAddsRoomOnly(t *testing.T) {
	r := newRig(t, perMinute(600, 100))
	r.plan = exactly
	r.join("us")
	r.ask("us", "k", 10)
	r.step(0)
	r.setPolicy(perMinute(600, 20))
	q := r.quota()
	require.LessOrEqual(t, q.Stock.Pool+q.Stock.Chunk+q.Stock.Outstanding, int64(20))
	r.setPolicy(perMinute(600, 1000))
	q = r.quota()
	require.LessOrEqual(t, q.Stock.Pool+q.Stock.Chunk+q.Stock.Outstanding, int64(21))
}

// setPolicy changes the policy of all quotas and has everyone reconnect.
func (r *rig) setPolicy(terms ...lease.Terms) {
	r.terms = terms
	require.True(r.t, r.ledger.SetPolicy(lease.PolicyRecord{Revision: 2, Policy: []byte("next")}, terms))
	r.settle()
	for name := range r.holders {
		r.join(name)
	}
}

func TestLaw12_ARecordIsDeletedOnlyInItsBirthState(t *testing.T) {
	r := newRig(t, perMinute(60, 100))
	r.join("us")
	for i := range 50 {
		r.ask("us", string(rune('a'+i)), 10)
	}
	r.step(0)
	require.Len(t, r.store.with(lease.BucketPrefix), 50)
	for i := range 50 {
		require.Equal(t, lease.Admitted, r.ask("us", string(rune('a'+i)), 10).Outcome)
	}
	r.run(8 * time.Second)
	require.NotZero(t, r.quota().Buckets, "not full again yet")
	r.run(10 * time.Second)
	require.Zero(t, r.quota().Buckets)
	require.Empty(t, r.store.with(lease.BucketPrefix))
}

func TestLaw13_AStoreThatWasWipedBearsEmptyBuckets(t *testing.T) {
	r := newRig(t, perMinute(600, 100))
	r.join("us")
	r.ask("us", "k", 100)
	r.step(0)
	require.Equal(t, int64(100), r.drain("us", "k"))
	r.store = newShelf()
	r.lead() // with --new-cluster on an empty store: by mistake
	w, ok := r.ledger.OpenSession()
	require.True(t, ok)
	h := r.holders["us"]
	pieces, err := h.Welcome(r.now, w)
	require.ErrorIs(t, err, lease.ErrStale)
	require.Len(t, pieces, 1)
	require.ErrorIs(t, r.ledger.Hello(r.moment(), pieces[0]), lease.ErrSession)
	r.settle()
	require.ErrorIs(t, r.halt, lease.ErrLostHistory)
	r.lead()
	require.Greater(t, r.ledger.Epoch().History, uint64(1))
	r.join("us")
	require.Zero(t, r.hammer(5*time.Second, "k", "us"), "nothing before the longest lease has surely ended")
	n := r.hammer(5*time.Second, "k", "us")
	require.InDelta(t, 30, n, 2, "until then a lease of the lost past may be spent, so that nothing comes in")
	require.LessOrEqual(t, r.hammer(5*time.Second, "other", "us"), int64(131), "as much as came in since, capped")
}

func TestLaw13_AnEmptyStoreNeedsToBeAskedFor(t *testing.T) {
	_, err := lease.NewLedger(lease.Config{Cluster: "test"}, lease.Begin{})
	require.ErrorIs(t, err, lease.ErrEmptyStore)
}

func TestDrainReturnsEverything(t *testing.T) {
	r := newRig(t, perMinute(600, 100))
	r.join("us")
	r.ask("us", "k", 60)
	r.step(0)
	require.NoError(t, r.ledger.Report(r.moment(), r.holders["us"].Drain(r.now)))
	r.settle()
	r.closed = map[string]bool{"us": true}
	q := r.quota()
	require.Zero(t, q.Stock.Outstanding)
	require.Equal(t, int64(100), q.Stock.Pool+q.Stock.Chunk)
}

func TestNeedIsCollectedFromIdleRegions(t *testing.T) {
	r := newRig(t, perMinute(60, 100))
	r.holders["us"] = lease.NewHolder(lease.HolderConfig{ID: lease.HolderID{Region: "us"}, Plan: greedy}, lease.State{})
	r.join("us")
	r.join("eu")
	r.ask("us", "k", 1)
	r.step(0)
	r.step(100 * time.Millisecond)
	require.GreaterOrEqual(t, r.quota().Stock.Outstanding, int64(90))
	admitted := false
	for range 30 {
		admitted = admitted || r.ask("eu", "k", 50).Outcome == lease.Admitted
		r.step(100 * time.Millisecond)
	}
	require.True(t, admitted)
}

func TestLaw5_AnOrderlyEndForgetsNoReturn(t *testing.T) {
	for _, orderly := range []bool{true, false} {
		r := newRig(t, perWindow(t, 100, 24*time.Hour))
		r.plan = exactly
		r.join("us")
		r.ask("us", "k", 60)
		r.step(0)
		require.Equal(t, lease.Admitted, r.ask("us", "k", 20).Outcome)
		if orderly {
			require.NoError(t, r.ledger.Report(r.moment(), r.holders["us"].Drain(r.now)))
			r.ledger.Retire(r.moment())
			r.settle()
			require.True(t, r.ledger.Idle())
			delete(r.holders, "us")
		} else {
			r.run(8 * time.Second) // the rest is given back, and a while later written
		}
		r.lead()
		r.join("us")
		require.Equal(t, int64(80), r.hammer(5*time.Second, "k", "us"), "orderly: %v", orderly)
	}
}
