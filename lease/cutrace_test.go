package lease_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// TestDecisionsWhileALinkFlaps has many callers decide, look and refund while the
// holder's owner is cut off, heals, changes the policy and forgets. Afterwards every
// token that was admitted unreserved was told, once, and no cut gave more than it may.
func TestDecisionsWhileALinkFlaps(t *testing.T) {
	const (
		workers = 4
		cuts    = 60
		keys    = 40
	)
	terms := fallback()
	terms.TTL = 2 * time.Second // what is idle is soon forgotten
	r := newRig(t, terms)
	r.plan = reconcile.Plan
	h := r.join("us")
	var clock, decided, unreserved atomic.Int64
	clock.Store(int64(r.now))
	now := func() time.Duration { return time.Duration(clock.Load()) }
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; !stop.Load(); i++ {
				c := h.Cell("api/key", fmt.Sprint(i%keys))
				v := lease.Decide(now, []*lease.Cell{c}, 1)
				if v.Unreserved {
					unreserved.Add(1)
				}
				decided.Add(1)
				c.Outlook(v.At, 1, v.Outcome == lease.Admitted, 0)
				c.Refund(int64(i % 2))
			}
		})
	}
	busy := func() { // whatever the machine does, the callers get their turns
		for least := decided.Load() + 5*workers; decided.Load() < least; {
			runtime.Gosched()
		}
	}
	step := func(d time.Duration) {
		busy()
		r.step(d)
		clock.Store(int64(r.now))
	}
	for n := uint64(1); n <= cuts; n++ {
		since := r.now
		r.cut("us", n, since)
		for range 10 {
			r.now += 50 * time.Millisecond
			clock.Store(int64(r.now))
			busy()
			h.Tick(r.now)
		}
		h.SetCut(r.now, lease.Cut{Number: n, Since: since, Open: true})
		if n%3 == 0 { // the mode changes while it heals
			u := lease.Unreserved{Rate: bucket.Rate{Tokens: 5 + int64(n%7), Per: time.Second}, Burst: 20, For: 30 * time.Second}
			r.terms[0].Unreserved = u
			h.Adopt(1, []lease.QuotaLimits{{Terms: r.terms[0], MaxKeys: 100}})
		}
		delete(r.closed, "us")
		r.join("us")
		step(20 * time.Millisecond)
		if n%2 == 0 { // it flaps within the cut
			r.cut("us", n, since)
			h.Tick(r.now)
			delete(r.closed, "us")
			h.SetCut(r.now, lease.Cut{Number: n, Since: since, Open: true})
			r.join("us")
		}
		step(20 * time.Millisecond)
		h.SetCut(r.now, lease.Cut{Number: n, Since: since})
		step(20 * time.Millisecond)
	}
	stop.Store(true)
	wg.Wait()
	busy = func() {}
	for range 40 {
		step(100 * time.Millisecond)
	}
	require.Positive(t, unreserved.Load())
	sum := h.Sums(r.now)[0].Overspent
	require.GreaterOrEqual(t, sum, unreserved.Load())
	require.Equal(t, sum, r.quota().Overspent)
	require.LessOrEqual(t, sum, int64(keys*cuts*(20+11)))
	require.Zero(t, r.quota().Imbalance)
	b, _ := h.Tick(r.now + time.Second)
	require.Zero(t, b.Owes)
}

// TestAnUnreservedDecisionAllocatesNothing beside what is remembered of a key once in
// each cut.
func TestAnUnreservedDecisionAllocatesNothing(t *testing.T) {
	q := fallback()
	q.Unreserved = lease.Unreserved{Rate: bucket.Rate{Tokens: 1_000_000, Per: time.Second}, Burst: 1_000_000}
	r := newRig(t, q)
	h := r.join("us")
	r.run(time.Second)
	r.cut("us", 1, r.now)
	r.drain("us", "k2")
	cells := []*lease.Cell{h.Cell("api/key", "k")}
	var v lease.Verdict
	for !v.Unreserved {
		v = lease.Decide(r.clock, cells, 1)
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() { v = lease.Decide(r.clock, cells, 1) }))
	require.True(t, v.Unreserved)
	require.Zero(t, testing.AllocsPerRun(1000, func() { cells[0].Outlook(r.now, 1, true, 0) }))
	both := []*lease.Cell{cells[0], h.Cell("api/key", "k2")}
	require.Zero(t, testing.AllocsPerRun(1000, func() { v = lease.Decide(r.clock, both, 2_000_000) }), "nor does a denial")
}
