package lease_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// windowed is a quota of 100 in each second, whose holders may spend 10 a second
// while they are cut off.
func windowed(t *testing.T) lease.Terms {
	w, err := bucket.FixedWindows(time.Second)
	require.NoError(t, err)
	return lease.Terms{
		Quota: "api/key", Tokens: 100, Windowed: true, Windows: w, TTL: 5 * time.Second,
		Unreserved: lease.Unreserved{Rate: bucket.Rate{Tokens: 10, Per: time.Second}, Burst: 10},
	}
}

// TestALongCutOfShortWindowsRaisesNoAlarm has a region cut off for more windows
// than it tells apart: what it cannot place is not said to be in one of them.
func TestALongCutOfShortWindowsRaisesNoAlarm(t *testing.T) {
	r := newRig(t, windowed(t))
	r.join("us")
	r.run(time.Second)
	since := r.now
	r.cut("us", 1, since)
	n := r.alone("us", 3*time.Minute)
	require.Greater(t, n, int64(1500))
	r.heal("us", 1, since)
	r.run(3 * time.Second)
	q := r.quota()
	require.Equal(t, n, q.Overspent)
	require.Zero(t, q.Observed.Low, "no window came near its limit")
	require.GreaterOrEqual(t, q.Observed.High, int64(10))
	require.LessOrEqual(t, q.Observed.High, int64(10+10+1), "nor does one hold more than it may")
}

// TestWindowsOfTwoRegionsAreSummedUpLate has the second of two regions tell of its
// cut after more windows than the coordinator keeps for each bucket.
func TestWindowsOfTwoRegionsAreSummedUpLate(t *testing.T) {
	q := windowed(t)
	q.Unreserved.Burst = 50 // the first window is the worst
	r := newRig(t, q)
	r.join("us")
	r.join("eu")
	r.run(time.Second)
	since := r.now
	r.cut("us", 1, since)
	r.cut("eu", 1, since)
	var most int64
	for range 20 { // each second both spend what they can
		r.now = r.now.Truncate(time.Second) + time.Second
		most = max(most, r.drain("us", "k")+r.drain("eu", "k"))
	}
	r.heal("us", 1, since)
	r.run(time.Second)
	r.heal("eu", 1, since)
	r.run(time.Second)
	require.GreaterOrEqual(t, r.quota().Observed.High, most)
	require.Less(t, r.quota().Observed.High, r.quota().Overspent)
}

// TestAWindowThatIsNotKnownIsNotLost has a region spend before anybody told it
// which window it is.
func TestAWindowThatIsNotKnownIsNotLost(t *testing.T) {
	r := newRig(t, windowed(t))
	r.deaf = map[string]bool{"us": true}
	r.join("us")
	since := r.now
	r.cut("us", 1, since)
	n := r.drain("us", "k")
	require.Equal(t, int64(10), n)
	r.deaf = nil
	r.heal("us", 1, since)
	r.run(time.Second)
	require.Equal(t, n, r.quota().Overspent)
	require.Equal(t, n, r.quota().Observed.High)
	require.Zero(t, r.quota().Observed.Low)
}

// TestAWindowThatComesAgainIsOneCounter has a coordinator whose wall clock goes back
// over a boundary answer in the middle of a cut.
func TestAWindowThatComesAgainIsOneCounter(t *testing.T) {
	r := newRig(t, windowed(t))
	r.join("us")
	r.run(time.Second)
	r.now = r.now.Truncate(time.Second) + 900*time.Millisecond
	r.run(200 * time.Millisecond) // 100 ms into a window
	since := r.now
	r.cut("us", 1, since)
	spend := func(want int64) (n int64) {
		for n < want && r.ask("us", "k", 1).Outcome == lease.Admitted {
			n++
		}
		return n
	}
	flap := func(skew time.Duration) {
		r.skew = skew
		delete(r.closed, "us")
		r.holders["us"].SetCut(r.now, lease.Cut{Number: 1, Since: since, Open: true})
		r.join("us")
		r.cut("us", 1, since)
	}
	before := r.holders["us"].Cell("api/key", "k").View().Overspent
	r.drain("us", "k2") // another key: its lease is not in the way
	spend(200)
	flap(-500 * time.Millisecond)
	r.now += 300 * time.Millisecond
	spend(200)
	flap(0)
	r.now += 300 * time.Millisecond
	spend(200)
	n := r.holders["us"].Cell("api/key", "k").View().Overspent - before + r.holders["us"].Cell("api/key", "k2").View().Overspent
	r.heal("us", 1, since)
	r.run(time.Second)
	require.Equal(t, n, r.quota().Overspent)
}

// TestAGoodbyeTellsAllThatWasSpentUnreserved has a region leave at once after it was
// cut off, with more to tell than fits into one batch.
func TestAGoodbyeTellsAllThatWasSpentUnreserved(t *testing.T) {
	const keys = 2500
	r := newRig(t, fallback())
	r.cfg.MaxBuckets = 2 * keys
	r.lead()
	h := r.join("us")
	h.Adopt(1, []lease.QuotaLimits{{Terms: r.terms[0], MaxKeys: 2 * keys}})
	r.run(time.Second)
	since := r.now
	r.cut("us", 1, since)
	for i := range keys {
		require.Equal(t, lease.Admitted, r.ask("us", fmt.Sprint(i), 1).Outcome)
	}
	delete(r.closed, "us")
	h.SetCut(r.now, lease.Cut{Number: 1, Since: since, Open: true})
	w, ok := r.ledger.OpenSession()
	require.True(t, ok)
	pieces, err := h.Welcome(r.now, w)
	require.NoError(t, err)
	r.session[w.Session.N] = "us"
	for _, p := range pieces {
		require.NoError(t, r.ledger.Hello(r.moment(), p))
	}
	r.settle()
	for i := range 10 { // and some that no Tick has seen
		h.SetCut(r.now, lease.Cut{Number: 1, Since: since, Open: true, Unreserved: true})
		require.Equal(t, lease.Admitted, r.ask("us", fmt.Sprint(i), 1).Outcome)
	}
	require.NoError(t, r.ledger.Report(r.moment(), h.Drain(r.now)))
	require.Equal(t, int64(keys+10), r.quota().Overspent)
}

// TestMoreKeysThanCountersAreAllCounted spends from more keys in one cut than the
// coordinator sums up one by one.
func TestMoreKeysThanCountersAreAllCounted(t *testing.T) {
	const keys = 70_000
	r := newRig(t, fallback())
	h := r.join("us")
	r.run(time.Second)
	batch := func(from, to int) {
		b, _ := h.Tick(r.now)
		b.Owes = 1
		for i := from; i < to; i++ {
			b.Overspent = append(b.Overspent, lease.Overspend{Bucket: lease.BucketID{Quota: "api/key", Key: fmt.Sprint(i)}, Cut: 1, Tokens: 2})
		}
		require.NoError(t, r.ledger.Report(r.moment(), b))
		r.now += time.Millisecond
	}
	for i := 0; i < keys; i += 10_000 {
		batch(i, i+10_000)
	}
	batch(0, 10_000) // told again
	require.Equal(t, int64(2*keys), r.quota().Overspent)
	require.LessOrEqual(t, r.quota().Observed.High, int64(2*keys))
}

// TestAHostileCounterOverflowsNothing reports the largest numbers there are.
func TestAHostileCounterOverflowsNothing(t *testing.T) {
	r := newRig(t, fallback())
	h := r.join("us")
	r.run(time.Second)
	for i := range 5000 {
		b, _ := h.Tick(r.now)
		b.Owes, b.Clock = 1, time.Duration(i%2)*math.MaxInt64
		for j := range 2 {
			b.Overspent = append(b.Overspent, lease.Overspend{
				Bucket: lease.BucketID{Quota: "api/key", Key: "k"}, Cut: uint64(i + 1), Window: int64(j), Tokens: math.MaxInt64, Span: time.Duration(j) * math.MaxInt64,
			})
		}
		b.Reports = append(b.Reports, lease.Report{Bucket: lease.BucketID{Quota: "api/key", Key: "k"}, FloorSpent: math.MaxInt64, Span: math.MaxInt64})
		require.NoError(t, r.ledger.Report(r.moment(), b))
		r.now += time.Millisecond
		q := r.quota()
		require.Positive(t, q.Overspent)
		require.Positive(t, q.FloorSpent)
		require.Positive(t, q.Observed.High)
		require.GreaterOrEqual(t, q.Observed.Low, int64(0))
	}
}

// TestWhatIsOwedIsToldOnce has very many keys spent from in one cut: each
// is told once, also while the coordinator answers all the time.
func TestWhatIsOwedIsToldOnce(t *testing.T) {
	const keys = 3500
	r := newRig(t, fallback())
	r.cfg.MaxBuckets = 2 * keys
	r.lead()
	h := r.join("us")
	h.Adopt(1, []lease.QuotaLimits{{Terms: r.terms[0], MaxKeys: 2 * keys}})
	r.run(time.Second)
	since := r.now
	r.cut("us", 1, since)
	for i := range keys {
		require.Equal(t, lease.Admitted, r.ask("us", fmt.Sprint(i), 1).Outcome)
	}
	h.SetCut(r.now, lease.Cut{Number: 1, Since: since, Open: true})
	delete(r.closed, "us")
	w, ok := r.ledger.OpenSession()
	require.True(t, ok)
	pieces, err := h.Welcome(r.now, w)
	require.NoError(t, err)
	r.session[w.Session.N] = "us"
	for _, p := range pieces {
		require.NoError(t, r.ledger.Hello(r.moment(), p))
	}
	r.settle()
	told := 0
	tick := func() lease.ReportBatch {
		r.now += 100 * time.Millisecond
		b, ok := h.Tick(r.now)
		if ok {
			require.NoError(t, r.ledger.Report(r.moment(), b))
		}
		r.ledger.Tick(r.moment())
		r.settle()
		told += len(b.Overspent)
		return b
	}
	for range 20 {
		require.Equal(t, uint64(1), tick().Owes)
	}
	require.Equal(t, keys, told)
	require.Equal(t, int64(keys), r.quota().Overspent)

	// In the same cut some are spent from again.
	h.SetCut(r.now, lease.Cut{Number: 1, Since: since, Open: true, Unreserved: true})
	for i := range 10 {
		for !r.ask("us", fmt.Sprint(i), 1).Unreserved {
			require.Equal(t, lease.Admitted, r.ask("us", fmt.Sprint(i), 1).Outcome)
		}
	}
	h.SetCut(r.now, lease.Cut{Number: 1, Since: since, Open: true})
	for range 5 {
		tick()
	}
	require.Equal(t, keys+10, told)
	h.SetCut(r.now, lease.Cut{Number: 1, Since: since})
	for range 5 {
		tick()
	}
	require.Zero(t, tick().Owes, "the cut is over, and all was heard of")
	require.Equal(t, keys+10, told)
}

// TestACutEndsAndAnotherBeginsAtOnce is what a process notices that was suspended
// while its link was good, and longer.
func TestACutEndsAndAnotherBeginsAtOnce(t *testing.T) {
	r := newRig(t, fallback())
	h := r.join("us")
	r.run(time.Second)
	since := r.now
	r.cut("us", 1, since)
	r.drain("us", "k")
	h.SetCut(r.now, lease.Cut{Number: 1, Since: since, Open: true})
	h.SetCut(r.now, lease.Cut{Number: 2, Since: r.now, Open: true, Unreserved: true})
	delete(r.closed, "us")
	r.join("us")
	b, ok := h.Tick(r.now)
	require.True(t, ok)
	require.Len(t, b.Cuts, 2)
	require.True(t, b.Cuts[0].Closed)
	require.False(t, b.Cuts[1].Closed)
}

// TestALookPromisesNothingOfAFallbackThatIsOver looks at a bucket of a fallback
// that has come to its end.
func TestALookPromisesNothingOfAFallbackThatIsOver(t *testing.T) {
	q := fallback()
	q.Unreserved.Rate.Tokens = 50
	r := newRig(t, q)
	r.join("us")
	r.run(time.Second)
	since := r.now
	r.cut("us", 1, since)
	require.Equal(t, lease.Admitted, r.ask("us", "k", 1).Outcome)
	require.Equal(t, lease.Admitted, r.ask("us", "other", 1).Outcome)
	cell := r.holders["us"].Cell("api/key", "k")
	require.Equal(t, int64(19), cell.Outlook(r.now, 1, true, 0).Remaining)
	require.Equal(t, int64(19), r.drain("us", "k"))
	require.Equal(t, 20*time.Millisecond, cell.Outlook(r.now, 1, false, 0).Retry)

	r.now = since + 29*time.Second + 990*time.Millisecond
	r.drain("us", "k")
	require.Equal(t, 100*time.Millisecond, cell.Outlook(r.now, 1, false, 0).Retry, "in 20 ms it is over: what accrues then is the limit's")
	r.now = since + 31*time.Second
	require.NotEqual(t, lease.Admitted, r.ask("us", "other", 1).Outcome)
	o := r.holders["us"].Cell("api/key", "other").Outlook(r.now, 1, false, 0)
	require.Zero(t, o.Remaining)
	require.Positive(t, o.Retry)
}

// TestALookGivesNoBurst looks on behalf of a decision that was
// made before the burst was spent.
func TestALookGivesNoBurst(t *testing.T) {
	r := newRig(t, fallback())
	r.join("us")
	r.run(time.Second)
	r.cut("us", 1, r.now)
	cell := r.holders["us"].Cell("api/key", "other")
	for range 3 {
		require.Equal(t, int64(20), cell.Outlook(r.now, 1, true, 0).Remaining)
	}
	require.Equal(t, int64(20), r.drain("us", "other"))
	require.Zero(t, cell.Outlook(r.now-time.Second, 1, false, 0).Remaining)
	require.Zero(t, r.drain("us", "other"))
}

// TestAFallbackOfAWindowSaysWhenToComeBack: the window of a region that is cut off may
// end long after its fallback has the next token.
func TestAFallbackOfAWindowSaysWhenToComeBack(t *testing.T) {
	w, err := bucket.FixedWindows(time.Hour)
	require.NoError(t, err)
	q := windowed(t)
	q.Windows = w
	r := newRig(t, q)
	r.deaf = map[string]bool{"us": true}
	r.join("us")
	r.cut("us", 1, r.now)
	cell := r.holders["us"].Cell("api/key", "k")
	require.Equal(t, int64(10), r.drain("us", "k"))
	o := cell.Outlook(r.now, 1, false, 0)
	require.Equal(t, 100*time.Millisecond, o.Retry, "the window is not known here")
	require.Zero(t, o.Reset)
}

// TestTheClockOfAReportIsNeverAhead: since the coordinator was last heard its clock may
// have run slower than the holder's by all that is allowed.
func TestTheClockOfAReportIsNeverAhead(t *testing.T) {
	r := newRig(t, fallback())
	h := r.join("us")
	r.run(time.Second)
	last := r.now
	b, ok := h.Tick(last + 1000*time.Second)
	require.True(t, ok)
	require.LessOrEqual(t, b.Clock, last+998*time.Second+2*time.Millisecond)
	require.GreaterOrEqual(t, b.Clock, last+997*time.Second)
}

// TestWhatIsSpentWhileTheReportIsMadeIsOfNow: deciders read the clock for themselves, so
// that a report made at one time holds what was spent a moment after it.
func TestWhatIsSpentWhileTheReportIsMadeIsOfNow(t *testing.T) {
	r := newRig(t, fallback())
	h := r.join("us")
	r.run(time.Second)
	h.SetCut(r.now, lease.Cut{Number: 1, Since: r.now, Open: true, Unreserved: true}) // for too short a time to end the session
	began := r.now
	r.now += time.Millisecond
	require.Equal(t, lease.Admitted, r.ask("us", "k", 1).Outcome)
	b, ok := h.Tick(began)
	require.True(t, ok)
	require.Len(t, b.Overspent, 1)
	require.Zero(t, b.Overspent[0].Span)
	require.NoError(t, r.ledger.Report(r.moment(), b))
	require.Equal(t, int64(1), r.quota().Overspent)
}
