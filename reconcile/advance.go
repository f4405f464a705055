package reconcile

import (
	"math"
	"time"

	"github.com/a1009580/leasehold/lease"
)

const (
	// farthest is for how long a holder is given tokens of a window quota at most:
	// its crash loses them until the window ends.
	farthest = 3 * time.Second
	// remnant is what is worth no further halving: what lasts so long is given out.
	remnant = 600 * time.Millisecond
)

// advance gives holders that ask for tokens of a window quota half of what all of
// it will still last for at the present demand. So a quota of M tokens is
// used up from k holders with about log2(M/k) grants to each, however long that
// takes, and no holder has much when the others run out. It is the halving of the
// (M,W)-controller with W = 0 (Afek, Awerbuch, Plotkin and Saks, "Local management of
// a global resource in a communication network", JACM 43(1), 1996).
func advance(s *lease.Situation, nodes map[string]int64, targets []lease.Target, spare int64) {
	if !s.Ahead || spare <= 0 {
		return
	}
	var demand int64
	total := s.Free
	for i := range s.Asks {
		demand += s.Asks[i].Ask.Demand
		total += s.Asks[i].Outstanding
	}
	if demand == 0 {
		return
	}
	far := halfLife(total, demand)
	for i := range s.Asks {
		a := &s.Asks[i]
		if a.Ask.Want == 0 {
			continue
		}
		size := over(a.Ask.Demand, far)
		if a.Region.Max > 0 {
			size = min(size, a.Region.Max/nodes[a.Region.Region])
		}
		if more := min(size-targets[i].Hold, spare); more > 0 {
			targets[i].Hold += more
			spare -= more
		}
	}
}

// halfLife is half the time that a total lasts at a demand, all of it when that is not
// worth halving, and farthest at most.
func halfLife(total, demand int64) time.Duration {
	lasts := time.Duration(min(mulDiv(total, milli*int64(time.Second), demand), math.MaxInt64/2))
	if lasts > 2*remnant {
		lasts /= 2
	}
	return min(lasts, farthest)
}
