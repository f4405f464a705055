package lease_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// Faults that people met in leases and quotas, each as a test whose name says it.

// A lease that outlives its leader counts until some leader has led for as long
// as a lease and an election could last: that one ends it, and no change after it
// brings it back.
func TestLSE01_ADeadHoldersLeaseEndsUnderTheFirstLeaderThatOutlastsIt(t *testing.T) {
	terms := perMinute(1000, 1000)
	terms.TTL = 15 * time.Second
	r := newRig(t, terms)
	r.plan = exactly
	r.join("us")
	r.ask("us", "k", 400)
	r.step(0)
	require.Equal(t, int64(400), r.quota().Stock.Outstanding)
	r.run(10 * time.Second)
	r.closed = map[string]bool{"us": true} // it was killed
	r.join("eu")
	r.lead() // and so was the leader, before the lease ended
	for change := range 15 {
		r.join("eu")
		for end := r.now + 20*time.Second; r.now < end; {
			r.ask("eu", "k", 1)
			r.step(100 * time.Millisecond)
		}
		require.Zero(t, r.quota().Stranded, "after change %d: %+v", change, r.quota())
		r.lead()
	}
	r.run(20 * time.Second)
	r.join("eu")
	r.run(time.Minute)
	r.ask("eu", "k", 1000)
	r.run(time.Second)
	require.Equal(t, lease.Admitted, r.ask("eu", "k", 1000).Outcome, "all that the quota has: %+v", r.quota())
}

func TestLSE13_HoldersThatVanishLeaveNothingBehind(t *testing.T) {
	const flock, rounds = 50, 30
	terms := perMinute(60_000, 100_000)
	terms.Size = 2 // nothing is lent beyond it
	r := newRig(t, terms)
	r.plan = exactly
	most := 0
	for round := range rounds {
		for i := range flock {
			name := fmt.Sprintf("%d-%d", round, i)
			r.join(name)
			r.ask(name, "k", 2)
		}
		r.step(0)
		for n := range r.session {
			r.ledger.CloseSession(n)
			delete(r.session, n)
		}
		clear(r.holders)
		for range 200 { // as often as a coordinator looks around
			r.step(10 * time.Millisecond)
		}
		most = max(most, r.ledger.Holders())
	}
	require.LessOrEqual(t, most, 5*flock, "those within a lease's time, of %d", flock*rounds)
	r.run(10 * time.Second)
	require.Zero(t, r.quota().Stock.Outstanding)
	require.Zero(t, r.quota().Buckets)
	require.Empty(t, r.store.with(lease.BucketPrefix))
}

func TestCLK05_AHolderThatWasSuspendedSpendsNothingOfWhatItHad(t *testing.T) {
	terms := perMinute(60, 500)
	terms.TTL = 10 * time.Second
	r := newRig(t, terms)
	r.plan = exactly
	r.join("us")
	r.join("eu")
	r.ask("us", "k", 400)
	r.step(0)
	require.Equal(t, int64(400), r.quota().Stock.Outstanding)
	r.closed = map[string]bool{"us": true} // suspended
	n := r.hammer(60*time.Second, "k", "eu")
	require.Zero(t, r.drain("us", "k"), "its lease is dead by its own clock, before it heard anything")
	r.closed = nil
	n += r.hammer(5*time.Second, "k", "us", "eu")
	require.LessOrEqual(t, n, int64(500+65+1))
	require.Equal(t, int64(400), r.quota().Books.Destroyed)
}

func TestWIN09_EachBucketIsSweptByItsOwnEndAlone(t *testing.T) {
	daily, quick := perWindow(t, 5, 24*time.Hour), perWindow(t, 10, time.Second)
	quick.Quota = "api/quick"
	r := newRig(t, daily, quick)
	h := r.join("us")
	require.Equal(t, int64(5), r.hammer(5*time.Second, "k", "us"))
	asked := func() lease.Outcome { return r.ask("us", "k", 1).Outcome }
	for i := range 100 {
		key := fmt.Sprint("k", i)
		for range 10 {
			lease.Decide(r.clock, []*lease.Cell{h.Cell(quick.Quota, key)}, 1)
			r.step(50 * time.Millisecond)
		}
		require.NotEqual(t, lease.Admitted, asked())
	}
	r.run(time.Minute) // all is idle: what is not needed is forgotten
	_, quotas := r.ledger.Snapshot()
	require.Zero(t, quotas[1].Buckets)
	require.Zero(t, r.hammer(5*time.Second, "k", "us"), "the day goes on")
	r.run(24 * time.Hour / 1000)
	require.Zero(t, r.hammer(5*time.Second, "k", "us"))
}

func TestCAL03_ADecisionIsOfOneMoment(t *testing.T) {
	r := newRig(t, perWindow(t, 100, time.Hour))
	r.plan = exactly
	h := r.join("us")
	r.now += time.Hour - time.Second
	r.step(0)
	r.ask("us", "k", 50)
	r.step(0)
	cells := []*lease.Cell{h.Cell("api/key", "k")}
	before := r.now
	reads := 0
	crossing := func() time.Duration { // the next read would be in the next window
		reads++
		return before + time.Duration(reads-1)*2*time.Second
	}
	v := lease.Decide(crossing, cells, 20)
	require.Equal(t, lease.Admitted, v.Outcome)
	require.Equal(t, 1, reads)
	require.Equal(t, before, v.At)
	o := cells[0].Outlook(v.At, 20, true, 0)
	require.LessOrEqual(t, o.Reset, time.Second, "usage and reset are of the window it was decided in: %+v", o)
	require.Positive(t, o.Reset)

	reads = 1 // and the first read is in the next window: nothing of the old one is spent
	v = lease.Decide(crossing, cells, 20)
	require.NotEqual(t, lease.Admitted, v.Outcome)
	require.Greater(t, v.At, before+time.Second)
}

func TestCOST05_ACutBelowWhatIsOutGrantsNothingNegative(t *testing.T) {
	r := newRig(t, perMinute(60, 100))
	r.plan = exactly
	r.join("us")
	r.ask("us", "k", 80)
	r.step(0)
	require.Equal(t, int64(80), r.quota().Stock.Outstanding)
	r.setPolicy(perMinute(60, 50)) // 30 more are out than there may be
	granted := r.quota().Granted
	r.plan = reconcile.Plan
	r.join("eu")
	for range 20 {
		r.ask("eu", "k", 10)
		r.step(100 * time.Millisecond)
		require.GreaterOrEqual(t, r.quota().Granted, granted, "no grant is below 0")
		granted = r.quota().Granted
		require.GreaterOrEqual(t, r.quota().Stock.Pool, int64(0))
	}
}

// FAIR-01: what a killed process held is out of use for one lease, and seen as stranded
// till then; after that the others have all of the limit, in equal parts.
func TestFAIR01_AKilledRegionsShareIsInUseAfterItsLease(t *testing.T) {
	terms := perMinute(900*60, 1800)
	r := newRig(t, terms)
	for _, name := range []string{"us", "eu", "ap"} {
		r.join(name)
	}
	for range 300 {
		r.ask("us", "k", 1)
	}
	r.run(200 * time.Millisecond)
	r.closed = map[string]bool{"us": true}
	for n, name := range r.session {
		if name == "us" {
			r.ledger.CloseSession(n)
		}
	}
	r.hammer(2*time.Second, "k", "eu", "ap")
	require.Positive(t, r.quota().Stranded)
	r.hammer(terms.TTL, "k", "eu", "ap")
	require.Zero(t, r.quota().Stranded)
	var eu, ap int64
	for range 100 {
		eu += r.drain("eu", "k")
		ap += r.drain("ap", "k")
		r.step(20 * time.Millisecond)
	}
	require.InDelta(t, 900, eu, 45, "half of the limit for two seconds")
	require.InDelta(t, 900, ap, 45)
}
