package lab

import "github.com/a1009580/leasehold/bucket"

// Ideal is one bucket that all regions share without any delay.
var Ideal = Model{"ideal", "one bucket, instantly seen by all", func(w *world) system {
	return &ideal{w: w, bucket: w.Limit.bucket()}
}}

type ideal struct {
	w      *world
	bucket bucket.TokenBucket
	taken  int64
}

func (s *ideal) ask(q *Request) {
	if !s.bucket.Take(s.w.now, q.Cost).OK {
		s.w.deny(q)
		return
	}
	s.taken += q.Cost
	s.w.admit(q)
}

func (s *ideal) pool() (level, taken int64) {
	s.bucket.Advance(s.w.now)
	return s.bucket.Level, s.taken
}

func (s *ideal) held(int) int64 { return 0 }
