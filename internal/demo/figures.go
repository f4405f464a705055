package demo

import (
	"github.com/a1009580/leasehold/lease"
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

// bound is the most by which any bucket of the target's domain may exceed its
// promise.
func (t *target) bound() (tokens int64, bounded bool) {
	for _, q := range t.domain.Quotas {
		if q.Limit.Unbounded {
			continue
		}
		b := partition.Bound(q, lease.DefaultDrift, nil)
		if !b.Exact {
			return 0, false // nobody counts here what is cut
		}
		tokens = max(tokens, b.Tokens)
	}
	return tokens, true
}

// figures reads them.
func (d *demo) figures() figures {
	f := figures{}
	f.bound, f.bounded = d.target.bound()
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
