// Package diff tells what changed between two results of one drill, and whether
// any of it is a regression.
//
// A regression is a change for the worse in what a drill says for certain: its
// verdict, a check that passed, a bound that grew or was exceeded, or something
// that is no longer looked at. Times vary from run to run. They are a regression
// only beyond a tolerance, and only when both runs were made on machines that look
// alike. What was observed below its bound is told and never judged: it is luck.
//
// The package is pure.
package diff

import (
	"fmt"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Kind says what a change means.
type Kind string

// The kinds of changes.
const (
	Worse   Kind = "worse" // a regression
	Better  Kind = "better"
	Changed Kind = "changed" // neither, or it cannot be told
)

// Change is one difference.
type Change struct {
	Kind   Kind   `json:"kind"`
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Comparison is what Compare found.
type Comparison struct {
	// Doubts are why the two cannot be compared: they are not of the same drill.
	// Changes are told all the same.
	Doubts []string `json:"doubts"`
	// Notes are differences of the surroundings that explain others.
	Notes   []string `json:"notes"`
	Changes []Change `json:"changes"`
}

// Options are what Compare tolerates.
type Options struct {
	// Tolerance is the share by which a time may grow, 0 or more: 0.25 is a quarter.
	// Besides, latencies may grow by a millisecond and recoveries by 100 ms, below
	// which they are the scheduler's.
	Tolerance float64
}

// DefaultTolerance is what two runs on one machine stay within as a rule.
const DefaultTolerance = 0.25

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if !(o.Tolerance >= 0 && o.Tolerance < 1000) {
		return fmt.Errorf("tolerance %v: must be 0 or more, and below 1000", o.Tolerance)
	}
	return nil
}

// Comparable says whether both are results of the same drill.
func (c *Comparison) Comparable() bool { return len(c.Doubts) == 0 }

// Regressed says whether something became worse.
func (c *Comparison) Regressed() bool {
	for _, x := range c.Changes {
		if x.Kind == Worse {
			return true
		}
	}
	return false
}

// Compare tells what changed from one result to a later one. It panics for options
// that Validate refuses.
func Compare(before, after *result.Result, o Options) *Comparison {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	c := &comparer{Comparison: Comparison{Doubts: []string{}, Notes: []string{}, Changes: []Change{}}, tolerance: o.Tolerance}
	c.surroundings(before, after)
	c.verdict(before.Verdict.Outcome, after.Verdict.Outcome)
	c.overshoots(before, after)
	c.checks("expectation", before.Hypotheses, after.Hypotheses)
	c.checks("invariant", before.Invariants, after.Invariants)
	c.latencies(before.Latencies, after.Latencies)
	c.recoveries(before.Recovery, after.Recovery)
	return &c.Comparison
}

// comparer collects what Compare finds.
type comparer struct {
	Comparison
	tolerance float64
	// untimed says that times are not judged.
	untimed bool
}

func (c *comparer) add(k Kind, what, before, after string) {
	c.Changes = append(c.Changes, Change{Kind: k, What: what, Before: before, After: after})
}

// surroundings compares what was run, and where.
func (c *comparer) surroundings(before, after *result.Result) {
	a, b := &before.Reproduction, &after.Reproduction
	differ := func(list *[]string, what, x, y string) bool {
		if x != y {
			*list = append(*list, fmt.Sprintf("%s: %s, then %s", what, x, y))
		}
		return x != y
	}
	if !differ(&c.Doubts, "drill", before.Scenario.Name, after.Scenario.Name) {
		differ(&c.Doubts, "scenario (SHA-256)", a.ScenarioSHA256, b.ScenarioSHA256)
	}
	differ(&c.Doubts, "time scale", fmt.Sprint(a.TimeScale), fmt.Sprint(b.TimeScale))
	differ(&c.Notes, "version", a.Version, b.Version)
	differ(&c.Notes, "seed", fmt.Sprint(a.Seed), fmt.Sprint(b.Seed))
	c.untimed = differ(&c.Notes, "system", a.System, b.System)
	c.untimed = differ(&c.Notes, "CPUs", fmt.Sprint(a.CPUs), fmt.Sprint(b.CPUs)) || c.untimed
	c.untimed = differ(&c.Notes, "processes apart by", a.Mode, b.Mode) || c.untimed
	if c.untimed {
		c.Notes = append(c.Notes, "times are told and not judged: the runs were made in different surroundings")
	}
}

// verdict compares outcomes. A PASS that is no longer proven is a regression; a FAIL
// that is no longer proven is no progress.
func (c *comparer) verdict(before, after result.Outcome) {
	if before == after {
		return
	}
	kind := Changed
	switch {
	case after == result.Fail || before == result.Pass:
		kind = Worse
	case after == result.Pass:
		kind = Better
	}
	c.add(kind, "verdict", string(before), string(after))
}
