package chaos

import "github.com/a1009580/leasehold/lease"

// wildAllocate answers by dice. The laws hold whatever an allocator answers.
func (w *World) wildAllocate(s *lease.Situation, targets []lease.Target) {
	for i := range targets {
		targets[i].Hold = w.wildRNG.between(0, s.Limit+s.Limit/2+1)
		targets[i].Recall = w.wildRNG.n(4) == 0
		if w.wildRNG.n(3) == 0 {
			targets[i].Hold = s.Asks[i].Outstanding + w.wildRNG.between(0, s.Free)
		}
	}
}

// wildPlan asks by dice.
func (w *World) wildPlan(u *lease.Usage) lease.Plan {
	r := w.wildRNG
	p := lease.Plan{Keep: r.between(0, 2*u.Limit+1), Low: r.between(0, u.Limit+1)}
	p.Ask.Demand = r.between(0, 1_000_000)
	if r.n(2) == 0 {
		p.Ask.Want = r.between(0, u.Limit+1)
	}
	if r.n(8) == 0 {
		p.Ask.Need = r.between(0, u.Limit+1)
	}
	return p
}
