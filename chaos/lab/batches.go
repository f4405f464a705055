package lab

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// batches has every region fetch tokens from the center in batches of one size,
// ahead of need: it asks when less than half a batch is left, one question at a
// time. What it fetched it keeps until it is used, however long that takes, and
// the center does not count it any more. All batches together are half of the
// burst. Asking again after nothing came waits 100 ms, after a loss a second.
type batches struct {
	w       *world
	bucket  bucket.TokenBucket
	taken   int64
	size    int64
	regions []fetcher
}

// fetcher is one region.
type fetcher struct {
	left   int64
	asked  uint64 // number of the question
	asking bool
}

const (
	batchRetry   = 100 * time.Millisecond
	batchTimeout = time.Second
)

func newBatches(w *world) system {
	return &batches{
		w: w, bucket: w.Limit.bucket(), regions: make([]fetcher, w.K),
		size: max(1, w.Limit.Burst/int64(2*w.K)),
	}
}

func (s *batches) ask(q *Request) {
	r := &s.regions[q.Region]
	ok := r.left >= q.Cost
	if ok {
		r.left -= q.Cost
		s.w.admit(q)
	} else {
		s.w.deny(q)
	}
	if !ok || 2*r.left < s.size {
		s.fetch(q.Region, max(s.size, q.Cost))
	}
}

// fetch asks for a batch unless a question is under way.
func (s *batches) fetch(i int, n int64) {
	r := &s.regions[i]
	if r.asking {
		return
	}
	r.asked++
	r.asking = true
	number := r.asked
	free := func() {
		if r.asked == number {
			r.asking = false
		}
	}
	s.w.traffic.Reports++
	s.w.send(i, upBytes, func() {
		got := s.bucket.TakeUpTo(s.w.now, n)
		s.taken += got
		s.w.traffic.Grants++
		s.w.send(i, downBytes, func() {
			r.left += got
			if got > 0 {
				free()
				return
			}
			s.w.after(batchRetry, free)
		})
	})
	s.w.after(batchTimeout, free)
}

func (s *batches) pool() (level, taken int64) { return s.w.level(&s.bucket), s.taken }

func (s *batches) held(i int) int64 { return s.regions[i].left }
