package lease_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// twoQuotas is a rig whose requests match a wide and a narrow quota.
func twoQuotas(t *testing.T) (r *rig, cells []*lease.Cell) {
	wide, narrow := perMinute(6000, 1000), perMinute(60, 10)
	wide.Quota, narrow.Quota = "api/wide", "api/narrow"
	wide.Size, narrow.Size = 1, 1 // nothing is lent beyond what is asked for
	r = newRig(t, wide, narrow)
	r.plan = exactly
	h := r.join("us")
	return r, []*lease.Cell{h.Cell("api/wide", "k"), h.Cell("api/narrow", "k")}
}

func (r *rig) lease(c *lease.Cell, tokens int64) {
	require.Equal(r.t, lease.Cold, lease.Decide(r.clock, []*lease.Cell{c}, tokens).Outcome)
	r.step(0)
}

func TestLaw14_AllOrNothing(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[0], 20)
	r.lease(cells[1], 5)
	for range 5 {
		require.Equal(t, lease.Admitted, lease.Decide(r.clock, cells, 1).Outcome)
	}
	v := lease.Decide(r.clock, cells, 1)
	require.Equal(t, lease.Cold, v.Outcome)
	require.Equal(t, 1, v.Cell, "the narrow one decided")
	v = lease.Decide(r.clock, cells[:1], 15)
	require.Equal(t, lease.Admitted, v.Outcome, "the refused request was charged to none")
	require.Zero(t, v.Remaining)
	r.step(100 * time.Millisecond)
	_, quotas := r.ledger.Snapshot()
	require.Equal(t, int64(5), quotas[0].Books.Spent)
	require.Equal(t, int64(20), quotas[1].Books.Spent)
}

func TestLaw8_TheClockIsReadAfterTheTokenIsTaken(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[0], 5)
	late := func() time.Duration { return r.now + 10*time.Second } // paused between the take and the reading
	v := lease.Decide(late, cells[:1], 1)
	require.Equal(t, lease.Cold, v.Outcome)
	require.Equal(t, lease.Admitted, lease.Decide(r.clock, cells[:1], 5).Outcome, "it was given back to the same account")
}

func TestLaw8_ATokenOnHoldIsUnspent(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[0], 5)
	r.lease(cells[1], 5)
	// While the clock is read, the tokens of both quotas are held: what a
	// report says then must not count them as spent.
	during := func() time.Duration {
		b, _ := r.holders["us"].Tick(r.now + 200*time.Millisecond)
		for _, rep := range b.Reports {
			require.Zero(t, rep.Spent)
		}
		return r.now + time.Hour // and the decision fails
	}
	require.NotEqual(t, lease.Admitted, lease.Decide(during, cells, 1).Outcome)
	require.Equal(t, lease.Admitted, lease.Decide(r.clock, cells, 5).Outcome)
}

func TestLaw8_AnUndoGoesToTheSameAccount(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[1], 5)
	during := func() time.Duration {
		// The lease ends on both sides while the token is held, and another
		// account is opened.
		r.closed = map[string]bool{"us": true}
		r.run(7 * time.Second)
		r.closed = nil
		return r.now
	}
	require.NotEqual(t, lease.Admitted, lease.Decide(during, cells[1:], 5).Outcome)
	r.run(time.Second)
	require.NoError(t, r.ledger.Check())
	q := r.quota()
	require.LessOrEqual(t, q.Stock.Outstanding+q.Books.Spent, int64(10))
}

func TestCOST_OddCosts(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[1], 5)
	decide := func(cost int64) lease.Verdict { return lease.Decide(r.clock, cells[1:], cost) }
	require.Equal(t, lease.Invalid, decide(-1).Outcome)
	require.Equal(t, lease.Invalid, decide(-1<<63).Outcome)
	require.Equal(t, lease.Impossible, decide(11).Outcome)
	require.Equal(t, lease.Impossible, decide(1<<62).Outcome)
	for range 10 {
		v := decide(0)
		require.Equal(t, lease.Admitted, v.Outcome)
		require.Equal(t, int64(5), v.Remaining, "COST-07: a cost of 0 consumes nothing")
	}
	require.Equal(t, lease.Cold, decide(6).Outcome, "COST-01: what is not admitted consumes nothing")
	require.Equal(t, lease.Admitted, decide(5).Outcome)
	require.NotEqual(t, lease.Admitted, decide(0).Outcome)
}

func TestCOST03_ACostOfTheWholeCapIsServedInTime(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[1], 1)
	require.Equal(t, lease.Admitted, lease.Decide(r.clock, cells[1:], 1).Outcome)
	admitted := false
	for range 30 {
		r.run(time.Second)
		admitted = admitted || lease.Decide(r.clock, cells[1:], 10).Outcome == lease.Admitted
	}
	require.True(t, admitted, "once a second's refill was there, it was collected and granted whole")
}

func TestLaw11_LeaseAndFloorAreDrawnOnTogether(t *testing.T) {
	terms := perMinute(600, 100)
	terms.Floors = []lease.FloorTerms{{Region: "us", Tokens: 60, Burst: 10}}
	r := newRig(t, terms)
	r.plan = exactly
	h := r.join("us")
	r.run(time.Minute)
	c := h.Cell("api/key", "k")
	require.Equal(t, lease.Cold, lease.Decide(r.clock, []*lease.Cell{c}, 20).Outcome)
	r.step(0)
	require.Equal(t, lease.Admitted, lease.Decide(r.clock, []*lease.Cell{c}, 30).Outcome, "20 of the lease, 10 of the floor")
	require.Equal(t, lease.Impossible, lease.Decide(r.clock, []*lease.Cell{c}, 101).Outcome)
}

func TestLaw18_OneGrantOneCredit(t *testing.T) {
	r, cells := twoQuotas(t)
	var admitted atomic.Int64
	now := r.now
	frozen := func() time.Duration { return now }
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for range 128 {
		changed := cells[1].Changed()
		wg.Go(func() {
			<-begin
			for {
				switch lease.Decide(frozen, cells[1:], 1).Outcome {
				case lease.Admitted:
					admitted.Add(1)
				case lease.Cold:
					<-changed
				default:
					return
				}
			}
		})
	}
	close(begin)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		default:
			r.step(0)
		}
	}
	r.step(100 * time.Millisecond)
	_, quotas := r.ledger.Snapshot()
	require.Equal(t, quotas[0].Books.Spent, admitted.Load())
	require.LessOrEqual(t, admitted.Load(), int64(11))
	require.Positive(t, admitted.Load())
}

func TestLaw17_ADecisionAllocatesNothing(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[0], 900)
	r.lease(cells[1], 9)
	require.Zero(t, testing.AllocsPerRun(100, func() { lease.Decide(r.clock, cells[:1], 1) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { lease.Decide(r.clock, cells, 1) }))
	now := r.clock
	require.Zero(t, testing.AllocsPerRun(100, func() { cells[0].Admit(now, 1) }))
}
