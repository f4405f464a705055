package partition_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

// set is a policy of one quota, given as the rest of a {mapping} after its match.
func set(t testing.TB, rest string) *policy.Set {
	t.Helper()
	s, err := policy.Parse("p", []byte("apiVersion: leasehold/v1\ndomain: api\nquotas:\n  - {name: q, match: {}, "+rest+"}\n"))
	require.NoError(t, err)
	return s
}

const limit = "limit: {tokens: 1000, per: 1s}, "

// boardRig is a board with holders that say what a test tells them to.
type boardRig struct {
	*partition.Board

	t       *testing.T
	now     time.Duration
	session uint64
	log     []string
}

func newBoard(t *testing.T, policy string, sole bool) *boardRig {
	b, err := partition.NewBoard(partition.WatchTiming(), lease.DefaultDrift, set(t, policy), sole)
	require.NoError(t, err)
	return &boardRig{Board: b, t: t, now: time.Hour}
}

func who(region, node string, n byte) lease.HolderID {
	return lease.HolderID{Region: region, Node: node, Incarnation: [16]byte{n}}
}

func (r *boardRig) hello(id lease.HolderID) {
	r.session++
	r.Hello(r.now, id, r.session)
}

// report has a holder say something that answers all that was sent.
func (r *boardRig) report(id lease.HolderID, cuts ...lease.CutReport) {
	r.Report(r.now, id, &lease.ReportBatch{Clock: r.now, Answered: r.now, Cuts: cuts})
}

// live has a holder be connected for some time, reporting twice a second.
func (r *boardRig) live(d time.Duration, ids ...lease.HolderID) {
	for end := r.now + d; r.now < end; {
		r.pass(500 * time.Millisecond)
		for _, id := range ids {
			r.report(id)
		}
	}
}

// pass lets time go by, tick by tick.
func (r *boardRig) pass(d time.Duration) {
	for end := r.now + d; r.now < end; {
		r.now += 100 * time.Millisecond
		r.Tick(r.now)
		changes, _ := r.Changes()
		for _, c := range changes {
			r.log = append(r.log, fmt.Sprintf("%s %s>%s", c.Holder.Node, c.From, c.To))
		}
	}
}

// skip lets time go by at once.
func (r *boardRig) skip(d time.Duration) {
	r.now += d
	r.Tick(r.now)
}

func (r *boardRig) bound() partition.Result {
	return r.Picture(r.now).Bound("api/q", r.now, 0)
}

func (r *boardRig) text() string { return texts(r.bound()) }

func (r *boardRig) link(id lease.HolderID) partition.LinkView {
	for _, l := range r.Picture(r.now).Links(r.now) {
		if l.Holder == id {
			return l
		}
	}
	require.Fail(r.t, "no such link")
	return partition.LinkView{}
}

func TestWhatAHolderTellsTakesThePlaceOfWhatWasSupposed(t *testing.T) {
	r := newBoard(t, limit+fallback, true)
	eu := who("eu", "eu-1", 1)
	r.hello(eu)
	r.live(5*time.Second, eu)
	require.Equal(t, "connected", r.link(eu).State)
	require.Zero(t, r.bound().Tokens)
	r.Broken(r.now, eu, r.session, "EOF")
	require.Equal(t, "suspect", r.link(eu).State)
	require.Zero(t, r.bound().Tokens, "a suspect holder spends nothing unreserved")
	r.pass(time.Minute)
	l := r.link(eu)
	require.Equal(t, "cut_off", l.State)
	require.Equal(t, "the stream broke: EOF", l.Reason)
	require.True(t, l.Cut.Open)
	require.Equal(t, "eu eu/eu-1#01000000, goes on, not heard for 1m0s: 100 + 1.001 x 50/s x 60.121 s = 3110", r.text(),
		"its clock may have run faster than ours")
	r.hello(eu)
	require.Equal(t, "healing", r.link(eu).State)
	require.Contains(t, r.text(), "not heard for 1m0s", "it has not told of its cut yet")
	r.report(eu, lease.CutReport{Number: 1, Count: 1, Length: 57 * time.Second})
	require.Equal(t, "eu eu/eu-1#01000000, goes on: 100 + 1.001 x 50/s x 57 s = 2953", r.text())
	r.live(6*time.Second, eu)
	r.report(eu, lease.CutReport{Number: 1, Count: 1, Length: 57 * time.Second, Closed: true})
	require.Equal(t, "eu eu/eu-1#01000000: 100 + 1.001 x 50/s x 57 s = 2953", r.text())
	l = r.link(eu)
	require.Equal(t, "connected", l.State)
	require.Equal(t, uint64(1), l.Cuts)
	require.Equal(t, uint64(1), l.Cut.Number)
	require.Equal(t, []string{
		"eu-1 never_connected>connected", "eu-1 connected>suspect", "eu-1 suspect>cut_off", "eu-1 cut_off>healing", "eu-1 healing>connected",
	}, r.log)
}

func TestACutThatOnlyWeNoticedAddsNothingOnceItsHolderIsHeard(t *testing.T) {
	r := newBoard(t, limit+fallback, true)
	eu := who("eu", "eu-1", 1)
	r.hello(eu)
	r.live(time.Second, eu)
	r.pass(10 * time.Second)
	require.Positive(t, r.bound().Tokens)
	r.report(eu) // its reports were only late, and it has no cut to tell of
	require.Zero(t, r.bound().Tokens)
}

func TestAHolderThatNeverComesBackStaysInTheBound(t *testing.T) {
	for _, c := range []struct {
		how  string
		ends func(r *boardRig, eu lease.HolderID)
		want string
	}{
		{"never", func(*boardRig, lease.HolderID) {}, "goes on, not heard for 2h0m0s: 100 + 1.001 x 50/s x 600 s = 30130"},
		{"another process takes its place", func(r *boardRig, _ lease.HolderID) {
			r.hello(who("eu", "eu-1", 2))
		}, "eu eu/eu-1#01000000, not heard for 2h0m0s: 100 + 1.001 x 50/s x 60.121 s = 3110"},
		{"another node does not", func(r *boardRig, _ lease.HolderID) {
			r.hello(who("eu", "eu-2", 2))
		}, "goes on, not heard for 2h0m0s: 100 + 1.001 x 50/s x 600 s = 30130"},
		{"it says goodbye", func(r *boardRig, eu lease.HolderID) {
			r.hello(eu)
			r.Report(r.now, eu, &lease.ReportBatch{Goodbye: true})
		}, "eu eu/eu-1#01000000, not heard for 2h0m0s: 100 + 1.001 x 50/s x 60.121 s = 3110"},
	} {
		t.Run(c.how, func(t *testing.T) {
			r := newBoard(t, limit+fallback, true)
			eu := who("eu", "eu-1", 1)
			r.hello(eu)
			r.live(time.Second, eu)
			r.Broken(r.now, eu, r.session, "EOF")
			r.pass(time.Minute)
			c.ends(r, eu)
			r.pass(2*time.Hour - time.Minute)
			require.Contains(t, r.text(), c.want)
		})
	}
}

// A holder whose process was replaced is shown as gone for a while, and then forgotten; what it spent counts on.
func TestTheGoneAreForgottenButNotTheirCuts(t *testing.T) {
	r := newBoard(t, limit+fallback, true)
	old, young := who("eu", "eu-1", 1), who("eu", "eu-1", 2)
	r.hello(old)
	r.report(old)
	r.Broken(r.now, old, r.session, "EOF")
	r.pass(time.Minute)
	before := r.bound().Tokens
	r.hello(young)
	require.Equal(t, partition.Gone, r.link(old).State)
	require.Equal(t, "another process took its place", r.link(old).Reason)
	require.Equal(t, map[string]int{"eu": 1}, r.Picture(r.now).There())
	require.Equal(t, map[string]map[string]int{"eu": {"gone": 1, "connected": 1}}, r.Picture(r.now).States(map[string]bool{"eu": true}))
	require.Equal(t, map[string]map[string]int{"other": {"gone": 1, "connected": 1}}, r.Picture(r.now).States(nil))
	r.live(11*time.Minute, young)
	require.Len(t, r.Picture(r.now).Links(r.now), 1)
	require.InDelta(t, before, r.bound().Tokens, 1)
}

// Two processes of one name, of which both are connected, are two holders.
func TestAConnectedHolderIsNotReplaced(t *testing.T) {
	r := newBoard(t, limit+fallback, true)
	a, b := who("eu", "eu-1", 1), who("eu", "eu-1", 2)
	r.hello(a)
	r.hello(b)
	require.Equal(t, "connected", r.link(a).State)
	require.Equal(t, map[string]int{"eu": 2}, r.Picture(r.now).There())
}

func TestADeafHolderIsCutOff(t *testing.T) {
	r := newBoard(t, limit+fallback, true)
	eu := who("eu", "eu-1", 1)
	r.hello(eu)
	r.live(time.Second, eu)
	answered := r.now
	deaf := func(cuts ...lease.CutReport) {
		r.pass(100 * time.Millisecond)
		r.Report(r.now, eu, &lease.ReportBatch{Clock: r.now, Answered: answered, Cuts: cuts})
	}
	for range 41 {
		deaf()
	}
	require.Equal(t, "cut_off", r.link(eu).State)
	require.Equal(t, "reports are not answered for 4.1s (one way?)", r.link(eu).Reason)
	deaf(lease.CutReport{Number: 1, Count: 1, Length: 200 * time.Millisecond})
	require.Equal(t, "eu eu/eu-1#01000000, goes on: 100 + 1.001 x 50/s x 0.2 s = 111", r.text(), "one cut, not two")
	for range 10 {
		deaf()
	}
	require.Equal(t, 1, strings.Count(r.text(), "goes on"), "still one")
}

func TestCutsAreCountedOnceHoweverOftenTheyAreTold(t *testing.T) {
	r := newBoard(t, limit+fallback, true)
	eu := who("eu", "eu-1", 1)
	r.hello(eu)
	one := lease.CutReport{Number: 1, Count: 1, Length: 10 * time.Second, Closed: true}
	two := lease.CutReport{Number: 2, Count: 1, Length: 20 * time.Second, Closed: true}
	for range 3 {
		r.report(eu, one, two)
		r.hello(eu)
	}
	require.Equal(t, int64(601+1101), r.bound().Tokens)
	require.Equal(t, uint64(2), r.link(eu).Cuts)
	r.report(eu, lease.CutReport{Number: 2, Count: 2, Length: 30 * time.Second, Closed: true})
	require.Equal(t, "eu eu/eu-1#01000000: 2 cuts x (100 + 1.001 x 50/s x 15 s) = 1702", r.text(), "both were made one")
	require.Equal(t, uint64(2), r.link(eu).Cuts)
	r.report(eu, lease.CutReport{Number: 5, Count: 2, Length: 2 * time.Second, Closed: true})
	require.Equal(t, uint64(4), r.link(eu).Cuts, "cut 3 was never told, so that it had nothing to tell")
	_, begun := r.Changes()
	var n int64
	for _, b := range begun {
		n += b.Cuts
	}
	require.Equal(t, int64(4), n)
	// A restarted process numbers from 1 again.
	r.hello(who("eu", "eu-1", 2))
	r.report(who("eu", "eu-1", 2), one)
	require.Equal(t, int64(1702+302+601), r.bound().Tokens)
}

func TestCutsCountByThePolicyThatTheirHolderHad(t *testing.T) {
	const wide, narrow = limit + fallback, limit + "partition: {mode: local_fallback, rate: {tokens: 10, per: 1s}, burst: 200, for: 1m}"
	r := newBoard(t, wide, true)
	eu, ap := who("eu", "eu-1", 1), who("ap", "ap-1", 1)
	r.hello(eu)
	r.hello(ap)
	r.live(time.Second, eu, ap)
	r.Broken(r.now, eu, 1, "EOF")
	r.pass(time.Minute)
	r.SetPolicy(r.now, set(t, narrow))
	require.Contains(t, r.text(), "100 + 1.001 x 50/s", "it does not know the new policy")
	r.hello(ap)
	r.report(ap, lease.CutReport{Number: 1, Count: 1, Length: 5 * time.Second, Closed: true})
	require.Contains(t, r.text(), "ap ap/ap-1#01000000: 100 + 1.001 x 50/s x 5 s = 351", "told at once: it was cut off under the old one")
	r.live(10*time.Second, ap)
	r.report(ap, lease.CutReport{Number: 2, Count: 1, Length: 5 * time.Second, Closed: true})
	require.Contains(t, r.text(), "ap ap/ap-1#01000000: 200 + 1.001 x 10/s x 5 s = 251", "this one under the new")
	r.hello(eu)
	require.Contains(t, r.text(), "eu eu/eu-1#01000000, goes on, not heard for 1m10s: 200 + 1.001 x 50/s", "it now knows the new one, and may be cut off again")
	r.report(eu, lease.CutReport{Number: 1, Count: 1, Length: time.Minute})
	require.Contains(t, r.text(), "eu eu/eu-1#01000000, goes on: 200 + 1.001 x 50/s", "it goes on under the new: the larger of both counts")
	r.SetPolicy(r.now, set(t, limit+"partition: {mode: fail_closed}"))
	require.Contains(t, r.text(), "ap ap/ap-1#01000000: 100 + 1.001 x 50/s x 5 s = 351", "what was spent was spent")
	require.False(t, r.bound().Exact)
}

// A leader that took over hears of cuts that began under a policy which it never knew: what was reported of them is
// in the bound, and said to be so. Without such cuts a limit that is exceeded against its bound shows.
func TestWhatIsReportedUnderAnUnknownPolicyIsInTheBound(t *testing.T) {
	for _, sole := range []bool{true, false} {
		r := newBoard(t, limit+fallback, sole)
		eu := who("eu", "eu-1", 1)
		r.hello(eu)
		r.report(eu, lease.CutReport{Number: 7, Count: 1, Length: time.Second, Closed: true})
		got := r.Picture(r.now).Bound("api/q", r.now, 5000)
		if sole {
			require.Equal(t, int64(151), got.Tokens)
			continue
		}
		require.Equal(t, int64(5000), got.Tokens)
		require.Contains(t, texts(got), "reported of cuts under a policy that is not known here: 4849")
		require.Equal(t, int64(151), r.Picture(r.now).Bound("api/q", r.now, 100).Tokens)
	}
}

func TestABoardIsBounded(t *testing.T) {
	r := newBoard(t, limit+fallback, true)
	var want int64
	for i := range 9000 {
		id := who(fmt.Sprint("region-", i%100), fmt.Sprint("node-", i), byte(i))
		r.hello(id)
		r.report(id, lease.CutReport{Number: 1, Count: 1, Length: time.Second, Closed: true})
		r.Broken(r.now, id, r.session, "EOF")
		want += 151
	}
	p := r.Picture(r.now)
	require.Len(t, p.Links(r.now), 8192)
	require.Equal(t, 9000-8192, p.Forgotten)
	got := r.bound()
	require.GreaterOrEqual(t, got.Tokens, want-100, "but for what each is rounded up")
	require.InEpsilon(t, want, got.Tokens, 0.01)
	require.Less(t, len(got.Lines), 400)
	r.skip(time.Minute) // all of them are silent
	got = r.bound()
	require.GreaterOrEqual(t, got.Tokens, want+8192*(100+50*60))
	require.Less(t, len(got.Lines), 9000)
	r.skip(2 * time.Hour)
	require.Empty(t, r.Picture(r.now).Links(r.now), "nobody waits for them for ever")
	require.GreaterOrEqual(t, r.bound().Tokens, want+8192*30130-100, "but they may still be there")
	r.hello(who("region-0", "node-8900", 255))
	r.pass(time.Second)
	require.Equal(t, 8191, strings.Count(r.text(), "goes on"), "a successor tells that one is not")
}

func TestAPictureDoesNotChange(t *testing.T) {
	r := newBoard(t, limit+fallback, true)
	eu := who("eu", "eu-1", 1)
	r.hello(eu)
	r.report(eu)
	r.pass(time.Minute)
	p := r.Picture(r.now)
	links, bound := p.Links(r.now), p.Bound("api/q", r.now, 0)
	at := r.now
	r.hello(eu)
	r.report(eu, lease.CutReport{Number: 1, Count: 1, Length: time.Minute, Closed: true})
	r.SetPolicy(r.now, set(t, "limit: {tokens: 1, per: 1h}, partition: {mode: fail_closed}"))
	r.pass(time.Hour)
	require.Equal(t, links, p.Links(at))
	require.Equal(t, bound, p.Bound("api/q", at, 0))
}

func TestALoweredLimitIsInTheBoundUntilTheLongestLeaseHasPassed(t *testing.T) {
	const closed = ", partition: {mode: fail_closed}"
	for _, c := range []struct {
		name, old string
		then      []string      // one a second later each
		at        time.Duration // after the last change
		want      string
	}{
		{"at once", "limit: {tokens: 100, per: 1s, burst: 100}", []string{"limit: {tokens: 40, per: 1s, burst: 30}"}, 0, "limit lowered: 70 + 1.001 x 60/s x 0 s = 70"},
		{"a second later", "limit: {tokens: 100, per: 1s, burst: 100}", []string{"limit: {tokens: 40, per: 1s, burst: 30}"}, time.Second, "limit lowered: 70 + 1.001 x 60/s x 1 s = 131"},
		{"the rate alone", "limit: {tokens: 100, per: 1s, burst: 100}", []string{"limit: {tokens: 40, per: 1s, burst: 100}"}, time.Second, "limit lowered: 1.001 x 60/s x 1 s = 61"},
		{"after a lease of 5 s", "limit: {tokens: 100, per: 1s, burst: 100}", []string{"limit: {tokens: 40, per: 1s, burst: 30}"}, 5011 * time.Millisecond, ""},
		{"in two steps", "limit: {tokens: 100, per: 1s, burst: 100}", []string{"limit: {tokens: 100, per: 1s, burst: 70}", "limit: {tokens: 100, per: 1s, burst: 30}"}, 0, "limit lowered: 70"},
		{"and raised again", "limit: {tokens: 100, per: 1s, burst: 100}", []string{"limit: {tokens: 100, per: 1s, burst: 10}", "limit: {tokens: 100, per: 1s, burst: 90}"}, 0, "limit lowered: 10"},
		{"to what it was", "limit: {tokens: 100, per: 1s, burst: 100}", []string{"limit: {tokens: 100, per: 1s, burst: 10}", "limit: {tokens: 100, per: 1s, burst: 100}"}, 0, ""},
		{"raised", "limit: {tokens: 100, per: 1s, burst: 100}", []string{"limit: {tokens: 1000, per: 1s, burst: 1000}"}, 0, ""},
		{"a window", "limit: {tokens: 100, per: 1m, algorithm: fixed_window}", []string{"limit: {tokens: 40, per: 1m, algorithm: fixed_window}"}, 59 * time.Second, "limit lowered: 60"},
		{"a window that has ended", "limit: {tokens: 100, per: 1m, algorithm: fixed_window}", []string{"limit: {tokens: 40, per: 1m, algorithm: fixed_window}"}, 61 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newBoard(t, c.old+closed, true)
			for i, text := range c.then {
				if i > 0 {
					r.pass(time.Second)
				}
				r.SetPolicy(r.now, set(t, text+closed))
			}
			r.now += c.at
			require.Equal(t, c.want, r.text())
		})
	}
}

// A limit that is lowered again and again, forth and back, never needs more than the largest of before.
func TestFormerLimitsAreBounded(t *testing.T) {
	r := newBoard(t, "limit: {tokens: 1000, per: 1s, burst: 1000}, partition: {mode: fail_closed}", true)
	for i := range 100 {
		r.now += 10 * time.Millisecond
		r.SetPolicy(r.now, set(t, fmt.Sprintf("limit: {tokens: 1000, per: 1s, burst: %d}, partition: {mode: fail_closed}", 990-i)))
	}
	require.Equal(t, "limit lowered: 109", r.text())
	r.now += 4500 * time.Millisecond
	require.GreaterOrEqual(t, r.bound().Tokens, int64(50), "those of the last half second")
	r.now += 600 * time.Millisecond
	require.Empty(t, r.text())
}
