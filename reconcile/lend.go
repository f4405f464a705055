package reconcile

import "github.com/a1009580/leasehold/lease"

// lent says how much of a bucket one holder may be lent: one part of so many.
const lent = 16

// lend gives holders a part of what nobody wants, so that a burst finds tokens
// where it comes, and not a round trip away. Of the spare each of n holders may have
// one part of 2n+1, and no more than a sixteenth of the bucket: half stays in the pool,
// where it serves whoever comes, a round trip later, while what is lent serves one
// region alone. It is not on top of what a holder
// asks for: who asks for more is bridged by that.
//
// A holder is lent to when it asks, and when it has used up a quarter of its part.
// What is lent does not count as wanted, so it is the first to be recalled.
func lend(s *lease.Situation, nodes map[string]int64, targets []lease.Target, spare int64) {
	if !s.Lend || spare <= 0 {
		return
	}
	each := min(spare/int64(2*len(s.Asks)+1), s.Limit/lent)
	for i := range s.Asks {
		a := &s.Asks[i]
		idle := a.Ask.Demand == 0 && a.Ask.Want == 0
		if idle || a.Ask.Want == 0 && a.Outstanding >= each-each/4 {
			continue
		}
		part := each
		if a.Region.Max > 0 {
			part = min(part, a.Region.Max/nodes[a.Region.Region])
		}
		if more := min(part-targets[i].Hold, spare); more > 0 {
			targets[i].Hold += more
			spare -= more
		}
	}
}
