package judge

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Stream judges a token bucket while admissions come in. It finds what
// TokenBucket.Overshoot finds of the same admissions, and keeps only those that
// were under way at the same time as one that it still has to expect.
//
// Its owner adds admissions in any order and promises now and then, by Advance,
// that everything sent before some moment was added. A Stream must not be used
// concurrently.
type Stream struct {
	promise TokenBucket
	scale   scale
	pending []Admission // not yet judged

	// starts are where intervals may begin, the earliest first. Those that no
	// admission to come can tell apart are one: the best of them.
	starts []start
	best   wide
	worst  Finding
	seen   bool
	now    time.Duration // of the last Advance
}

// start is where an interval may begin.
type start struct {
	from     time.Duration
	admitted int64 // sent there or later, and received
	worth    wide  // that, scaled, and what the time of from is worth
}

// NewStream returns a judge of the promise. It panics for one that Validate
// refuses.
func NewStream(p TokenBucket) *Stream {
	return &Stream{promise: p, scale: p.scale(), best: least(), worst: Finding{Over: -p.Burst}, now: math.MinInt64}
}

// Add notes an admission. One that was sent before the last Advance breaks the
// owner's promise; it is then taken for one that was sent at that moment, which
// may hide an overshoot and never makes one up.
func (s *Stream) Add(a Admission) {
	a.Sent = max(a.Sent, s.now)
	a.Received = max(a.Received, a.Sent)
	s.pending = append(s.pending, a)
}

// Advance says that every admission that was sent before now was added.
func (s *Stream) Advance(now time.Duration) {
	s.now = max(s.now, now)
	slices.SortFunc(s.pending, func(a, b Admission) int { return cmp.Compare(a.Received, b.Received) })
	n, _ := slices.BinarySearchFunc(s.pending, s.now, func(a Admission, t time.Duration) int {
		return cmp.Compare(a.Received, t)
	}) // the rest were received at now or later, like all that are still to come
	// horizon[i] is before every sending from pending[i] on.
	horizon := make([]time.Duration, len(s.pending)+1)
	horizon[len(s.pending)] = s.now
	for i := len(s.pending) - 1; i >= 0; i-- {
		horizon[i] = min(horizon[i+1], s.pending[i].Sent)
	}
	for i, a := range s.pending[:n] {
		s.judge(a)
		s.merge(horizon[i+1])
	}
	s.pending = append(s.pending[:0], s.pending[n:]...)
	s.merge(horizon[n])
}

// judge takes in the admission that was received next.
func (s *Stream) judge(a Admission) {
	cost := s.scale.token.times(a.Cost)
	at, found := slices.BinarySearchFunc(s.starts, a.Sent, func(b start, t time.Duration) int {
		return cmp.Compare(b.from, t)
	})
	if !found {
		n := start{from: a.Sent, worth: s.scale.time(a.Sent)}
		if at < len(s.starts) { // what was sent after it counts for it too
			later := s.starts[at]
			n.admitted = later.admitted
			n.worth = n.worth.plus(later.worth).minus(s.scale.time(later.from))
		}
		s.starts = slices.Insert(s.starts, at, n)
	}
	end := s.scale.time(a.Received)
	for i := range s.starts {
		b := &s.starts[i]
		if i <= at {
			b.admitted += a.Cost
			b.worth = b.worth.plus(cost)
		}
		if v := b.worth.minus(end); v.above(s.best) {
			s.best, s.seen = v, true
			s.worst = Finding{From: b.from, To: a.Received, Admitted: b.admitted}
		}
	}
}

// merge keeps the best of the starts up to horizon: whatever comes counts for
// all of them alike.
func (s *Stream) merge(horizon time.Duration) {
	n, best := 0, 0
	for ; n < len(s.starts) && s.starts[n].from <= horizon; n++ {
		if s.starts[n].worth.above(s.starts[best].worth) {
			best = n
		}
	}
	if n > 1 {
		s.starts = append(s.starts[:0], append([]start{s.starts[best]}, s.starts[n:]...)...)
	}
}

// Worst returns the finding over all that was judged so far.
func (s *Stream) Worst() Finding {
	f := s.worst
	if s.seen {
		f.Over = s.promise.over(f)
	}
	if f.Over < -s.promise.Burst {
		return Finding{Over: -s.promise.Burst}
	}
	return f
}

// Kept returns how many admissions and starts are kept, for those who bound
// memory.
func (s *Stream) Kept() int { return len(s.pending) + len(s.starts) }
