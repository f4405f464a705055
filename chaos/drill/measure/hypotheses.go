package measure

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

// Promise is the hypothesis of every drill, from what was judged.
func Promise(all []result.Overshoot) result.Check {
	c := result.Check{
		ID: "promise", Statement: "what all regions together admit stays within the promise and its bound, over every interval",
		Outcome: result.NotExercised,
	}
	for i := range all {
		o := &all[i]
		if o.Worst.Admitted == 0 {
			continue // nothing was admitted
		}
		c.Expected, c.Observed = "no bound", fmt.Sprintf("%d tokens beyond the promise", o.Observed)
		if o.Bound != nil {
			c.Expected = fmt.Sprintf("at most %d tokens beyond the promise", *o.Bound)
		}
		if o.Bound != nil && o.Closest > *o.Bound {
			c.Outcome = result.Broken
			return c
		}
		c.Outcome = result.Held
	}
	return c
}

// Check judges what a scenario expects.
func (r *Record) Check(e scenario.Expectation) result.Check {
	c := result.Check{ID: e.ID(), Outcome: result.NotExercised, Observed: "the run did not come to it"}
	switch e.Kind {
	case scenario.Admitted:
		r.checkAdmitted(e, &c)
	case scenario.Recovers:
		c.Statement = "the limit is used again after the last fault, " + r.where(e.Region)
		c.Expected = fmt.Sprintf("%.0f%% of it, for a second, within %v", 100*e.Least, e.Within)
		r.within(&c, e.Within, r.Healed, func(from time.Duration) (time.Duration, bool) {
			return r.Recovered(r.index(e.Region), from, e.Least)
		})
	case scenario.Leads:
		c.Statement = "a coordinator grants under a newer epoch"
		c.Expected = fmt.Sprintf("within %v of the first fault", e.Within)
		r.within(&c, e.Within, r.Struck, r.GrantsAnew)
	case scenario.StaysReady:
		r.checkReady(e, &c)
	case scenario.NoticesLoss:
		r.checkHistory(&c)
	case scenario.Adopts:
		c.Statement = "every region adopts the new policy"
		c.Expected = fmt.Sprintf("within %v of the end of the last fault", e.Within)
		r.within(&c, e.Within, r.Healed, r.Adopted)
	}
	return c
}

func (r *Record) index(region string) int {
	for i, name := range r.Regions {
		if name == region {
			return i
		}
	}
	return -1
}

func (*Record) where(region string) string {
	if region == "" {
		return "by all regions together"
	}
	return "by " + region
}

func (r *Record) checkAdmitted(e scenario.Expectation, c *result.Check) {
	c.Statement = fmt.Sprintf("what is admitted in the phase %s, %s", e.Phase, r.where(e.Region))
	if e.After > 0 {
		c.Statement += fmt.Sprintf(", after its first %v", e.After)
	}
	switch {
	case e.Most == nil:
		c.Expected = fmt.Sprintf("at least %.0f%% of what the limit's rate allows", 100*e.Least)
	case e.Least == 0:
		c.Expected = fmt.Sprintf("at most %.0f%% of what the limit's rate allows", 100**e.Most)
	default:
		c.Expected = fmt.Sprintf("%.0f%% to %.0f%% of what the limit's rate allows", 100*e.Least, 100**e.Most)
	}
	p, ok := r.Phase(result.PhaseKind(e.Phase))
	if !ok || p.From+e.After >= p.To {
		return
	}
	use := r.Use(r.index(e.Region), p.From+e.After, p.To)
	c.Observed = fmt.Sprintf("%.1f%%", 100*use)
	c.Outcome = result.Held
	if use < e.Least || e.Most != nil && use > *e.Most {
		c.Outcome = result.Broken
	}
}

// within judges how long after a moment something came.
func (r *Record) within(c *result.Check, most time.Duration, when func() (time.Duration, bool), took func(time.Duration) (time.Duration, bool)) {
	from, ok := when()
	if !ok {
		return
	}
	d, ok := took(from)
	switch {
	case !ok && r.End() < from+most:
		c.Observed = "not before the run ended, which was sooner"
	case !ok:
		c.Outcome, c.Observed = result.Broken, "not before the run ended"
	default:
		c.Outcome, c.Observed = result.Held, fmt.Sprintf("after %.1f s", d.Seconds())
		if d > most {
			c.Outcome = result.Broken
		}
	}
}

// checkReady looks at every answer of a region.
func (r *Record) checkReady(e scenario.Expectation, c *result.Check) {
	i := r.index(e.Region)
	var wrong []string
	for _, s := range r.OfRegions[i] {
		if s.State != "ready" && s.State != "degraded" {
			wrong = append(wrong, fmt.Sprintf("%s at %.1f s", s.State, s.At.Seconds()))
		}
	}
	id := c.ID
	*c = verdict(result.Check{
		Statement: e.Region + " says throughout that it should be kept in its load balancer", Expected: "ready or degraded",
		Observed: fmt.Sprintf("so in %d answers", len(r.OfRegions[i])),
	}, len(r.OfRegions[i]), wrong)
	c.ID = id
}

// checkHistory looks whether the history rose.
func (r *Record) checkHistory(c *result.Check) {
	c.Statement, c.Expected = "a store that lost its past is noticed (law 13)", "the history, which an epoch begins with, rises"
	var first, last int64
	for _, s := range r.OfCoordinators {
		if s.Leads && s.Epoch.History > 0 {
			if first == 0 {
				first = s.Epoch.History
			}
			last = max(last, s.Epoch.History)
		}
	}
	if healed, ok := r.Healed(); !ok || r.End() <= healed {
		return
	}
	c.Observed, c.Outcome = fmt.Sprintf("from %d to %d", first, last), result.Held
	if last <= first {
		c.Outcome = result.Broken
	}
}

// Adopted is how long after a moment every region had the newest policy that any
// of them, or a coordinator, has at the end; there must be more than one.
func (r *Record) Adopted(from time.Duration) (time.Duration, bool) {
	var first, last uint64
	for _, s := range r.OfCoordinators {
		if s.Granting && first == 0 {
			first = s.Revision
		}
		last = max(last, s.Revision)
	}
	if last == first {
		return 0, false
	}
	for at := from; at <= r.End(); at += Step {
		all := true
		for i := range r.Regions {
			s, ok := r.regionAt(i, at)
			all = all && ok && s.Revision == last
		}
		if all {
			return at - from, true
		}
	}
	return 0, false
}
