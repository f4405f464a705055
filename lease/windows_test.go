package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

func TestLaw12_AWindowQuotaThatIsRemovedAndComesBackHasWhatWasLeft(t *testing.T) {
	terms, other := perWindow(t, 100, time.Hour), perMinute(10, 10)
	other.Quota = "api/other"
	for name, leaders := range map[string]int{"under one leader": 0, "under the next": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, terms)
			r.join("us")
			require.Equal(t, int64(100), r.hammer(10*time.Second, "k", "us"))
			r.setPolicy(other)
			for range leaders {
				r.lead()
				r.ledger.Scanned(r.moment(), r.store.with(lease.BucketPrefix), true)
				r.join("us")
			}
			r.run(20 * time.Second) // longer than any lease of a token bucket

			r.terms = []lease.Terms{terms}
			require.True(t, r.ledger.SetPolicy(lease.PolicyRecord{Revision: 3, Policy: []byte("once more")}, r.terms))
			r.settle()
			if r.halt != nil {
				r.lead() // it had not read what the store says of the quota
			}
			r.join("us")
			require.Zero(t, r.hammer(10*time.Second, "k", "us"), "the window goes on")
			r.run(time.Hour)
			require.Equal(t, int64(100), r.hammer(10*time.Second, "k", "us"))

			r.setPolicy(other)
			r.now += time.Hour
			r.lead()
			r.ledger.Scanned(r.moment(), r.store.with(lease.BucketPrefix), true)
			r.run(20 * time.Second)
			require.Empty(t, r.store.with(lease.BucketPrefix), "what no window needs is deleted")
		})
	}
}

func TestLaw12_ACutOfAWindowQuotaTrimsWhatIsSetAside(t *testing.T) {
	r := newRig(t, perWindow(t, 1000, time.Hour))
	r.plan = exactly
	r.join("us")
	for range 50 {
		r.ask("us", "k", 10)
		r.step(20 * time.Millisecond)
	}
	require.Positive(t, r.quota().Stock.Chunk)
	terms := perWindow(t, 100, time.Hour)
	r.setPolicy(terms)
	require.Zero(t, r.quota().Stock.Chunk)
	left := r.quota().Stock.Outstanding
	require.LessOrEqual(t, r.hammer(time.Minute, "k", "us"), left, "what is leased is all that still comes")
	r.setPolicy(perWindow(t, 1000, time.Hour))
	n := r.hammer(time.Minute, "k", "us")
	require.LessOrEqual(t, r.quota().Books.Spent, int64(1000))
	require.Positive(t, n)
}

func TestNoHolderOfARemovedWindowQuotaIsKeptForGood(t *testing.T) {
	r := newRig(t, perWindow(t, 100, time.Hour))
	r.plan = exactly
	r.join("us")
	r.ask("us", "k", 10)
	r.step(0)
	require.Equal(t, int64(10), r.quota().Stock.Outstanding)
	delete(r.holders, "us") // its process is gone
	other := perMinute(10, 10)
	other.Quota = "api/other"
	r.setPolicy(other)
	r.run(time.Hour)
	r.run(20 * time.Second)
	require.Empty(t, r.store.with(lease.BucketPrefix))
	r.join("eu")
	require.Equal(t, 1, r.ledger.Holders(), "it took the other's place")
}
