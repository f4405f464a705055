package chaos

import "github.com/a1009580/leasehold/lease"

// simplePlan and simpleAllocate are what plays use: easy to follow by eye, and
// not changed whenever package reconcile learns something.

// simplePlan asks for 8 when fewer than 2 are left, for what was refused, and
// gives back what it did not use for a while.
func simplePlan(u *lease.Usage) lease.Plan {
	p := lease.Plan{Keep: 16, Low: 2}
	if u.Unspent < 2 {
		p.Ask.Want = 8
	}
	if u.MaxRefused > u.Unspent {
		p.Ask.Need = u.MaxRefused
		p.Ask.Want = max(8, u.MaxRefused)
	}
	return p
}

// simpleAllocate gives each in turn what it wants. Whoever needs more than is
// there has the others asked to give back.
func simpleAllocate(s *lease.Situation, targets []lease.Target) {
	free, short := s.Free, false
	for i := range s.Asks {
		a := &s.Asks[i]
		give := min(free, max(0, max(a.Ask.Want, a.Ask.Need)-a.Outstanding))
		free -= give
		targets[i].Hold = a.Outstanding + give
		short = short || a.Ask.Need > targets[i].Hold
	}
	for i := range s.Asks {
		if a := &s.Asks[i]; short && a.Ask.Need == 0 && a.Outstanding > 2 {
			targets[i] = lease.Target{Hold: 2, Recall: true}
		}
	}
}
