package resulttest

import (
	"fmt"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// latencies are those of a machine that was a little slower under the fault.
func (s story) latencies() []result.Latency {
	var lines []result.Latency
	for i, p := range s.phases() {
		slower := []float64{1, 1.35, 1.08}[i]
		n := int64((p.ToSeconds - p.FromSeconds) * 960)
		lines = append(lines, latency(p.Name, "", n, slower))
		for k, region := range regions {
			lines = append(lines, latency(p.Name, region, n/3, slower*(1+float64(k)*0.06)))
		}
	}
	return lines
}

func latency(phase, region string, n int64, slower float64) result.Latency {
	return result.Latency{
		Phase: phase, Region: region, Requests: n,
		P50: 0.000184 * slower, P99: 0.00131 * slower, P999: 0.0069 * slower * slower, Max: 0.0214 * slower * slower,
	}
}

// blast sums up the lanes by phase.
func blast(r *result.Result) []result.Impact {
	var lines []result.Impact
	baseline := map[string]float64{}
	for _, p := range r.Phases {
		from, to := int(p.FromSeconds/r.Timeline.StepSeconds+0.5), int(p.ToSeconds/r.Timeline.StepSeconds+0.5)
		for _, l := range r.Timeline.Regions {
			i := result.Impact{Phase: p.Name, Region: l.Region}
			for step := from; step < to; step++ {
				i.Admitted += l.Admitted[step]
				i.Denied += l.Denied[step]
				i.Failed += l.Failed[step]
			}
			i.Requests = i.Admitted + i.Denied + i.Failed
			i.AdmittedPerSecond = float64(i.Admitted) / (p.ToSeconds - p.FromSeconds)
			if p.Kind == result.Baseline {
				baseline[l.Region] = i.AdmittedPerSecond
			}
			share := i.AdmittedPerSecond / baseline[l.Region]
			i.OfBaseline = &share
			lines = append(lines, i)
		}
	}
	return lines
}

// hypotheses are judged by what the lanes show.
func (s story) hypotheses(r *result.Result) []result.Check {
	checks := []result.Check{
		{ID: "floor", Statement: "eu goes on admitting its floor while it is cut off", Expected: "at least 50 tokens/s"},
		{ID: "others", Statement: "us and ap admit what eu cannot", Expected: "at least 430 tokens/s together"},
		{ID: "latency", Statement: "decisions stay local: the 99th percentile under the fault", Expected: "at most 10 ms", Observed: "1.77 ms", Outcome: result.Held},
		{ID: "recovers", Statement: "eu leases again after the heal", Expected: "within 3 s"},
	}
	for _, i := range r.Blast {
		if i.Phase == string(result.Faulty) && i.Region == "eu" {
			checks[0].Observed, checks[0].Outcome = fmt.Sprintf("%.0f tokens/s", i.AdmittedPerSecond), result.Held
		}
	}
	checks[1].Observed, checks[1].Outcome = "436 tokens/s", result.Held
	checks[3].Observed, checks[3].Outcome = "after 0.31 s", result.Held
	if s.noCut {
		checks[1].Observed, checks[1].Outcome = "333 tokens/s", result.Broken
		checks[3].Observed, checks[3].Outcome = "never stopped", result.NotExercised
	}
	if s.steps < cutTo {
		checks[3].Observed, checks[3].Outcome = "", result.NotExercised
	}
	return checks
}

func (s story) invariants() []result.Check {
	checks := []result.Check{
		{ID: "books", Statement: "the books balance: the ledger's imbalance is 0 at every sample", Expected: "0", Observed: "0", Outcome: result.Held},
		{ID: "overspent", Statement: "no report of more than was granted", Expected: "0", Observed: "0", Outcome: result.Held},
		{ID: "one-leader", Statement: "at most one coordinator grants", Expected: "at most 1", Observed: "1", Outcome: result.Held},
		{ID: "bounds-agree", Statement: "the system's bound is the drill's", Expected: "0", Observed: "0", Outcome: result.Held},
		{ID: "history", Statement: "a store that lost its past is noticed", Outcome: result.NotExercised},
	}
	if s.overspend > 0 {
		checks[1].Observed, checks[1].Outcome = "63 reports", result.Broken
	}
	return checks
}

func (s story) evidence(r *result.Result) result.Evidence {
	e := result.Evidence{
		BaselineProblems: []string{},
		Samples:          result.Samples{Expected: int64(s.steps) * 5, Taken: int64(s.steps)*5 - 2, Missing: 2},
	}
	for _, p := range r.Phases {
		e.Load = append(e.Load, result.Load{
			Phase: p.Name, OfferedPerSecond: 961.2, LeastPerSecond: 944, LimitPerSecond: limit, Above: true,
		})
	}
	return e
}

func (s story) recovery() []result.Recovery {
	heal, rebalance := 0.31, 1.12
	lines := []result.Recovery{
		{Name: "heal", What: "eu-1 leases again", Seconds: &heal},
		{Name: "rebalance", What: "each region within 5% of its share", Seconds: &rebalance},
	}
	if s.noCut || s.steps < allSteps {
		lines[0].Seconds, lines[1].Seconds = nil, nil
	}
	return lines
}
