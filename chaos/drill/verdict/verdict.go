package verdict

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Of judges a result by everything in it but its own verdict. A result that says
// nothing is INCONCLUSIVE.
func Of(r *result.Result) result.Verdict {
	doubts := doubts(r)
	broken := append(exceeded(r), brokenInvariants(r)...)
	unmet := unmetExpectations(r)
	if Attributable(r) {
		broken = append(broken, unmet...)
		unmet = nil
	}
	v := result.Verdict{Reasons: []string{}}
	switch {
	case len(broken) > 0:
		v.Outcome = result.Fail
		v.Reasons = append(append(append(v.Reasons, broken...), unmet...), doubts...)
	case len(doubts) > 0:
		v.Outcome = result.Inconclusive
		v.Reasons = append(append(v.Reasons, doubts...), unmet...)
	default:
		v.Outcome = result.Pass
	}
	v.Sentence = sentence(r, v)
	return v
}

// Over returns by how many tokens the promise was exceeded, or below 0 how many
// were left: the larger of the two figures that say it, should they disagree.
func Over(o *result.Overshoot) int64 {
	if o.Observed > 0 {
		return max(o.Observed, o.Closest)
	}
	return o.Closest
}

// exceeded has one line for each bucket of which more was seen than the bound
// allows.
func exceeded(r *result.Result) []string {
	var lines []string
	names := r.BucketNames()
	for i := range r.Overshoots {
		o := &r.Overshoots[i]
		if o.Bound == nil || Over(o) <= *o.Bound {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s was exceeded by %s within %.1f s, %s beyond the bound of %s",
			names[i], tokens(Over(o)), o.Worst.ToSeconds-o.Worst.FromSeconds, humanize.Comma(Over(o)-*o.Bound), humanize.Comma(*o.Bound)))
	}
	return lines
}

func brokenInvariants(r *result.Result) []string {
	var lines []string
	for _, c := range r.Invariants {
		if c.Outcome == result.Broken {
			lines = append(lines, "an invariant was broken: "+checked(c))
		}
	}
	return lines
}

func unmetExpectations(r *result.Result) []string {
	var lines []string
	for _, c := range r.Hypotheses {
		if c.Outcome == result.Broken {
			lines = append(lines, "an expectation was not met: "+checked(c))
		}
	}
	return lines
}

// Attributable says that what was measured under the faults was measured of a
// system that was healthy without them, and with them.
func Attributable(r *result.Result) bool {
	return len(unproven(r)) == 0 && len(r.Evidence.BaselineProblems) == 0
}

// checked tells a check in words.
func checked(c result.Check) string {
	if c.Observed == "" {
		return c.Statement
	}
	if c.Expected == "" {
		return fmt.Sprintf("%s (observed %s)", c.Statement, c.Observed)
	}
	return fmt.Sprintf("%s (expected %s, observed %s)", c.Statement, c.Expected, c.Observed)
}

// tokens writes a number of them.
func tokens(n int64) string {
	if n == 1 || n == -1 {
		return humanize.Comma(n) + " token"
	}
	return humanize.Comma(n) + " tokens"
}
