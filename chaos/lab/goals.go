package lab

import (
	"fmt"
	"strings"
	"time"
)

// Goal is one of the goals for rebalancing of the design, and what was measured.
type Goal struct {
	What     string
	Goal     string
	Measured string // the worst
	Where    string
	Met      bool
}

// worst keeps the worst of some figures.
type worst struct {
	value float64
	where string
	any   bool
}

// see takes a figure of which more is worse.
func (w *worst) see(value float64, where string) {
	if !w.any || value > w.value {
		w.value, w.where, w.any = value, where, true
	}
}

// judge compares ours with the goals of the design. What was not measured in this
// report is left out.
func (r *Report) judge() {
	var near, far, untrue, overshoot, unfair, slow, count, moving worst
	for i := range r.Results {
		x := &r.Results[i]
		if x.Model != Ours {
			continue
		}
		switch {
		case strings.Contains(x.Scenario, "100 ms") && !strings.Contains(x.Scenario, "lost"):
			near.see(1-x.Used, x.Scenario)
		case strings.Contains(x.Scenario, ", 300 ms, 5% lost"):
			far.see(1-x.Used, x.Scenario)
		}
		untrue.see(x.False, x.Scenario)
		overshoot.see(float64(x.Overshoot.Any), x.Scenario)
		unfair.see(1-x.Jain, x.Scenario)
	}
	for i := range r.Settled {
		s := &r.Settled[i]
		if s.Model == Ours {
			goal := 2*s.RoundTrip + reportInterval
			for _, t := range s.Times {
				if t < 0 {
					t = settleEvery
				}
				slow.see(float64(t)/float64(goal), fmt.Sprintf("%v at a round trip of %v", t, s.RoundTrip))
			}
		}
	}
	for i := range r.Exhausted {
		e := &r.Exhausted[i]
		where := fmt.Sprintf("%d tokens, k=%d, %s", e.Tokens, e.K, e.Load)
		if e.Goal > 2 {
			moving.see(e.Ratio, where)
		} else {
			count.see(e.Ratio, where)
		}
	}
	percent := func(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }
	r.goal("over-admission", "0", overshoot, overshoot.value == 0, fmt.Sprintf("%.0f tokens", overshoot.value))
	r.goal("use of the budget at 100 ms", "at least 99.5% of ideal", near, near.value <= 0.005, percent(1-near.value))
	r.goal("use of the budget at 300 ms and 5% lost", "at least 98% of ideal", far, far.value <= 0.02, percent(1-far.value))
	r.goal("false denials", "at most 0.1% of requests", untrue, untrue.value <= 0.001, percent(untrue.value))
	r.goal("fairness", "Jain at least 0.999", unfair, unfair.value <= 0.001, fmt.Sprintf("%.4f", 1-unfair.value))
	r.goal("settling", "2 round trips and one report", slow, slow.value <= 1, fmt.Sprintf("%.1f times that", slow.value))
	r.goal("coordination", "at most 1.75 · k·log2(M/k)", count, count.value <= 1.75, fmt.Sprintf("%.2f", count.value))
	r.goal("coordination, moving hotspot", "at most 2.5 · k·log2(M/k)", moving, moving.value <= 2.5, fmt.Sprintf("%.2f", moving.value))
}

func (r *Report) goal(what, goal string, w worst, met bool, measured string) {
	if w.any {
		r.Goals = append(r.Goals, Goal{What: what, Goal: goal, Measured: measured, Where: w.where, Met: met})
	}
}

// never says a duration in which below 0 is never.
func never(d time.Duration) string {
	if d < 0 {
		return "never"
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
