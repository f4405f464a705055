package lab

import "github.com/a1009580/leasehold/bucket"

// static gives every region an equal part of rate and burst for good. It sends
// no messages.
type static struct {
	w       *world
	regions []bucket.TokenBucket
}

func newStatic(w *world) system {
	s := &static{w: w, regions: make([]bucket.TokenBucket, w.K)}
	for i := range s.regions {
		s.regions[i] = w.Limit.part(1 / float64(w.K))
	}
	return s
}

func (s *static) ask(q *Request) { s.w.decide(q, &s.regions[q.Region]) }

func (*static) pool() (level, taken int64) { return 0, 0 }

func (s *static) held(i int) int64 { return s.w.level(&s.regions[i]) }

// decide admits from a region's own bucket.
func (w *world) decide(q *Request, b *bucket.TokenBucket) {
	if b.Take(w.now, q.Cost).OK {
		w.admit(q)
		return
	}
	w.deny(q)
}

// level is what a bucket holds now.
func (w *world) level(b *bucket.TokenBucket) int64 {
	b.Advance(w.now)
	return max(0, b.Level)
}
