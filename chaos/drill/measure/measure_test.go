package measure_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/chaos/drill/load"
	"github.com/a1009580/leasehold/chaos/drill/measure"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
	"github.com/a1009580/leasehold/policy"
)

const ms = time.Millisecond

func sec(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// steady is a run of 12 s, 4 for each phase, in which two regions are asked for 20
// requests a second each of a limit of 20 tokens a second, and half are admitted;
// everything is well. One fault was there from 4 to 6 s.
func steady() *measure.Record {
	r := &measure.Record{
		Regions: []string{"us", "eu"}, Cost: 1, Limit: 20, OfRegions: make([][]measure.RegionSample, 2),
		Phases: []measure.Phase{
			{Kind: result.Baseline, From: 0, To: sec(4)}, {Kind: result.Faulty, From: sec(4), To: sec(8)}, {Kind: result.Healed, From: sec(8), To: sec(12)},
		},
		Faults: []measure.Outage{{From: sec(4), To: sec(6), Region: -1}}, RoundTrips: []time.Duration{100 * ms, 100 * ms},
	}
	for at := time.Duration(0); at < sec(12); at += 50 * ms {
		for region := range 2 {
			o := load.Admitted
			if at/(50*ms)%2 == 1 {
				o = load.Denied
			}
			r.Requests = append(r.Requests, load.Request{Sent: at, Received: at + 2*ms, Region: region, Outcome: o})
		}
	}
	for at := time.Duration(0); at <= sec(12); at += measure.Step {
		for region := range 2 {
			r.OfRegions[region] = append(r.OfRegions[region], measure.RegionSample{
				Asked: at, At: at + ms, State: "ready", Connected: true, Revision: 1, Leased: 10,
			})
		}
		r.OfCoordinators = append(r.OfCoordinators, measure.CoordinatorSample{
			Asked: at, At: at + ms, Node: "coordinator-1", Leads: true, Granting: true, Epoch: measure.Epoch{History: 1, Revision: 5}, Revision: 1,
		})
	}
	return r
}

// disconnect has a region without a session from one time to another.
func disconnect(r *measure.Record, region int, from, to time.Duration) {
	for i := range r.OfRegions[region] {
		if s := &r.OfRegions[region][i]; s.Asked >= from && s.Asked < to {
			s.Connected, s.State = false, "degraded"
		}
	}
}

func quota() *policy.Quota {
	return &policy.Quota{ID: "api/key", Limit: policy.Limit{Tokens: 20, Per: time.Second, Burst: 5}}
}

func TestAHealthyRunHasNothingToSay(t *testing.T) {
	r := steady()
	require.Empty(t, r.BaselineProblems())
	for _, l := range r.Load() {
		require.True(t, l.Above)
		require.InDelta(t, 40, l.LeastPerSecond, 0.01)
	}
	for _, c := range r.Invariants(nil) {
		if c.ID == "cut-off-stays-ready" || c.ID == "deadlines-kept" {
			require.Equal(t, result.NotExercised, c.Outcome, c.ID)
			continue
		}
		require.Equal(t, result.Held, c.Outcome, "%+v", c)
	}
	o := r.Overshoot(measure.Judged{Quota: quota()})
	require.Zero(t, o.Observed)
	require.Zero(t, *o.Bound)
	require.Equal(t, -o.Closest, *o.Margin)
	require.Equal(t, result.Held, measure.Promise([]result.Overshoot{o}).Outcome)
}

func TestATimelineCountsInSteps(t *testing.T) {
	r := steady()
	disconnect(r, 1, sec(5), sec(6))
	tl := r.Timeline()
	require.NoError(t, (&result.Result{Verdict: result.Verdict{Outcome: result.Pass}, Timeline: tl}).Validate())
	require.Equal(t, 120, tl.Steps)
	us, eu := tl.Regions[0], tl.Regions[1]
	require.EqualValues(t, 1, us.Admitted[0])
	require.EqualValues(t, 1, us.Denied[0])
	require.EqualValues(t, 10, *us.Leased[3])
	require.Zero(t, *us.Stranded[55])
	require.EqualValues(t, 10, *eu.Stranded[55], "it has no session")
	require.Zero(t, *eu.Stranded[65])
}

func TestWhatAKilledRegionHeldIsToldByTheLeader(t *testing.T) {
	r := steady()
	r.OfRegions[1] = r.OfRegions[1][:50]
	for i := range r.OfCoordinators {
		r.OfCoordinators[i].Stranded = 17
	}
	eu := r.Timeline().Regions[1]
	require.NotNil(t, eu.Leased[52], "a little while the last answer stands for it")
	require.Nil(t, eu.Leased[60])
	require.EqualValues(t, 17, *eu.Stranded[60])
	disconnect(r, 0, 0, sec(12))
	require.EqualValues(t, 7, *r.Timeline().Regions[1].Stranded[60], "without what others hold")
}

func TestTheBaselineMustBeHealthy(t *testing.T) {
	for want, spoil := range map[string]func(r *measure.Record){
		"there was none":                       func(r *measure.Record) { r.Phases = r.Phases[1:] },
		"only 50% of the limit was used":       func(r *measure.Record) { r.Limit = 40 },
		"eu was not ready at its end":          func(r *measure.Record) { r.OfRegions[1][39].State = "degraded" },
		"1 requests to us failed":              func(r *measure.Record) { r.Requests[0].Outcome = load.Failed },
		"no coordinator granted at its end":    func(r *measure.Record) { grant(r, sec(3), sec(5), false) },
		"eu was not ready at its end (nobody)": func(r *measure.Record) { r.OfRegions[1] = nil },
	} {
		r := steady()
		spoil(r)
		problems := r.BaselineProblems()
		require.NotEmpty(t, problems, want)
		require.Contains(t, want, problems[0])
	}
}

func grant(r *measure.Record, from, to time.Duration, granting bool) {
	for i := range r.OfCoordinators {
		if s := &r.OfCoordinators[i]; s.Asked >= from && s.Asked < to {
			s.Granting = granting
		}
	}
}

func TestLoadMustBeAboveTheLimitInEverySecond(t *testing.T) {
	r := steady()
	for i, q := range r.Requests {
		if q.Sent >= sec(5) && q.Sent < sec(6) && q.Region == 0 {
			r.Requests[i].Outcome = load.Failed // a request that nobody decided is no load
		}
	}
	all := r.Load()
	require.True(t, all[0].Above)
	require.False(t, all[1].Above, "exactly the limit is not above it")
	require.InDelta(t, 20, all[1].LeastPerSecond, 0.01)
	require.InDelta(t, 35, all[1].OfferedPerSecond, 0.01)
	require.True(t, all[2].Above)
}

func TestLatenciesAreQuantilesOfWhatWasDecided(t *testing.T) {
	r := &measure.Record{Regions: []string{"us"}, Cost: 1, Limit: 1, Phases: []measure.Phase{{Kind: result.Baseline, To: time.Hour}}}
	for i := range 1000 {
		r.Requests = append(r.Requests, load.Request{Sent: sec(1), Received: sec(1) + time.Duration(i+1)*ms, Outcome: load.Denied})
	}
	r.Requests = append(r.Requests, load.Request{Sent: sec(1), Received: sec(20), Outcome: load.Failed})
	for _, l := range r.Latencies() {
		require.EqualValues(t, 1000, l.Requests)
		require.InDelta(t, 0.5, l.P50, 1e-9)
		require.InDelta(t, 0.99, l.P99, 1e-9)
		require.InDelta(t, 0.999, l.P999, 1e-9)
		require.InDelta(t, 1, l.Max, 1e-9)
	}
	r.Requests = nil
	require.Zero(t, r.Latencies()[0].Max)
}

func TestBlastIsWhatUsersNoticed(t *testing.T) {
	r := steady()
	for i, q := range r.Requests {
		if q.Region == 1 && q.Sent >= sec(4) && q.Sent < sec(8) {
			r.Requests[i].Outcome = load.Failed
		}
	}
	all := r.Blast()
	require.Len(t, all, 6)
	eu := all[3]
	require.Equal(t, "eu", eu.Region)
	require.Equal(t, "fault", eu.Phase)
	require.EqualValues(t, 80, eu.Failed)
	require.Zero(t, *eu.OfBaseline)
	require.InDelta(t, 1, *all[2].OfBaseline, 0.01)
}

func TestRecoveryIsCountedFromTheLastHealing(t *testing.T) {
	r := steady()
	disconnect(r, 1, sec(5), sec(7))
	var kept []load.Request
	for _, q := range r.Requests {
		if q.Sent < sec(4) || q.Sent >= sec(8) {
			kept = append(kept, q)
		}
	}
	r.Requests = kept
	all := r.Recovery()
	require.InDelta(t, 1.1, *all[0].Seconds, 0.11)
	require.InDelta(t, 1.9, *all[1].Seconds, 0.11)

	r.Limit = 100
	require.Nil(t, r.Recovery()[1].Seconds, "too little of that limit")
	r.Final = 20
	require.InDelta(t, 1.9, *r.Recovery()[1].Seconds, 0.11, "and enough of the one in its place")
	r.Faults[0].To = 0
	require.Nil(t, r.Recovery()[0].Seconds, "a fault that is still there was not healed")
	r = steady()
	disconnect(r, 0, sec(6), sec(13))
	require.Nil(t, r.Recovery()[0].Seconds)
}

func TestABrokenInvariantIsNoticed(t *testing.T) {
	last := func(r *measure.Record) *measure.CoordinatorSample { return &r.OfCoordinators[len(r.OfCoordinators)-1] }
	for name, tc := range map[string]struct {
		id    string
		spoil func(r *measure.Record)
	}{
		"the books do not balance": {"books-balance", func(r *measure.Record) { last(r).Imbalance = 1 }},
		"overspent":                {"nothing-overspent", func(r *measure.Record) { last(r).Overspent = 1 }},
		"an older epoch grants":    {"epochs-rise", func(r *measure.Record) { last(r).Epoch.Revision = 4 }},
		"an older history grants":  {"epochs-rise", func(r *measure.Record) { last(r).Epoch = measure.Epoch{Revision: 9} }},
		"an older policy":          {"policy-forward", func(r *measure.Record) { r.OfRegions[0][50].Revision = 0 }},
		"a cut-off region says that it is unready": {"cut-off-stays-ready", func(r *measure.Record) {
			disconnect(r, 0, sec(5), sec(6))
			r.OfRegions[0][55].State = "unready"
		}},
		"a decision takes too long": {"answers-in-time", func(r *measure.Record) { r.Requests[9].Received += sec(5.1) }},
		"a cut-off region spends after its lease": {"deadlines-kept", func(r *measure.Record) {
			r.TTL = sec(1)
			r.Silences = []measure.Silence{{Region: 1, From: sec(4), To: sec(6)}}
		}},
		"a thawed region spends what it had": {"deadlines-kept", func(r *measure.Record) {
			r.TTL = sec(1)
			r.Silences = []measure.Silence{{Region: 1, From: sec(4), To: sec(6), Frozen: true}}
		}},
	} {
		r := steady()
		tc.spoil(r)
		for _, c := range r.Invariants(nil) {
			want := result.Held
			if c.ID == tc.id {
				want = result.Broken
			}
			if c.Outcome != result.NotExercised || c.ID == tc.id {
				require.Equal(t, want, c.Outcome, "%s: %+v", name, c)
			}
		}
	}
	all := steady().Invariants([]string{"eu ended by itself: exit status 2"})
	require.Equal(t, result.Broken, all[len(all)-1].Outcome)
}

func TestWhatLooksBrokenAndIsNot(t *testing.T) {
	for name, tc := range map[string]struct {
		id    string
		spoil func(r *measure.Record)
		want  result.CheckOutcome
	}{
		"an old leader that answers late may have granted before": {"epochs-rise", func(r *measure.Record) {
			s := &r.OfCoordinators[60]
			s.Epoch.Revision = 4
			s.Asked = 0
			for i := 59; i < 60; i++ {
				r.OfCoordinators[i].At = s.At
			}
		}, result.Held},
		"a standby says what it likes": {"epochs-rise", func(r *measure.Record) {
			r.OfCoordinators[60].Epoch.Revision, r.OfCoordinators[60].Granting = 4, false
		}, result.Held},
		"a new history begins with the first policy": {"policy-forward", func(r *measure.Record) {
			r.OfCoordinators[80].Epoch = measure.Epoch{History: 2, Revision: 9}
			r.OfRegions[0][90].Revision = 0
		}, result.NotExercised},
		"a request waits for a process that stands still": {"answers-in-time", func(r *measure.Record) {
			r.Requests[9].Received += sec(5)
			r.Faults = append(r.Faults, measure.Outage{From: sec(4), To: sec(6), Region: r.Requests[9].Region})
		}, result.Held},
		"a cut shorter than a lease ends none": {"deadlines-kept", func(r *measure.Record) {
			r.TTL = sec(2)
			r.Silences = []measure.Silence{{Region: 1, From: sec(4), To: sec(6)}}
		}, result.NotExercised},
		"without a bound on leases there is nothing to say": {"deadlines-kept", func(r *measure.Record) {
			r.Silences = []measure.Silence{{Region: 1, From: sec(4), To: sec(6)}}
		}, result.NotExercised},
	} {
		r := steady()
		tc.spoil(r)
		for _, c := range r.Invariants(nil) {
			if c.ID == tc.id {
				require.Equal(t, tc.want, c.Outcome, "%s: %+v", name, c)
			}
		}
	}
}

func TestTheBoundOfAModeIsComputedFromTheCuts(t *testing.T) {
	fallback := quota()
	fallback.Partition = policy.Partition{Mode: policy.LocalFallback, Rate: bucket.Rate{Tokens: 10, Per: time.Second}, Burst: 7, For: sec(3)}
	open := quota()
	open.Partition = policy.Partition{Mode: policy.FailOpen, Rate: bucket.Rate{Tokens: 10, Per: time.Second}, Burst: 7}
	unbounded := quota()
	unbounded.Partition = policy.Partition{Mode: policy.FailOpen, Unbounded: true}

	r := steady()
	require.Zero(t, *r.Overshoot(measure.Judged{Quota: open}).Bound, "without a cut nothing is added")
	disconnect(r, 1, sec(5), sec(7))
	// From the fault's beginning at 4 s to the first session after, at 7.001 s.
	require.EqualValues(t, 7+31, *r.Overshoot(measure.Judged{Quota: open}).Bound, "b + (1+ρ)·f·D, rounded up")
	require.EqualValues(t, 7+31, *r.Overshoot(measure.Judged{Quota: fallback}).Bound, "3 s of 3.001")
	fallback.Partition.For = sec(1)
	require.EqualValues(t, 7+11, *r.Overshoot(measure.Judged{Quota: fallback}).Bound)
	disconnect(r, 1, sec(9), sec(10))
	disconnect(r, 0, sec(11), sec(13))
	// Twice more: from the last sample that was connected to the next one, and to
	// the end.
	require.EqualValues(t, 7+31+7+12+7+12, *r.Overshoot(measure.Judged{Quota: open}).Bound)
	o := r.Overshoot(measure.Judged{Quota: unbounded})
	require.Nil(t, o.Bound)
	require.Nil(t, o.Margin)
}

// TestACutThatKeepsItsSessionCounts has links that are cut off for so short a time
// that the session lives on.
func TestACutThatKeepsItsSessionCounts(t *testing.T) {
	open := quota()
	open.Partition = policy.Partition{Mode: policy.FailOpen, Rate: bucket.Rate{Tokens: 10, Per: time.Second}, Burst: 7}
	// link has the state of a link change at each of these times.
	link := func(r *measure.Record, region int, at ...time.Duration) {
		states := []string{"cut_off", "healing", "connected"}
		for i := range r.OfRegions[region] {
			s := &r.OfRegions[region][i]
			s.Link, s.Transitions = "connected", 0
			for n, from := range at {
				if s.Asked >= from {
					s.Link, s.Transitions = states[n%3], uint64(n+1)
				}
			}
		}
	}
	bound := func(r *measure.Record) int64 { return *r.Overshoot(measure.Judged{Quota: open}).Bound }

	r := steady()
	link(r, 1, sec(9), sec(9.3))
	require.EqualValues(t, 7+5, bound(r), "from the last sample before, at 8.9 s, to the first that heals, at 9.301 s")
	link(r, 1, sec(7), sec(7.3))
	require.EqualValues(t, 7+5, bound(r), "the fault that ended before is not its reason")
	link(r, 1, sec(5), sec(5.3))
	require.EqualValues(t, 7+14, bound(r), "from the fault's beginning")

	link(r, 1, sec(9.05), sec(9.06))
	require.EqualValues(t, 7+2, bound(r), "no sample saw it, and the next found it healing")
	link(r, 1, sec(9.05), sec(9.06), sec(11))
	require.EqualValues(t, 7+2, bound(r), "healed")
	link(r, 1, sec(9), sec(9.3))
	for i := range r.OfRegions[1] {
		if s := &r.OfRegions[1][i]; s.Asked >= sec(10) {
			s.Transitions += 2 // cut off again, and healing again
		}
	}
	require.EqualValues(t, 7+5+7+2, bound(r))
}

func TestOnlyWhatCountsIsJudged(t *testing.T) {
	r := steady()
	small := quota()
	small.Limit.Tokens = 10
	require.Positive(t, r.Overshoot(measure.Judged{Quota: small}).Observed)
	o := r.Overshoot(measure.Judged{Quota: small, From: sec(11.9)})
	require.Zero(t, o.Observed)
	require.LessOrEqual(t, o.Worst.Admitted, int64(2))
	require.Equal(t, result.NotExercised, measure.Promise([]result.Overshoot{r.Overshoot(measure.Judged{Quota: small, From: sec(13)})}).Outcome)
	require.Equal(t, result.Broken, measure.Promise([]result.Overshoot{r.Overshoot(measure.Judged{Quota: small})}).Outcome)
}

func TestExpectations(t *testing.T) {
	most := func(f float64) *float64 { return &f }
	outcome := func(r *measure.Record, e scenario.Expectation) result.CheckOutcome {
		c := r.Check(e)
		require.Equal(t, e.ID(), c.ID)
		require.NotEmpty(t, c.Statement)
		require.NotEmpty(t, c.Expected)
		require.NotEmpty(t, c.Observed)
		return c.Outcome
	}
	r := steady()
	for _, tc := range []struct {
		e    scenario.Expectation
		want result.CheckOutcome
	}{
		{scenario.Expectation{Kind: scenario.Admitted, Phase: "fault", Least: 0.95}, result.Held},
		{scenario.Expectation{Kind: scenario.Admitted, Phase: "fault", Least: 1.1}, result.Broken},
		{scenario.Expectation{Kind: scenario.Admitted, Phase: "fault", Most: most(0.9)}, result.Broken},
		{scenario.Expectation{Kind: scenario.Admitted, Phase: "fault", Region: "eu", Least: 0.4, Most: most(0.6)}, result.Held},
		{scenario.Expectation{Kind: scenario.Admitted, Phase: "fault", Most: most(0)}, result.Broken},
		{scenario.Expectation{Kind: scenario.Admitted, Phase: "fault", After: sec(4), Least: 0.1}, result.NotExercised},
		{scenario.Expectation{Kind: scenario.Recovers, Least: 0.9, Within: sec(1)}, result.Held},
		{scenario.Expectation{Kind: scenario.Recovers, Least: 1.2, Within: sec(1)}, result.Broken},
		{scenario.Expectation{Kind: scenario.Recovers, Least: 1.2, Within: sec(20)}, result.NotExercised},
		{scenario.Expectation{Kind: scenario.Leads, Within: sec(3)}, result.Broken},
		{scenario.Expectation{Kind: scenario.StaysReady, Region: "eu"}, result.Held},
		{scenario.Expectation{Kind: scenario.NoticesLoss}, result.Broken},
		{scenario.Expectation{Kind: scenario.Adopts, Within: sec(1)}, result.Broken},
	} {
		require.Equal(t, tc.want, outcome(r, tc.e), "%+v", tc.e)
	}
	for i := range r.OfCoordinators {
		if s := &r.OfCoordinators[i]; s.Asked >= sec(5) {
			s.Epoch, s.Revision = measure.Epoch{History: 2, Revision: 1}, 2
		}
	}
	for i := range r.OfRegions[0] {
		if s := &r.OfRegions[0][i]; s.Asked >= sec(7) {
			s.Revision = 2
			r.OfRegions[1][i].Revision = 2
		}
	}
	r.OfRegions[1][3].State = "unready"
	require.Equal(t, result.Held, outcome(r, scenario.Expectation{Kind: scenario.Leads, Within: sec(1.1)}))
	require.Equal(t, result.Broken, outcome(r, scenario.Expectation{Kind: scenario.Leads, Within: sec(0.9)}))
	require.Equal(t, result.Held, outcome(r, scenario.Expectation{Kind: scenario.NoticesLoss}))
	require.Equal(t, result.Held, outcome(r, scenario.Expectation{Kind: scenario.Adopts, Within: sec(1.2)}))
	require.Equal(t, result.Broken, outcome(r, scenario.Expectation{Kind: scenario.StaysReady, Region: "eu"}))
	r.Faults = nil
	require.Equal(t, result.NotExercised, outcome(r, scenario.Expectation{Kind: scenario.Leads, Within: sec(1)}))
}

func TestEpochsAreReadAndOrdered(t *testing.T) {
	e, err := measure.ParseEpoch("2.17")
	require.NoError(t, err)
	require.Equal(t, measure.Epoch{History: 2, Revision: 17}, e)
	require.Positive(t, e.Compare(measure.Epoch{History: 1, Revision: 99}))
	require.Negative(t, e.Compare(measure.Epoch{History: 2, Revision: 18}))
	e, err = measure.ParseEpoch("")
	require.NoError(t, err)
	require.Zero(t, e)
	_, err = measure.ParseEpoch("two")
	require.Error(t, err)
}
