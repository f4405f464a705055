package reconcile

import "github.com/a1009580/leasehold/lease"

// Allocate is a lease.Allocator. It divides what is free and what is held
// among those who ask: a cost that had to be refused is collected first, the
// rest goes in weighted max-min shares, first of what each cannot do without until
// it can be given more, then of what each wants. It recalls from who
// has more than its share only while another goes short; while nobody does, it lends
// what is left.
func Allocate(s *lease.Situation, targets []lease.Target) {
	if len(s.Asks) == 0 {
		return
	}
	total := s.Free
	wishes := make([]int64, len(s.Asks))
	nodes := holdersByRegion(s.Asks)
	for i, a := range s.Asks {
		total += a.Outstanding
		wishes[i] = min(max(a.Ask.Want, a.Ask.Need, a.Outstanding), s.Limit)
		if most := a.Region.Max / nodes[a.Region.Region]; a.Region.Max > 0 {
			wishes[i] = min(wishes[i], most)
		}
		targets[i].Hold = a.Outstanding
	}
	shares := divide(s, nodes, wishes, total)
	short := fill(s, shares, targets, collect(s, shares, targets, s.Free))
	if short == 0 {
		free := s.Free
		for i := range targets {
			free -= max(0, targets[i].Hold-s.Asks[i].Outstanding)
		}
		lend(s, nodes, targets, free)
		advance(s, nodes, targets, free)
		return
	}
	for i, a := range s.Asks {
		if a.Outstanding > shares[i]+shares[i]/4+1 {
			targets[i] = lease.Target{Hold: shares[i], Recall: true}
		}
	}
}

// divide gives everyone its share of a total: all that it wishes if that is there.
// Else what a holder has beyond what lasts until its next chance is worth
// nothing to it while another denies, so what lasts that long is divided first, and
// the wishes divide the rest.
func divide(s *lease.Situation, nodes map[string]int64, wishes []int64, total int64) []int64 {
	urgent := make([]int64, len(wishes))
	var wished, pressing int64
	for i := range wishes {
		urgent[i] = min(wishes[i], max(s.Asks[i].Ask.Need, lasting(s, &s.Asks[i])))
		pressing += urgent[i]
		wished += wishes[i]
	}
	if wished <= total {
		return wishes
	}
	if pressing >= total {
		return bounded(s, nodes, urgent, total)
	}
	rest := make([]int64, len(wishes))
	for i := range wishes {
		rest[i] = wishes[i] - urgent[i]
	}
	shares := bounded(s, nodes, rest, total-pressing)
	for i := range shares {
		shares[i] += urgent[i]
	}
	return shares
}

// collect serves the costs that had to be refused, whole and ahead of shares,
// in turns. While the tokens for one of them are not there, its share is
// raised to it, so that surplus is recalled from the others; what is in demand
// elsewhere is not withheld, as a central bucket would not withhold it.
func collect(s *lease.Situation, shares []int64, targets []lease.Target, free int64) (left int64) {
	n := uint64(len(s.Asks))
	for k := uint64(0); k < n; k++ {
		i := (k + s.Turn) % n
		a := &s.Asks[i]
		lack := min(a.Ask.Need, s.Limit) - a.Outstanding
		if lack <= 0 {
			continue
		}
		shares[i] = max(shares[i], a.Ask.Need)
		if lack > free {
			continue
		}
		targets[i].Hold = a.Outstanding + lack
		free -= lack
	}
	return free
}

// fill gives what is free to those below their shares, in proportion to what
// they lack; what rounding leaves goes to one after the other. Those who were given
// some a moment ago come after all others, as what they are given would wait.
// It returns how much is lacking then.
func fill(s *lease.Situation, shares []int64, targets []lease.Target, free int64) (short int64) {
	for _, later := range []bool{false, true} {
		given, lack := fillSome(s, shares, targets, free, later)
		free -= given
		short += lack - given
	}
	return short
}

// fillSome is fill for those who were given some a moment ago, or for the others.
func fillSome(s *lease.Situation, shares []int64, targets []lease.Target, free int64, later bool) (given, lack int64) {
	lacking := func(i int) int64 {
		if s.Asks[i].Later != later {
			return 0
		}
		return max(0, shares[i]-targets[i].Hold)
	}
	for i := range targets {
		lack += lacking(i)
	}
	give := min(free, lack)
	if give == 0 {
		return 0, lack
	}
	left := give
	for i := range targets {
		g := mulDiv(give, lacking(i), lack)
		targets[i].Hold += g
		left -= g
	}
	n := uint64(len(targets))
	for k := uint64(0); k < n && left > 0; k++ {
		if i := (k + s.Turn) % n; lacking(int(i)) > 0 {
			targets[i].Hold++
			left--
		}
	}
	return give, lack
}

// bounded gives every region the least that its policy promises it, as far as
// it wants it and the total goes, and divides the rest by max-min.
func bounded(s *lease.Situation, nodes map[string]int64, wishes []int64, total int64) []int64 {
	const whole = 1 << 20 // of a region's weight
	weights := make([]int64, len(s.Asks))
	least := make([]int64, len(s.Asks))
	var promised int64
	for i := range s.Asks {
		r := &s.Asks[i].Region
		weights[i] = max(1, mulDiv(r.Weight, whole, nodes[r.Region]))
		least[i] = min(wishes[i], r.Min/nodes[r.Region])
		promised += least[i]
	}
	if promised == 0 {
		return Shares(wishes, weights, total, s.Turn)
	}
	if promised >= total {
		return Shares(least, weights, total, s.Turn)
	}
	for i := range wishes {
		wishes[i] -= least[i]
	}
	shares := Shares(wishes, weights, total-promised, s.Turn)
	for i := range shares {
		shares[i] += least[i]
	}
	return shares
}

// holdersByRegion counts the holders of each region.
func holdersByRegion(asks []lease.HolderAsk) map[string]int64 {
	nodes := make(map[string]int64, len(asks))
	for i := range asks {
		nodes[asks[i].Region.Region]++
	}
	return nodes
}
