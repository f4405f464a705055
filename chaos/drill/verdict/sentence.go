package verdict

import (
	"fmt"
	"strings"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// sentence says a verdict so that it can be read alone.
func sentence(r *result.Result, v result.Verdict) string {
	title := r.Scenario.Title
	if title == "" {
		title = r.Scenario.Name
	}
	if title == "" {
		title = "This drill"
	}
	title = strings.TrimRight(title, ".")
	switch v.Outcome {
	case result.Pass:
		return fmt.Sprintf("%s: %s%s.", title, kept(r), met(r))
	case result.Fail:
		return fmt.Sprintf("%s: %s%s.", title, v.Reasons[0], more(len(v.Reasons)-1))
	case result.Inconclusive:
	}
	return fmt.Sprintf("%s: nothing is proven, because %s%s.", title, v.Reasons[0], more(len(v.Reasons)-1))
}

// kept tells of the bucket that came closest to its bound.
func kept(r *result.Result) string {
	var closest *result.Overshoot
	for i := range r.Overshoots {
		o := &r.Overshoots[i]
		if o.Bound != nil && (closest == nil || *o.Bound-Over(o) < *closest.Bound-Over(closest)) {
			closest = o
		}
	}
	if closest == nil {
		return fmt.Sprintf("the policy sets no bound, and the promise was exceeded by %s", tokens(max(0, most(r))))
	}
	if *closest.Bound == 0 {
		return fmt.Sprintf("the limit held in every interval, with %s to spare in the closest", tokens(-Over(closest)))
	}
	return fmt.Sprintf("the bound of %s held in every interval, with %s to spare in the closest",
		tokens(*closest.Bound), tokens(*closest.Bound-Over(closest)))
}

func most(r *result.Result) int64 {
	over := Over(&r.Overshoots[0])
	for i := range r.Overshoots {
		over = max(over, Over(&r.Overshoots[i]))
	}
	return over
}

// met tells of the expectations.
func met(r *result.Result) string {
	switch n := len(r.Hypotheses); n {
	case 0:
		return ""
	case 1:
		return ", and the expectation was met"
	case 2:
		return ", and both expectations were met"
	default:
		return fmt.Sprintf(", and all %d expectations were met", n)
	}
}

func more(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " (and one more reason)"
	default:
		return fmt.Sprintf(" (and %d more reasons)", n)
	}
}
