package lab

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// trickle models a global bucket from which nodes request tokens for about 10 s,
// like CockroachDB's distributed token bucket. A node asks when what it has lasts
// for less than a second; of its load it keeps an average that halves every
// second. If the global bucket has what is asked for, it is granted at once. Else
// the node is given its share of the refill rate, by its load, for 10 s, out of
// which it trickles; the bucket is charged at once and may be in debt, and debt
// beyond ten seconds of refill lowers the rate that is shared.
//
// Two things differ: a node there makes requests wait and never denies, and its
// shares count a backlog, of which there is none here.
type trickle struct {
	w      *world
	global bucket.TokenBucket
	taken  int64
	shares []float64
	nodes  []node
}

// node is one region.
type node struct {
	sharer

	local    bucket.TokenBucket
	asking   bool
	question uint64
	until    time.Duration // of the trickle
}

const (
	tricklePeriod  = 10 * time.Second
	trickleTimeout = time.Second
)

func newTrickle(w *world) system {
	s := &trickle{w: w, global: w.Limit.bucket(), shares: make([]float64, w.K), nodes: make([]node, w.K)}
	for i := range s.nodes {
		s.nodes[i].local = bucket.Empty(0, bucket.Rate{Per: time.Second}, max(w.Limit.Burst, w.Limit.Rate*10))
		w.every(time.Second, w.phase(time.Second), func() {
			s.nodes[i].measure(w.now, 0.5)
			s.look(i, 0)
		})
	}
	return s
}

func (s *trickle) ask(q *Request) {
	n := &s.nodes[q.Region]
	n.asked += q.Cost
	ok := n.local.Take(s.w.now, q.Cost).OK
	if ok {
		s.w.admit(q)
	} else {
		s.w.deny(q)
	}
	if !ok || s.low(n) {
		s.look(q.Region, q.Cost)
	}
}

// low says that what a node has lasts for less than a second.
func (s *trickle) low(n *node) bool { return float64(n.local.Level) < n.demand }

// look asks the global bucket if the node runs low and nothing is under way. A
// first sign of load asks for its own cost.
func (s *trickle) look(i int, cost int64) {
	n := &s.nodes[i]
	n.local.Advance(s.w.now)
	if n.asking || !s.low(n) && cost == 0 || s.w.now < n.until-time.Second {
		return
	}
	wanted := max(cost, int64(n.demand*tricklePeriod.Seconds())-n.local.Level)
	if wanted <= 0 {
		return
	}
	n.asking = true
	n.question++
	number, demand := n.question, n.demand
	s.w.traffic.Reports++
	s.w.send(i, upBytes, func() {
		granted, over := s.request(i, wanted, demand)
		s.w.traffic.Grants++
		s.w.send(i, downBytes, func() { s.granted(i, granted, over) })
	})
	s.w.after(trickleTimeout, func() {
		if n.question == number {
			n.asking = false
		}
	})
}

// request is the global bucket's answer: tokens at once, or over a time.
func (s *trickle) request(i int, wanted int64, demand float64) (granted int64, over time.Duration) {
	s.shares[i] = demand
	s.global.Advance(s.w.now)
	if s.global.Level >= wanted {
		s.global.Debit(s.w.now, wanted)
		s.taken += wanted
		return wanted, 0
	}
	sum := 0.0
	for _, v := range s.shares {
		sum += v
	}
	if sum == 0 {
		return 0, 0
	}
	rate := float64(s.w.Limit.Rate)
	if debt := float64(-s.global.Level) - rate*tricklePeriod.Seconds(); debt > 0 {
		rate = max(0, rate-debt/tricklePeriod.Seconds())
	}
	share := rate * demand / sum
	granted = min(wanted, int64(share*tricklePeriod.Seconds()))
	if granted <= 0 {
		return 0, 0
	}
	s.global.Debit(s.w.now, granted)
	s.taken += granted
	return granted, min(tricklePeriod, time.Duration(float64(granted)/share*float64(time.Second)))
}

// granted brings an answer into a node's bucket.
func (s *trickle) granted(i int, tokens int64, over time.Duration) {
	n := &s.nodes[i]
	n.asking = false
	n.question++
	n.local.Advance(s.w.now)
	if over == 0 {
		n.local.Level = min(n.local.Burst, n.local.Level+tokens)
		return
	}
	n.until = s.w.now + over
	n.local.Rate = bucket.Rate{Tokens: tokens, Per: over}
	n.local.Rem = 0
	until := n.until
	s.w.after(over, func() {
		if n.local.Advance(s.w.now); n.until == until {
			n.local.Rate, n.local.Rem = bucket.Rate{Per: time.Second}, 0
		}
	})
}

func (s *trickle) pool() (level, taken int64) { return s.w.level(&s.global), s.taken }

func (s *trickle) held(i int) int64 { return s.w.level(&s.nodes[i].local) }
