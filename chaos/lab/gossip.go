package lab

import "time"

// gossip has no center: every 50 ms each region sends a part of what it knows of
// the sum of all demand to two others, by push-sum (Kempe, Dobra and Gehrke, FOCS
// 2003), and spends at the rate that its own demand is in proportion to that sum,
// like the flow-proportional share of distributed rate limiting. A region that is
// never asked keeps a hundredth of an equal share, so that it can begin.
//
// Joining, leaving and repair are not modeled. A message that is lost takes its
// part of value and weight along, which leaves the estimate in order.
type gossip struct {
	sharers

	sums []pushSum
}

// pushSum is a region's part of the sum: value over weight is the mean demand.
type pushSum struct {
	value, weight float64
	told          float64 // its own demand as it is in the sum
}

const (
	gossipInterval = 50 * time.Millisecond
	gossipFanOut   = 2
)

func newGossip(w *world) system {
	s := &gossip{sharers: newSharers(w), sums: make([]pushSum, w.K)}
	for i := range s.sums {
		s.sums[i].weight = 1
		w.every(gossipInterval, w.phase(gossipInterval), func() { s.beat(i) })
	}
	return s
}

func (s *gossip) beat(i int) {
	r, p := &s.regions[i], &s.sums[i]
	r.measure(s.w.now, 0.1) // half a second
	rate := float64(s.w.Limit.Rate)
	own := max(r.demand, rate/float64(s.w.K)/100)
	p.value += own - p.told
	p.told = own
	if p.weight > 0 {
		total := max(own, p.value/p.weight*float64(s.w.K))
		s.set(i, rate*own/total)
	}
	part := pushSum{value: p.value / (gossipFanOut + 1), weight: p.weight / (gossipFanOut + 1)}
	p.value, p.weight = part.value, part.weight
	for range gossipFanOut {
		to := (i + 1 + s.w.dice.IntN(s.w.K-1)) % s.w.K
		way := (s.w.Net.roundTrip(i, s.w.K) + s.w.Net.roundTrip(to, s.w.K)) / 4
		s.w.traffic.Reports++
		s.w.carry(way, upBytes, func() {
			s.sums[to].value += part.value
			s.sums[to].weight += part.weight
		})
	}
}
