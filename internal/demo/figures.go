package demo

import (
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/partition"
)

// figures are the numbers that an operator reads.
type figures struct {
	leased   int64 // in the regions, unspent
	stranded int64 // of that, with regions that have no session
	bound    int64
	bounded  bool
	over     int64 // by the judge; below 0 it is what was left
	judged   bool  // something was admitted
}

func (f *figures) boundText() string {
	if !f.bounded {
		return "none"
	}
	return number(f.bound)
}

func (f *figures) marginText() string {
	if !f.bounded || !f.judged {
		return "-"
	}
	return number(f.bound - f.over)
}

// bound is the most by which any bucket of the target's domain can have exceeded
// its promise until now, by the cuts that all regions had.
func (t *target) bound(regions []limiter.Cuts) (tokens int64, bounded bool) {
	for _, q := range t.domain.Quotas {
		if q.Limit.Unbounded {
			continue
		}
		var sum partition.Result
		for i := range regions {
			sum = sum.Plus(regions[i].Bound(q.ID))
		}
		if sum.Unbounded {
			return 0, false
		}
		tokens = max(tokens, sum.Tokens)
	}
	return tokens, true
}

// figures reads them.
func (d *demo) figures() figures {
	f := figures{}
	var cuts []limiter.Cuts
	for _, p := range d.world.places {
		cuts = append(cuts, p.limiter.Cuts())
	}
	f.bound, f.bounded = d.target.bound(cuts)
	f.over, f.judged = d.score.over()
	for _, p := range d.world.places {
		leased, _ := p.leased()
		f.leased += leased
	}
	if t, leads := d.world.coordinator.Totals(); leads {
		f.stranded = t.Stranded
	}
	return f
}
