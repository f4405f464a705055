package lease_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// TestAdmitIsTheCommonCaseOfDecide: it admits what the lease holds, by the same
// laws, and what it does not admit leaves no trace.
func TestAdmitIsTheCommonCaseOfDecide(t *testing.T) {
	r, cells := twoQuotas(t)
	c := cells[0]
	require.False(t, c.Admit(r.clock, 1), "nothing is leased yet")
	r.lease(c, 5)
	require.True(t, c.Admit(r.clock, 2))
	require.False(t, c.Admit(r.clock, 4), "more than is left")
	late := func() time.Duration { return r.now + 10*time.Second } // paused between the take and the reading
	require.False(t, c.Admit(late, 1), "the lease is over (law 8)")
	require.True(t, c.Admit(r.clock, 3), "what was not admitted was given back")
	require.False(t, c.Admit(r.clock, 1))
	r.step(100 * time.Millisecond)
	_, quotas := r.ledger.Snapshot()
	require.Equal(t, int64(5), quotas[1].Books.Spent, "spent means admitted")
	require.Equal(t, lease.Cold, lease.Decide(r.clock, cells[:1], 1).Outcome, "Decide notes the refusal, and the pool has more")
}

// TestAdmitsAddUpToTheGrant: however many decide at once, all that was granted is
// admitted, to the last token, and no more.
func TestAdmitsAddUpToTheGrant(t *testing.T) {
	const granted = 40_000
	r := newRig(t, perMinute(granted, granted))
	r.plan = exactly
	c := r.join("us").Cell("api/key", "k")
	r.lease(c, granted)
	var admitted atomic.Int64
	var deciding sync.WaitGroup
	for g := range 8 {
		deciding.Go(func() {
			cost := int64(1 + g%3)
			for c.Admit(r.clock, cost) {
				admitted.Add(cost)
			}
		})
	}
	deciding.Wait()
	for c.Admit(r.clock, 1) { // what was too little for the costs above
		admitted.Add(1)
	}
	require.Equal(t, int64(granted), admitted.Load())
	r.step(100 * time.Millisecond)
	require.Equal(t, int64(granted), r.quota().Books.Spent)
}
