package lab

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// sharers is what all models have in common in which a region spends from a
// bucket of its own whose rate is set from elsewhere.
type sharers struct {
	w       *world
	regions []sharer
}

// sharer is one region.
type sharer struct {
	bucket bucket.TokenBucket
	rate   float64 // tokens a second
	asked  int64   // since it was last measured
	since  time.Duration
	demand float64 // tokens a second, averaged
}

func newSharers(w *world) sharers {
	s := sharers{w: w, regions: make([]sharer, w.K)}
	for i := range s.regions {
		r := &s.regions[i]
		r.rate = float64(w.Limit.Rate) / float64(w.K)
		r.bucket = w.Limit.part(1 / float64(w.K))
	}
	return s
}

// ask decides from the region's bucket.
func (s *sharers) ask(q *Request) {
	r := &s.regions[q.Region]
	r.asked += q.Cost
	s.w.decide(q, &r.bucket)
}

// pool is empty: every part of the rate belongs to a region.
func (*sharers) pool() (level, taken int64) { return 0, 0 }

// held is the level of the region's bucket.
func (s *sharers) held(i int) int64 { return s.w.level(&s.regions[i].bucket) }

// set gives a region a rate, and the part of the burst that goes with it.
func (s *sharers) set(i int, rate float64) {
	r := &s.regions[i]
	r.rate = rate
	r.bucket.Reconfigure(s.w.now, perSecond(rate), s.w.Limit.burstOf(rate/float64(s.w.Limit.Rate)))
}

// measure takes what was asked since the last call into the average of demand:
// weight is how much the newest counts, from 0 to 1.
func (r *sharer) measure(now time.Duration, weight float64) {
	if now <= r.since {
		return
	}
	rate := float64(r.asked) / (now - r.since).Seconds()
	r.demand += weight * (rate - r.demand)
	r.asked, r.since = 0, now
}
