package diff_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/diff"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/result/resulttest"
)

func some[T any](x T) *T { return &x }

// later is a run that went as good as the one before.
func later() *result.Result {
	r := resulttest.Pass()
	r.Reproduction.Version, r.Reproduction.Seed = "v9", 1
	r.Overshoots[0].Closest++
	for i := range r.Latencies {
		r.Latencies[i].P50 *= 1.2
		r.Latencies[i].P99 += 0.0009
	}
	return r
}

func TestChanges(t *testing.T) {
	const worse, better, changed = diff.Worse, diff.Better, diff.Changed
	for _, c := range []struct {
		name   string
		before func(*result.Result) // nil changes nothing
		after  func(*result.Result)
		want   []diff.Change
	}{
		{"nothing", nil, nil, nil},
		{"a PASS fails", nil, func(r *result.Result) { r.Verdict.Outcome = result.Fail }, []diff.Change{{worse, "verdict", "PASS", "FAIL"}}},
		{"a PASS is no longer proven", nil, func(r *result.Result) { r.Verdict.Outcome = result.Inconclusive }, []diff.Change{{worse, "verdict", "PASS", "INCONCLUSIVE"}}},
		{"a FAIL is no longer proven", func(r *result.Result) { r.Verdict.Outcome = result.Fail }, func(r *result.Result) { r.Verdict.Outcome = result.Inconclusive }, []diff.Change{{changed, "verdict", "FAIL", "INCONCLUSIVE"}}},
		{"a FAIL passes", func(r *result.Result) { r.Verdict.Outcome = result.Fail }, nil, []diff.Change{{better, "verdict", "FAIL", "PASS"}}},
		{"what was not proven fails", func(r *result.Result) { r.Verdict.Outcome = result.Inconclusive }, func(r *result.Result) { r.Verdict.Outcome = result.Fail }, []diff.Change{{worse, "verdict", "INCONCLUSIVE", "FAIL"}}},

		{"the bound grows", nil, func(r *result.Result) { r.Overshoots[0].Bound = some(int64(1000)) }, []diff.Change{{worse, "bound of api/partner-key of hot", "0", "1,000"}}},
		{"the bound is gone", nil, func(r *result.Result) { r.Overshoots[0].Bound = nil }, []diff.Change{{worse, "bound of api/partner-key of hot", "0", "unbounded"}}},
		{"the bound comes", func(r *result.Result) { r.Overshoots[0].Bound = nil }, nil, []diff.Change{{better, "bound of api/partner-key of hot", "unbounded", "0"}}},
		{"both are unbounded", func(r *result.Result) { r.Overshoots[0].Bound = nil }, func(r *result.Result) { r.Overshoots[0].Bound = nil }, nil},
		{"the bound is exceeded", nil, func(r *result.Result) { r.Overshoots[0].Observed, r.Overshoots[0].Closest = 5, 5 }, []diff.Change{{worse, "observed of api/partner-key of hot", "-97", "5"}}},
		{"exceeded less", func(r *result.Result) { r.Overshoots[0].Closest = 9 }, func(r *result.Result) { r.Overshoots[0].Closest = 5 }, []diff.Change{{changed, "observed of api/partner-key of hot", "9", "5"}}},
		{"exceeded no more", func(r *result.Result) { r.Overshoots[0].Closest = 9 }, nil, []diff.Change{{better, "observed of api/partner-key of hot", "9", "-96"}}},
		{"more is used of the bound", func(r *result.Result) { r.Overshoots[0].Bound = some(int64(50)) }, func(r *result.Result) { r.Overshoots[0].Bound, r.Overshoots[0].Closest = some(int64(50)), 40 }, []diff.Change{{changed, "observed of api/partner-key of hot", "-97", "40"}}},
		{"a bucket is not judged", nil, func(r *result.Result) { r.Overshoots = nil }, []diff.Change{{worse, "bucket api/partner-key of hot", "judged", "not there"}}},
		{"judged by two limits", func(r *result.Result) {
			r.Overshoots = append(r.Overshoots, r.Overshoots[0])
			r.Overshoots[1].Limit = "5 per 1s"
		}, func(r *result.Result) {
			r.Overshoots = append(r.Overshoots, r.Overshoots[0])
			r.Overshoots[1].Limit, r.Overshoots[1].Bound = "5 per 1s", some(int64(1))
		}, []diff.Change{{worse, "bound of api/partner-key of hot under 5 per 1s", "0", "1"}}},
		{"a bucket is new", func(r *result.Result) { r.Overshoots = nil }, nil, []diff.Change{{changed, "bucket api/partner-key of hot", "not there", "judged"}}},

		{"an expectation is not met", nil, func(r *result.Result) { r.Hypotheses[0].Outcome, r.Hypotheses[0].Observed = result.Broken, "3" }, []diff.Change{{worse, "expectation floor", "pass (62 tokens/s)", "fail (3)"}}},
		{"an invariant is not exercised any more", nil, func(r *result.Result) { r.Invariants[0] = result.Check{ID: "books", Outcome: result.NotExercised} }, []diff.Change{{worse, "invariant books", "pass (0)", "not_exercised"}}},
		{"an invariant is exercised", nil, func(r *result.Result) { r.Invariants[4].Outcome = result.Held }, []diff.Change{{better, "invariant history", "not_exercised", "pass"}}},
		{"what was broken is not exercised", func(r *result.Result) { r.Invariants[0].Outcome = result.Broken }, func(r *result.Result) { r.Invariants[0].Outcome = result.NotExercised }, []diff.Change{{changed, "invariant books", "fail (0)", "not_exercised (0)"}}},
		{"a check is gone", nil, func(r *result.Result) { r.Invariants = r.Invariants[:4] }, []diff.Change{{worse, "invariant history", "not_exercised", "not there"}}},
		{"a check is new", func(r *result.Result) { r.Invariants = r.Invariants[:4] }, nil, []diff.Change{{changed, "invariant history", "not there", "not_exercised"}}},
		{"a check is new and fails", func(r *result.Result) { r.Invariants = r.Invariants[:4] }, func(r *result.Result) { r.Invariants[4].Outcome = result.Broken }, []diff.Change{{worse, "invariant history", "not there", "fail"}}},

		{"slower", nil, func(r *result.Result) { r.Latencies[0].P99 = 0.05 }, []diff.Change{{worse, "latency p99 in baseline", "1.31ms", "50ms"}}},
		{"faster", func(r *result.Result) { r.Latencies[0].P999 = 0.05 }, nil, []diff.Change{{better, "latency p99.9 in baseline", "50ms", "6.9ms"}}},
		{"one region alone", nil, func(r *result.Result) { r.Latencies[1].P99 = 0.05 }, nil},
		{"not measured", nil, func(r *result.Result) { r.Latencies[0].Requests = 0 }, []diff.Change{{worse, "latency in baseline", "measured", "not there"}}},
		{"slower elsewhere", nil, func(r *result.Result) { r.Latencies[0].P99, r.Reproduction.CPUs = 0.05, 64 }, []diff.Change{{changed, "latency p99 in baseline", "1.31ms", "50ms"}}},

		{"recovers later", nil, func(r *result.Result) { r.Recovery[0].Seconds = some(0.6) }, []diff.Change{{worse, "time to heal", "310ms", "600ms"}}},
		{"recovers a little later", nil, func(r *result.Result) { r.Recovery[0].Seconds = some(0.48) }, nil},
		{"recovers no more", nil, func(r *result.Result) { r.Recovery[1].Seconds = nil }, []diff.Change{{worse, "time to rebalance", "1.12s", "not before the end"}}},
		{"recovers at last", func(r *result.Result) { r.Recovery[1].Seconds = nil }, nil, []diff.Change{{better, "time to rebalance", "not before the end", "1.12s"}}},
		{"recovery is not measured", nil, func(r *result.Result) { r.Recovery = r.Recovery[:1] }, []diff.Change{{worse, "time to rebalance", "1.12s", "not there"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := resulttest.Pass(), later()
			if c.before != nil {
				c.before(a)
			}
			if c.after != nil {
				c.after(b)
			}
			got := diff.Compare(a, b, diff.Options{Tolerance: diff.DefaultTolerance})
			require.True(t, got.Comparable(), got.Doubts)
			require.Equal(t, append([]diff.Change{}, c.want...), got.Changes)
			want := false
			for _, x := range c.want {
				want = want || x.Kind == worse
			}
			require.Equal(t, want, got.Regressed())
		})
	}
}

func TestOtherDrillsAreNotCompared(t *testing.T) {
	for want, change := range map[string]func(*result.Result){
		"drill: isolate-region, then flapping":                                                         func(r *result.Result) { r.Scenario.Name, r.Reproduction.ScenarioSHA256 = "flapping", "x" },
		"scenario (SHA-256): 5f0e2c7fb0a94cd2a80f6f5f1e0a9a53c1f2b4d6e8097a6b5c4d3e2f10badc0d, then x": func(r *result.Result) { r.Reproduction.ScenarioSHA256 = "x" },
		"time scale: 0.25, then 1":                                                                     func(r *result.Result) { r.Reproduction.TimeScale = 1 },
	} {
		b := resulttest.Pass()
		change(b)
		got := diff.Compare(resulttest.Pass(), b, diff.Options{})
		require.Equal(t, []string{want}, got.Doubts)
		require.False(t, got.Comparable())
	}
}

func TestOptions(t *testing.T) {
	for _, x := range []float64{-0.1, math.NaN(), math.Inf(1), 1000} {
		require.Error(t, diff.Options{Tolerance: x}.Validate())
		require.Panics(t, func() { diff.Compare(resulttest.Pass(), resulttest.Pass(), diff.Options{Tolerance: x}) })
	}
	// Without tolerance the slack alone is left.
	b := resulttest.Pass()
	b.Latencies[0].P50 += 0.0009
	require.Empty(t, diff.Compare(resulttest.Pass(), b, diff.Options{}).Changes)
	b.Latencies[0].P50 += 0.0002
	require.True(t, diff.Compare(resulttest.Pass(), b, diff.Options{}).Regressed())
}

func TestText(t *testing.T) {
	b := later()
	b.Verdict.Outcome, b.Scenario.Name = result.Fail, "flapping\x1b[31m"
	var out strings.Builder
	require.NoError(t, diff.Compare(resulttest.Pass(), b, diff.Options{}).Text(&out))
	require.Equal(t, `not the same drill: isolate-region, then flapping?[31m
note     version: v0.3.0-41-gca5c5cf, then v9
note     seed: 7213, then 1
worse    verdict  PASS  -> FAIL
`, out.String())
	out.Reset()
	require.NoError(t, diff.Compare(b, b, diff.Options{}).Text(&out))
	require.Equal(t, "nothing changed\n", out.String())
}
