package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// fallback is a quota of 600 a minute whose holders may spend 10 a second with a
// burst of 20, for half a minute, while they are cut off.
func fallback() lease.Terms {
	t := perMinute(600, 100)
	t.Unreserved = lease.Unreserved{Rate: bucket.Rate{Tokens: 10, Per: time.Second}, Burst: 20, For: 30 * time.Second}
	return t
}

// cut takes a holder off the network, or tells it that it still is.
func (r *rig) cut(name string, number uint64, since time.Duration) {
	if r.closed == nil {
		r.closed = map[string]bool{}
	}
	r.closed[name] = true
	r.holders[name].Disconnected()
	r.holders[name].SetCut(r.now, lease.Cut{Number: number, Since: since, Open: true, Unreserved: true})
}

// heal connects a holder again. Its link is good at once.
func (r *rig) heal(name string, number uint64, since time.Duration) {
	delete(r.closed, name)
	r.holders[name].SetCut(r.now, lease.Cut{Number: number, Since: since})
	r.join(name)
}

// alone has time pass for a holder that is cut off, which takes all it can.
func (r *rig) alone(name string, d time.Duration) (n int64) {
	for end := r.now + d; r.now < end; {
		n += r.drain(name, "k")
		r.step(100 * time.Millisecond)
		r.holders[name].Tick(r.now)
	}
	return n
}

func TestFAIL05_ADenialOfTheCoordinatorIsNoReasonToFallBack(t *testing.T) {
	r := newRig(t, fallback())
	r.join("us")
	n := r.hammer(10*time.Second, "k", "us")
	require.LessOrEqual(t, n, int64(100+10*10), "while it is connected the fallback is not asked")
	require.Zero(t, r.quota().Overspent)
}

func TestFAIL07_TheFallbackEnds(t *testing.T) {
	r := newRig(t, fallback())
	r.join("us")
	r.run(time.Second)
	r.cut("us", 1, r.now)
	n := r.alone("us", 3*time.Hour)
	require.LessOrEqual(t, n, int64(20+10*30))
	require.GreaterOrEqual(t, n, int64(20+10*30-1), "all of it can be used")
}

func TestACutThatGoesOnGivesNoSecondBurst(t *testing.T) {
	r := newRig(t, fallback())
	h := r.join("us")
	r.run(time.Second)
	r.drain("us", "k")
	since := r.now
	r.cut("us", 1, since)
	require.Equal(t, int64(20), r.drain("us", "k"))
	h.SetCut(r.now, lease.Cut{Number: 1, Since: since, Open: true}) // healing
	require.Zero(t, r.drain("us", "k"), "it is left before anything is renewed")
	h.SetCut(r.now, lease.Cut{Number: 1, Since: since, Open: true, Unreserved: true})
	require.Zero(t, r.drain("us", "k"), "the burst was used")
	r.now += 500 * time.Millisecond
	require.Equal(t, int64(5), r.drain("us", "k"))
	h.SetCut(r.now, lease.Cut{Number: 1, Since: since})
	h.SetCut(r.now, lease.Cut{Number: 2, Since: r.now, Open: true, Unreserved: true})
	require.Equal(t, int64(20), r.drain("us", "k"), "another cut is counted anew")
}

func TestAForgottenKeyGetsNoSecondBurstInOneCut(t *testing.T) {
	r := newRig(t, fallback())
	r.join("us")
	r.run(time.Second)
	since := r.now
	r.cut("us", 1, since)
	n := r.drain("us", "k")
	for range 100 { // long enough to be idle and swept, over and over
		r.step(100 * time.Millisecond)
		r.holders["us"].Tick(r.now)
	}
	n += r.drain("us", "k")
	elapsed := int64((r.now - since) / time.Second)
	require.LessOrEqual(t, n, int64(20)+10*elapsed)
}

func TestLaw15_NothingIsUnreservedByAccident(t *testing.T) {
	r := newRig(t, perMinute(600, 100)) // the zero Unreserved
	r.join("us")
	r.run(time.Second)
	r.drain("us", "k")
	r.cut("us", 1, r.now)
	require.Zero(t, r.alone("us", time.Minute))

	open := perMinute(600, 100)
	open.Unreserved = lease.Unreserved{Unbounded: true}
	r = newRig(t, open)
	r.join("us")
	r.run(time.Second)
	r.cut("us", 1, r.now)
	for range 10_000 {
		require.Equal(t, lease.Admitted, r.ask("us", "k", 1).Outcome)
	}
	require.Equal(t, lease.Impossible, r.ask("us", "k", 101).Outcome, "what can never be admitted is not admitted now")
	r.heal("us", 1, r.now)
	require.NotEqual(t, int64(10_000), r.drain("us", "k"))
}

func TestOverspendIsCountedOnce(t *testing.T) {
	r := newRig(t, fallback())
	r.join("us")
	r.run(time.Second)
	r.drain("us", "k")
	since := r.now
	r.cut("us", 1, since)
	n := r.alone("us", 5*time.Second)
	require.Positive(t, n)
	require.Zero(t, r.quota().Overspent, "nobody could tell it yet")

	// The first session after the cut breaks before any answer arrives.
	r.deaf = map[string]bool{"us": true}
	r.heal("us", 1, since)
	r.run(300 * time.Millisecond)
	r.deaf = nil
	r.join("us")
	r.run(time.Second)
	require.Equal(t, n, r.quota().Overspent)
	r.run(5 * time.Second)
	require.Equal(t, n, r.quota().Overspent)

	// The next leader hears nothing that was heard already.
	r.lead()
	r.join("us")
	r.run(2 * time.Second)
	require.Zero(t, r.quota().Overspent)
}

func TestOverspendReachesAnotherLeader(t *testing.T) {
	r := newRig(t, fallback())
	r.join("us")
	r.run(time.Second)
	r.drain("us", "k")
	since := r.now
	r.cut("us", 1, since)
	n := r.alone("us", 5*time.Second)
	r.lead()
	r.heal("us", 1, since)
	r.run(time.Second)
	q := r.quota()
	require.Equal(t, n, q.Overspent)
	require.Equal(t, n, q.Observed.High)
}

func TestLaw14_AQuotaThatFailsOpenDoesNotOpenTheOther(t *testing.T) {
	closed := perMinute(600, 100)
	closed.Quota = "api/login"
	r := newRig(t, fallback(), closed)
	h := r.join("us")
	r.run(time.Second)
	since := r.now
	r.cut("us", 1, since)
	r.drain("us", "k")
	both := []*lease.Cell{h.Cell("api/key", "k"), h.Cell("api/login", "k")}
	r.now += time.Second // 10 more of the one that falls back
	require.NotEqual(t, lease.Admitted, lease.Decide(r.clock, both, 1).Outcome)
	require.Equal(t, int64(10), r.drain("us", "k"), "and a denial took nothing of it")
}

// TestObservedOvershoot has two regions exceed a limit while they are cut off, as
// far as they may, and shows that what their reports tell brackets the truth.
func TestObservedOvershoot(t *testing.T) {
	r := newRig(t, fallback())
	for _, n := range []string{"us", "eu", "ap"} {
		r.join(n)
	}
	r.hammer(20*time.Second, "k", "us", "eu", "ap")
	require.Zero(t, r.quota().Observed.Low, "leases add nothing")

	begin := r.now
	r.cut("eu", 1, begin)
	r.cut("ap", 1, begin)
	var all int64
	for r.now < begin+20*time.Second {
		all += r.drain("eu", "k") + r.drain("ap", "k") + r.drain("us", "k")
		r.step(100 * time.Millisecond)
	}
	promise := int64(100) + 10*20 + 1
	truth := all - promise
	require.Positive(t, truth)
	r.heal("eu", 1, begin)
	r.heal("ap", 1, begin)
	r.run(2 * time.Second)
	q := r.quota()
	require.LessOrEqual(t, q.Observed.High, int64(2*(20+10*21)))
	require.GreaterOrEqual(t, q.Observed.High, truth)
	require.LessOrEqual(t, q.Observed.Low, truth+100) // all may begin with what was left of the burst
	require.Positive(t, q.Observed.Low)
	require.Equal(t, q.Overspent, q.Observed.High)
	require.False(t, q.Observed.LowAt.IsZero())
}

// TestSYNC05_OverspendCountsInItsOwnWindow is the field case: a region is cut off
// for longer than a window, and nothing of what it spent then is charged to the
// window in which it comes back.
func TestSYNC05_OverspendCountsInItsOwnWindow(t *testing.T) {
	w, err := bucket.FixedWindows(10 * time.Second)
	require.NoError(t, err)
	q := lease.Terms{
		Quota: "api/key", Tokens: 10, Windowed: true, Windows: w, TTL: 5 * time.Second,
		Unreserved: lease.Unreserved{Rate: bucket.Rate{Tokens: 1, Per: time.Second}, Burst: 10, For: time.Minute},
	}
	r := newRig(t, q)
	r.join("us")
	r.join("eu")
	r.now = r.now.Truncate(10*time.Second) + 10*time.Second
	r.run(time.Second)
	since := r.now
	r.cut("us", 1, since)
	n := r.alone("us", 25*time.Second)
	require.Greater(t, n, int64(20))
	r.run(4*time.Second + 500*time.Millisecond) // a window has just begun
	r.heal("us", 1, since)
	r.run(500 * time.Millisecond)
	require.Equal(t, int64(10), r.hammer(4*time.Second, "k", "us", "eu"), "the new window is whole")
	s := r.quota()
	require.Positive(t, s.Overspent)
	require.Less(t, s.Observed.High, s.Overspent, "the worst window is not all of them")
	require.Positive(t, s.Observed.High)
}

// What a holder answers grows with every message that reaches it, and with nothing else: so the coordinator
// tells a holder that hears it from one that only speaks.
func TestAReportTellsWhetherItsHolderHears(t *testing.T) {
	r := newRig(t, fallback())
	h := r.join("us")
	heard := func() time.Duration {
		batch, _ := h.Tick(r.now)
		return batch.Answered
	}
	joined := heard()
	require.Equal(t, r.now, joined, "the answer to the Hello")
	r.run(3 * time.Second)
	require.Greater(t, heard(), joined+time.Second)
	r.deaf = map[string]bool{"us": true}
	last := heard()
	r.run(10 * time.Second)
	require.Equal(t, last, heard(), "time alone answers nothing")
	r.deaf = nil
	h.Disconnected()
	w, ok := r.ledger.OpenSession()
	require.True(t, ok)
	_, err := h.Welcome(r.now, w)
	require.NoError(t, err)
	require.Zero(t, heard(), "nothing was heard in the new session yet")
}

// A region forgets a key that is idle, and spends of it unreserved in a second cut: the most of one bucket is both.
func TestTheMostOfABucketOutlivesItsCell(t *testing.T) {
	q := fallback()
	r := newRig(t, q)
	h := r.join("us")
	r.run(time.Second)
	var all int64
	for number := uint64(1); number <= 2; number++ {
		since := r.now
		r.cut("us", number, since)
		all += r.alone("us", 10*time.Second)
		r.heal("us", number, since)
		r.run(2 * time.Minute)
		require.Zero(t, h.Sums(r.now)[0].Cells, "it is forgotten")
	}
	s := h.Sums(r.now)[0]
	require.GreaterOrEqual(t, s.Overspent, int64(200), "twice 20 and 10 a second")
	require.LessOrEqual(t, s.Overspent, all)
	require.Equal(t, s.Overspent, s.WorstOver)
	require.Equal(t, r.quota().Observed.High, s.WorstOver, "as the coordinator has it")
	require.Less(t, s.WorstAt, r.now-100*time.Second, "when it was spent")
}
