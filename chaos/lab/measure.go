package lab

import (
	"slices"
	"time"
)

// Result is what one system did with one scenario.
type Result struct {
	Scenario string
	Model    string

	Requests int64 // asked
	Admitted int64 // tokens
	Denied   int64 // requests
	// Used is Admitted in relation to what the ideal bucket admitted. A system
	// that overshoots can be above 1.
	Used float64
	// False is the part of all requests that was denied falsely, and Stranded the
	// part whose tokens were stranded (Agedness).
	False, Stranded float64
	Overshoot       overshoots // tokens
	Jain            float64

	// By million admitted tokens.
	Grants, Recalls, Reports, Bytes float64

	// Exposed is what regions held on average, in seconds of the limit's rate:
	// about what is lost when all of them crash, and what idles when none asks.
	Exposed float64
	// Waited is the part of all requests that did not get their answer at once,
	// and Slow the longest that one of a hundred of all requests took.
	Waited float64
	Slow   time.Duration
}

// result sums a run up.
func (w *world) result(scenario, model string, t *Trace, ideal int64) Result {
	r := Result{
		Scenario: scenario, Model: model, Requests: int64(len(t.Requests)), Denied: int64(len(w.denials)),
		Overshoot: measureOvershoot(w.Limit, w.log), Jain: jain(w.K, t.Requests, w.log),
	}
	r.Admitted = w.admitted()
	for i := range w.denials {
		if w.denials[i].untrue {
			r.False++
		}
		if w.denials[i].stranded {
			r.Stranded++
		}
	}
	asked := float64(max(1, r.Requests))
	r.False /= asked
	r.Stranded /= asked
	r.Used = float64(r.Admitted) / float64(max(1, ideal))
	millions := float64(max(1, r.Admitted)) / 1e6
	r.Grants = float64(w.traffic.Grants) / millions
	r.Recalls = float64(w.traffic.Recalls) / millions
	r.Reports = float64(w.traffic.Reports) / millions
	r.Bytes = float64(w.traffic.Bytes) / millions
	r.Exposed = w.aged.exposure() / float64(max(1, w.Limit.Rate))
	r.Waited = float64(len(w.waited)) / asked
	slices.Sort(w.waited)
	if beyond := len(t.Requests) / 100; len(w.waited) > beyond {
		r.Slow = w.waited[len(w.waited)-1-beyond]
	}
	return r
}

// admitted is the sum of all admissions.
func (w *world) admitted() (sum int64) {
	for i := range w.log {
		sum += w.log[i].cost
	}
	return sum
}

// Percent says a part of one for people.
func (*Result) Percent(v float64) string { return percent2(v) }
