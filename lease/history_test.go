package lease_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// The store that was restored goes on meanwhile, and is past what the holder had
// seen by the time that the witness comes.
func TestLaw13_AWitnessIsJudgedByWhatItWasTold(t *testing.T) {
	r := newRig(t, perMinute(600, 100))
	copied, at := maps.Clone(r.store.entries), r.store.revision
	us := r.join("us")
	for _, key := range []string{"a", "b", "c"} {
		r.ask("us", key, 10)
		r.step(0)
	}
	require.Greater(t, r.store.revision, at+2)
	seen := us.State().SeenRevision

	r.store.entries, r.store.revision = copied, at
	delete(r.holders, "us")
	r.lead()
	w, ok := r.ledger.OpenSession()
	require.True(t, ok)
	pieces, err := us.Welcome(r.now, w)
	require.ErrorIs(t, err, lease.ErrStale)
	r.join("eu")
	for _, key := range []string{"d", "e", "f", "g"} {
		r.ask("eu", key, 10)
		r.step(0)
	}
	require.Greater(t, r.store.revision, seen)
	require.ErrorIs(t, r.ledger.Hello(r.moment(), pieces[0]), lease.ErrSession)
	r.settle()
	require.ErrorIs(t, r.halt, lease.ErrLostHistory)
}
