package diff

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
)

// gone stands for what the later result does not have, and the earlier had.
const gone = "not there"

// overshoots compares bound and observed of each bucket.
func (c *comparer) overshoots(before, after *result.Result) {
	names := after.BucketNames()
	later := make(map[string]*result.Overshoot, len(names))
	for i, name := range names {
		later[name] = &after.Overshoots[i]
	}
	for i, what := range before.BucketNames() {
		a := &before.Overshoots[i]
		b, ok := later[what]
		if !ok {
			c.add(Worse, "bucket "+what, "judged", gone)
			continue
		}
		delete(later, what)
		c.bound("bound of "+what, a.Bound, b.Bound)
		c.observed("observed of "+what, a, b)
	}
	for _, name := range names {
		if later[name] != nil {
			c.add(Changed, "bucket "+name, gone, "judged")
		}
	}
}

// byName indexes a list.
func byName[T any](list []T, name func(*T) string) map[string]*T {
	m := make(map[string]*T, len(list))
	for i := range list {
		m[name(&list[i])] = &list[i]
	}
	return m
}

// bound compares two, of which nil is the largest: none.
func (c *comparer) bound(what string, before, after *int64) {
	switch {
	case before == nil && after == nil || before != nil && after != nil && *before == *after:
		return
	case after == nil || before != nil && *after > *before:
		c.add(Worse, what, tokens(before), tokens(after))
	default:
		c.add(Better, what, tokens(before), tokens(after))
	}
}

func tokens(n *int64) string {
	if n == nil {
		return "unbounded"
	}
	return humanize.Comma(*n)
}

func (c *comparer) observed(what string, before, after *result.Overshoot) {
	x, y := verdict.Over(before), verdict.Over(after)
	broken := func(o *result.Overshoot) bool { return o.Bound != nil && verdict.Over(o) > *o.Bound }
	kind := Changed
	switch {
	case broken(after) && (!broken(before) || y > x):
		kind = Worse
	case broken(before) && !broken(after):
		kind = Better
	case max(x, 0) == max(y, 0): // how much was to spare differs from run to run
		return
	}
	c.add(kind, what, humanize.Comma(x), humanize.Comma(y))
}

// checks compares expectations or invariants by their ID.
func (c *comparer) checks(what string, before, after []result.Check) {
	id := func(x *result.Check) string { return x.ID }
	later := byName(after, id)
	for i := range before {
		a := &before[i]
		b, ok := later[a.ID]
		if !ok {
			c.add(Worse, what+" "+a.ID, outcome(a), gone)
			continue
		}
		delete(later, a.ID)
		if a.Outcome != b.Outcome {
			c.add(checkKind(a.Outcome, b.Outcome), what+" "+a.ID, outcome(a), outcome(b))
		}
	}
	for i := range after {
		if b := &after[i]; later[b.ID] != nil {
			kind := Changed
			if b.Outcome == result.Broken {
				kind = Worse
			}
			c.add(kind, what+" "+b.ID, gone, outcome(b))
		}
	}
}

// checkKind says what a check's new outcome means: one that passed and is not
// exercised any more is a loss.
func checkKind(before, after result.CheckOutcome) Kind {
	switch {
	case after == result.Broken || before == result.Held:
		return Worse
	case after == result.Held:
		return Better
	}
	return Changed
}

// outcome tells a check's outcome with what was seen.
func outcome(c *result.Check) string {
	if c.Observed == "" {
		return string(c.Outcome)
	}
	return fmt.Sprintf("%s (%s)", c.Outcome, c.Observed)
}
