package verdict

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// MissingAllowed is the share of the expected samples, in percent, that may be
// missing. What is sampled is cumulative or lasts, so that a sample that came too
// late on a busy machine hides nothing; a process that stopped answering does.
const MissingAllowed = 1

// doubts are why a run does not prove what it looks like, the gravest first.
func doubts(r *result.Result) []string {
	var lines []string
	if s := r.Stopped; s != nil {
		lines = append(lines, fmt.Sprintf("the run was stopped after %.1f s: %s", s.AtSeconds, s.Reason))
	}
	for _, rule := range []func(*result.Result) []string{
		unproven, unhealthy, underLoaded, unsampled, unlooked,
	} {
		lines = append(lines, rule(r)...)
	}
	return lines
}

// unproven are the faults of which nobody saw that they bit.
func unproven(r *result.Result) []string {
	if len(r.Faults) == 0 {
		return []string{"no fault was injected"}
	}
	var lines []string
	for _, f := range r.Faults {
		if f.Bite.Proven {
			continue
		}
		line := fmt.Sprintf("the fault %q was not proven to bite", f.Name)
		if what := strings.Join(f.Targets, ", "); what != "" {
			line = fmt.Sprintf("the fault %q on %s was not proven to bite", f.Name, what)
		}
		if f.Bite.Detail != "" {
			line += ": " + f.Bite.Detail
		}
		lines = append(lines, line)
	}
	return lines
}

// unhealthy says what was wrong before any fault.
func unhealthy(r *result.Result) []string {
	var lines []string
	for _, p := range r.Evidence.BaselineProblems {
		lines = append(lines, "the baseline was not healthy: "+p)
	}
	for _, kind := range []result.PhaseKind{result.Baseline, result.Faulty, result.Healed} {
		// That a run which was stopped did not come to a phase is said already.
		if r.Stopped == nil && !has(r.Phases, kind) {
			lines = append(lines, fmt.Sprintf("the run has no phase of the kind %q", kind))
		}
	}
	return lines
}

func has(phases []result.Phase, kind result.PhaseKind) bool {
	for _, p := range phases {
		if p.Kind == kind {
			return true
		}
	}
	return false
}

// underLoaded are the phases in which the limit was not under pressure: there
// nothing could be exceeded.
func underLoaded(r *result.Result) []string {
	if len(r.Evidence.Load) == 0 {
		return []string{"the load was not measured"}
	}
	var lines []string
	for _, l := range r.Evidence.Load {
		if !l.Above {
			lines = append(lines, fmt.Sprintf("the load was not above the limit throughout %q: %s asked for in its weakest second, and the limit admits %s",
				l.Phase, tokens(int64(l.LeastPerSecond)), humanize.Comma(int64(l.LimitPerSecond))))
		}
	}
	return lines
}

// unsampled says what was not measured.
func unsampled(r *result.Result) []string {
	var lines []string
	if len(r.Overshoots) == 0 {
		lines = append(lines, "no bucket was judged")
	}
	s := r.Evidence.Samples
	switch {
	case s.Expected <= 0 || s.Taken <= 0:
		lines = append(lines, "no samples were taken")
	case s.Missing*100 > s.Expected*MissingAllowed:
		lines = append(lines, fmt.Sprintf("samples are missing: %s of %s", humanize.Comma(s.Missing), humanize.Comma(s.Expected)))
	}
	return lines
}

// unlooked are the expectations that the run never came to. An invariant that was
// not exercised is none: no drill exercises all of them.
func unlooked(r *result.Result) []string {
	var lines []string
	for _, c := range r.Hypotheses {
		if c.Outcome != result.Held && c.Outcome != result.Broken {
			lines = append(lines, "an expectation was not exercised: "+c.Statement)
		}
	}
	return lines
}
