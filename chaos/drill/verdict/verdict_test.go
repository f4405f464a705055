package verdict_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
)

func some(n int64) *int64 { return &n }

// good is a run that proves what it shows.
func good() *result.Result {
	return &result.Result{
		Scenario: result.Scenario{Name: "isolate-region", Title: "Isolate a region"},
		Overshoots: []result.Overshoot{{
			Quota: "api/partner-key", Key: "hot", Bound: some(0), Closest: -1234, Margin: some(1234),
			Worst: result.Interval{FromSeconds: 1, ToSeconds: 2.5, Admitted: 11234, Promised: 10000},
		}},
		Hypotheses: []result.Check{
			{ID: "served", Statement: "us is served", Expected: "90%", Observed: "97%", Outcome: result.Held},
			{ID: "floor", Statement: "eu has its floor", Expected: "10/s", Observed: "10/s", Outcome: result.Held},
		},
		Phases: []result.Phase{
			{Name: "before", Kind: result.Baseline, ToSeconds: 3},
			{Name: "cut", Kind: result.Faulty, FromSeconds: 3, ToSeconds: 9},
			{Name: "after", Kind: result.Healed, FromSeconds: 9, ToSeconds: 14},
		},
		Faults: []result.Fault{{
			Name: "cut", Targets: []string{"eu"},
			Bite: result.Bite{Proven: true, Method: "packets dropped", Count: 412},
		}},
		Evidence: result.Evidence{
			Load:    []result.Load{{Phase: "cut", OfferedPerSecond: 400, LeastPerSecond: 380, LimitPerSecond: 166, Above: true}},
			Samples: result.Samples{Expected: 1000, Taken: 990, Missing: 10},
		},
		Invariants: []result.Check{
			{ID: "books", Statement: "the books balance", Outcome: result.Held},
			{ID: "windows", Statement: "windows never go back", Outcome: result.NotExercised},
		},
	}
}

func TestRules(t *testing.T) {
	const pass, fail, unsure = result.Pass, result.Fail, result.Inconclusive
	cut := func(r *result.Result) { r.Faults[0].Bite = result.Bite{Detail: "0 packets dropped"} }
	exceed := func(r *result.Result) { r.Overshoots[0].Closest, r.Overshoots[0].Observed = 312, 312 }
	unmet := func(r *result.Result) { r.Hypotheses[0].Outcome, r.Hypotheses[0].Observed = result.Broken, "12%" }
	stop := func(r *result.Result) { r.Stopped = &result.Stop{AtSeconds: 7.2, Reason: "interrupted"} }
	broken := func(r *result.Result) { r.Invariants[0].Outcome = result.Broken }
	unhealthy := func(r *result.Result) { r.Evidence.BaselineProblems = []string{"eu was not ready"} }

	for _, c := range []struct {
		name    string
		change  []func(*result.Result)
		want    result.Outcome
		reasons []string // each in its place, by what it contains
	}{
		{"a good run", nil, pass, nil},
		{"the promise is exceeded", []func(*result.Result){exceed}, fail, []string{"api/partner-key of hot was exceeded by 312 tokens within 1.5 s, 312 beyond the bound of 0"}},
		{"exceeded by what the bound allows", []func(*result.Result){exceed, func(r *result.Result) { r.Overshoots[0].Bound = some(312) }}, pass, nil},
		{"exceeded by a token more than the bound", []func(*result.Result){exceed, func(r *result.Result) { r.Overshoots[0].Bound = some(311) }}, fail, []string{"1 beyond the bound of 311"}},
		{"the figures disagree: the larger one counts", []func(*result.Result){func(r *result.Result) { r.Overshoots[0].Observed = 5 }}, fail, []string{"exceeded by 5"}},
		{"unbounded by its own word", []func(*result.Result){exceed, func(r *result.Result) { r.Overshoots[0].Bound = nil }}, pass, nil},
		{"an invariant is broken", []func(*result.Result){broken}, fail, []string{"invariant was broken: the books balance"}},
		{"an expectation is not met", []func(*result.Result){unmet}, fail, []string{"us is served (expected 90%, observed 12%)"}},
		{"a broken promise comes first", []func(*result.Result){unmet, broken, exceed}, fail, []string{"exceeded", "invariant", "expectation"}},

		{"stopped early", []func(*result.Result){stop}, unsure, []string{"stopped after 7.2 s: interrupted"}},
		{"the fault did nothing", []func(*result.Result){cut}, unsure, []string{`"cut" on eu was not proven to bite: 0 packets dropped`}},
		{"one of two faults did nothing", []func(*result.Result){func(r *result.Result) { r.Faults = append(r.Faults, result.Fault{Name: "kill"}) }}, unsure, []string{`"kill" was not proven`}},
		{"the baseline was not healthy", []func(*result.Result){unhealthy}, unsure, []string{"baseline was not healthy: eu was not ready"}},
		{"the load was too low", []func(*result.Result){func(r *result.Result) { r.Evidence.Load[0].Above = false }}, unsure, []string{`not above the limit throughout "cut": 380 tokens asked for in its weakest second, and the limit admits 166`}},
		{"samples are missing", []func(*result.Result){func(r *result.Result) { r.Evidence.Samples.Missing = 11 }}, unsure, []string{"samples are missing: 11 of 1,000"}},
		{"an expectation was not looked at", []func(*result.Result){func(r *result.Result) { r.Hypotheses[1].Outcome = result.NotExercised }}, unsure, []string{"not exercised: eu has its floor"}},
		{"an expectation without an outcome", []func(*result.Result){func(r *result.Result) { r.Hypotheses[1].Outcome = "" }}, unsure, []string{"not exercised: eu has its floor"}},

		{"nothing was injected", []func(*result.Result){func(r *result.Result) { r.Faults = nil }}, unsure, []string{"no fault was injected"}},
		{"no load was measured", []func(*result.Result){func(r *result.Result) { r.Evidence.Load = nil }}, unsure, []string{"load was not measured"}},
		{"nothing was judged", []func(*result.Result){func(r *result.Result) { r.Overshoots = nil }}, unsure, []string{"no bucket was judged"}},
		{"nothing was sampled", []func(*result.Result){func(r *result.Result) { r.Evidence.Samples = result.Samples{} }}, unsure, []string{"no samples were taken"}},
		{"all samples failed", []func(*result.Result){func(r *result.Result) { r.Evidence.Samples.Taken = 0 }}, unsure, []string{"no samples were taken"}},
		{"there was no recovery", []func(*result.Result){func(r *result.Result) { r.Phases = r.Phases[:2] }}, unsure, []string{`no phase of the kind "recovery"`}},
		{"no expectations are none unmet", []func(*result.Result){func(r *result.Result) { r.Hypotheses = nil }}, pass, nil},

		{"exceeded, though stopped", []func(*result.Result){stop, exceed}, fail, []string{"exceeded", "stopped"}},
		{"an invariant broken, though stopped", []func(*result.Result){stop, broken}, fail, []string{"invariant", "stopped"}},
		{"an expectation unmet, though stopped", []func(*result.Result){stop, unmet}, fail, []string{"expectation", "stopped"}},
		{"exceeded, though the fault did nothing", []func(*result.Result){cut, exceed}, fail, []string{"exceeded", "not proven"}},
		{"an invariant broken, though the baseline was not healthy", []func(*result.Result){unhealthy, broken}, fail, []string{"invariant", "baseline"}},
		{"an expectation unmet under no fault", []func(*result.Result){cut, unmet}, unsure, []string{"not proven", "expectation was not met"}},
		{"an expectation unmet of a sick system", []func(*result.Result){unhealthy, unmet}, unsure, []string{"baseline", "expectation was not met"}},
		{"exceeded, and unmet under no fault", []func(*result.Result){cut, unmet, exceed}, fail, []string{"exceeded", "expectation was not met", "not proven"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := good()
			for _, change := range c.change {
				change(r)
			}
			v := verdict.Of(r)
			require.Equal(t, c.want, v.Outcome, "%+v", v)
			require.Len(t, v.Reasons, len(c.reasons), "%q", v.Reasons)
			require.NotNil(t, v.Reasons)
			for i, want := range c.reasons {
				require.Contains(t, v.Reasons[i], want)
			}
			require.True(t, strings.HasPrefix(v.Sentence, "Isolate a region: "), v.Sentence)
			if len(v.Reasons) > 0 {
				require.Contains(t, v.Sentence, v.Reasons[0])
			}
		})
	}
}

func TestAResultThatSaysNothingIsInconclusive(t *testing.T) {
	require.Equal(t, result.Inconclusive, verdict.Of(&result.Result{}).Outcome)
}

func TestTheVerdictInTheResultDoesNotCount(t *testing.T) {
	r := good()
	want := verdict.Of(r)
	r.Verdict = result.Verdict{Outcome: result.Fail, Sentence: "no", Reasons: []string{"no"}}
	require.Equal(t, want, verdict.Of(r))
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		change func(*result.Result)
		want   string
	}{
		{
			func(*result.Result) {},
			"Isolate a region: the limit held in every interval, with 1,234 tokens to spare in the closest, and both expectations were met.",
		},
		{
			func(r *result.Result) {
				r.Hypotheses = r.Hypotheses[:1]
				r.Overshoots = append(r.Overshoots, result.Overshoot{Quota: "api/search", Bound: some(500), Closest: 499, Observed: 499})
			},
			"Isolate a region: the bound of 500 tokens held in every interval, with 1 token to spare in the closest, and the expectation was met.",
		},
		{
			func(r *result.Result) {
				r.Hypotheses, r.Overshoots[0].Bound = nil, nil
				r.Overshoots[0].Observed, r.Overshoots[0].Closest = 70, 70
			},
			"Isolate a region: the policy sets no bound, and the promise was exceeded by 70 tokens.",
		},
		{
			func(r *result.Result) { r.Overshoots[0].Closest, r.Invariants[0].Outcome = 1, result.Broken },
			"Isolate a region: api/partner-key of hot was exceeded by 1 token within 1.5 s, 1 beyond the bound of 0 (and one more reason).",
		},
		{
			func(r *result.Result) { r.Scenario.Title, r.Faults, r.Overshoots = "", nil, nil },
			"isolate-region: nothing is proven, because no fault was injected (and one more reason).",
		},
	} {
		r := good()
		c.change(r)
		require.Equal(t, c.want, verdict.Of(r).Sentence)
	}
}
