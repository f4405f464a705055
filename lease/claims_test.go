package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

func TestLaw3_AClaimWhoseStreamEndedBeforeItsRecordWasReadStaysCharged(t *testing.T) {
	r := newRig(t, perMinute(60_000, 1000))
	r.plan = exactly
	us := r.join("us")
	r.ask("us", "k", 900)
	r.step(0)
	require.Equal(t, int64(900), r.quota().Stock.Outstanding)

	r.lead()
	w, ok := r.ledger.OpenSession()
	require.True(t, ok)
	pieces, err := us.Welcome(r.now, w)
	require.NoError(t, err)
	for _, p := range pieces {
		require.NoError(t, r.ledger.Hello(r.moment(), p))
	}
	reads := r.ledger.Ready(r.moment()).Loads
	require.Len(t, reads, 1, "the claim waits for its record")
	r.ledger.CloseSession(w.Session.N)
	us.Disconnected()
	r.ledger.Loaded(r.moment(), reads, r.store.with(lease.BucketPrefix))
	r.settle()
	require.GreaterOrEqual(t, r.quota().Stock.Outstanding, int64(900), "its holder may spend until its lease ends")

	r.closed = map[string]bool{"us": true} // it does not come back
	r.join("eu")
	n := r.hammer(2*time.Second, "k", "eu")
	n += r.drain("us", "k")
	require.LessOrEqual(t, n, int64(1000+2002))
	r.hammer(5*time.Second, "k", "eu")
	require.LessOrEqual(t, r.quota().Stock.Outstanding, int64(1000))
	require.Positive(t, r.hammer(time.Second, "k", "eu"), "what was claimed is destroyed when it surely ended")
}

func TestLaw3_AClaimThatFoundNoRoomInMemoryLeavesWhatTheRecordSays(t *testing.T) {
	r := newRig(t, perMinute(60_000, 1000))
	r.plan = exactly
	us := r.join("us")
	r.ask("us", "k", 900)
	r.step(0)
	require.Equal(t, int64(900), r.quota().Stock.Outstanding)

	r.cfg.MaxBuckets = 1
	r.lead()
	r.closed = map[string]bool{"us": true} // nothing reaches it any more
	r.join("eu")
	r.ask("eu", "other", 1)
	r.step(0)
	require.Equal(t, 1, r.quota().Buckets)
	w, ok := r.ledger.OpenSession()
	require.True(t, ok)
	pieces, err := us.Welcome(r.now, w)
	require.NoError(t, err)
	for _, p := range pieces {
		require.NoError(t, r.ledger.Hello(r.moment(), p))
	}
	r.settle()
	require.NoError(t, r.ledger.Report(r.moment(), r.holders["eu"].Drain(r.now)))
	r.closed["eu"] = true
	for range 20 {
		r.now += 10 * time.Millisecond
		r.ledger.Tick(r.moment())
		r.settle()
	}
	require.Zero(t, r.quota().Buckets)

	r.join("ap") // and the record is read after all
	r.hammer(2*time.Second, "k", "ap")
	var n int64
	r.ask("ap", "k", 890)
	r.step(10 * time.Millisecond)
	r.step(10 * time.Millisecond)
	if r.ask("ap", "k", 890).Outcome == lease.Admitted {
		n += 890
	}
	n += r.drain("us", "k")
	require.LessOrEqual(t, n, int64(1000))
}

func TestLaw3_ARefusalDoesNotCloseAnAccountThatWasOpenedBeforeIt(t *testing.T) {
	r := newRig(t, perWindow(t, 1000, time.Hour))
	r.plan = exactly
	us := r.join("us")
	r.now += 59*time.Minute + 50*time.Second
	r.step(0)
	r.ask("us", "old", 100)
	r.step(0)
	require.Equal(t, int64(100), r.quota().Stock.Outstanding)

	r.lead()
	r.join("eu")
	r.ask("eu", "new", 1)
	r.step(0)
	w, ok := r.ledger.OpenSession()
	require.True(t, ok)
	r.session[w.Session.N] = "us"
	pieces, err := us.Welcome(r.now, w)
	require.NoError(t, err)
	for _, p := range pieces {
		require.NoError(t, r.ledger.Hello(r.moment(), p))
	}
	first := r.ledger.Ready(r.moment())
	require.Len(t, first.Loads, 1, "the claim waits for its record")
	require.NoError(t, us.Grants(r.now, first.Batches[0]))

	r.now += 11 * time.Second // the window of the claim ends
	r.ledger.Tick(r.moment())
	r.settle()
	r.ask("us", "new", 10)
	b, ok := us.Tick(r.now)
	require.True(t, ok)
	require.NoError(t, r.ledger.Report(r.moment(), b), "it opens an account")
	r.ledger.Loaded(r.moment(), first.Loads, r.store.with(lease.BucketPrefix)) // it refuses the claim
	r.settle()
	r.run(time.Second)
	require.Equal(t, lease.Admitted, r.ask("us", "new", 10).Outcome)
}

func TestLaw18_AGrantThatComesAfterItsCellWasForgottenIsGivenBack(t *testing.T) {
	r := newRig(t, perWindow(t, 1000, time.Hour))
	us := r.join("us")
	r.ask("us", "k", 100)
	var late []lease.ReportBatch
	for range 120 { // the network stalls
		if b, ok := us.Tick(r.now); ok {
			late = append(late, b)
		}
		r.now += 100 * time.Millisecond
	}
	require.Zero(t, us.Sums(r.now)[0].Cells, "what is idle is forgotten")
	for _, b := range late {
		require.NoError(t, r.ledger.Report(r.moment(), b))
		r.settle()
	}
	require.GreaterOrEqual(t, r.quota().Stock.Outstanding, int64(100))
	r.run(20 * time.Second)
	require.Zero(t, r.quota().Stock.Outstanding)
	require.Zero(t, us.Sums(r.now)[0].Cells)
	r.ask("us", "k", 100)
	r.run(time.Second)
	require.Equal(t, lease.Admitted, r.ask("us", "k", 100).Outcome)
}
