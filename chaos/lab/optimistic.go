package lab

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// optimistic decides by a copy and tells later, like Gubernator's GLOBAL: a region
// answers from the last level that the owner of the limit told it, sends its hits to
// the owner every 100 ms, and the owner tells everybody the new level every
// 100 ms when it changed.
//
// It is kinder than that system in two ways: a region takes its own hits off its
// copy at once, and hits that were denied are not charged. Hits that are lost on
// the way are forgotten.
type optimistic struct {
	w       *world
	owner   bucket.TokenBucket
	taken   int64
	changed bool
	copies  []levelCopy
}

// levelCopy is what a region believes.
type levelCopy struct {
	level int64
	hits  int64 // not yet told
	asked bool  // something was denied since the last report
}

const optimisticInterval = 100 * time.Millisecond

func newOptimistic(w *world) system {
	s := &optimistic{w: w, owner: w.Limit.bucket(), copies: make([]levelCopy, w.K)}
	for i := range s.copies {
		s.copies[i].level = w.Limit.Burst
		w.every(optimisticInterval, w.phase(optimisticInterval), func() { s.report(i) })
	}
	w.every(optimisticInterval, 0, s.broadcast)
	return s
}

func (s *optimistic) ask(q *Request) {
	c := &s.copies[q.Region]
	if c.level < q.Cost {
		c.asked = true
		s.w.deny(q)
		return
	}
	c.level -= q.Cost
	c.hits += q.Cost
	s.w.admit(q)
}

func (s *optimistic) report(i int) {
	c := &s.copies[i]
	if c.hits == 0 && !c.asked {
		return
	}
	hits := c.hits
	c.hits, c.asked = 0, false
	s.w.traffic.Reports++
	s.w.send(i, upBytes, func() {
		s.taken += s.owner.TakeUpTo(s.w.now, hits)
		s.changed = true
	})
}

func (s *optimistic) broadcast() {
	if !s.changed {
		return
	}
	s.changed = false
	level := s.w.level(&s.owner)
	for i := range s.copies {
		s.w.traffic.Grants++
		s.w.send(i, downBytes, func() { s.copies[i].level = max(0, level-s.copies[i].hits) })
	}
}

func (s *optimistic) pool() (level, taken int64) { return s.w.level(&s.owner), s.taken }

// held is nothing: a copy is no token.
func (*optimistic) held(int) int64 { return 0 }
