package lab

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// central asks the center for every request. Its caller waits for the answer,
// and takes none within the time-out as a denial; tokens of an answer that was
// lost are lost. Connections, load and queues at the center are not modeled.
type central struct {
	w      *world
	bucket bucket.TokenBucket
	taken  int64
}

const (
	centralTimeout = 500 * time.Millisecond
	// The sizes that messages of the models are taken to have: about what a
	// report and a grant of one bucket take in our own encoding.
	upBytes, downBytes = 70, 70
)

func newCentral(w *world) system { return &central{w: w, bucket: w.Limit.bucket()} }

func (s *central) ask(q *Request) {
	answered := false
	s.w.traffic.Reports++
	s.w.send(q.Region, upBytes, func() {
		ok := s.bucket.Take(s.w.now, q.Cost).OK
		if ok {
			s.taken += q.Cost
		}
		s.w.traffic.Grants++
		s.w.send(q.Region, downBytes, func() {
			switch {
			case answered:
				return
			case ok:
				s.w.admit(q)
			default:
				s.w.deny(q)
			}
			answered = true
		})
	})
	s.w.after(centralTimeout, func() {
		if !answered {
			answered = true
			s.w.deny(q)
		}
	})
}

func (s *central) pool() (level, taken int64) { return s.w.level(&s.bucket), s.taken }

func (*central) held(int) int64 { return 0 }
