package lease

import (
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// overKey names what one holder spent unreserved of one bucket in one cut and
// window: a counter that only grows.
type overKey struct {
	bucket BucketID
	cut    uint64
	window int64
}

// maxOverKeys bounds the buckets, and windows of buckets, whose overspend is summed
// up one by one. Beyond it each holder's part counts by itself.
const maxOverKeys = 1 << 16

// maxCounters bounds the counters of overspend of all holders that are remembered: as
// many as there may be buckets. What is told beyond it counts, but counts again
// when it is told again.
func (l *Ledger) maxCounters() int { return max(maxOverKeys, l.cfg.MaxBuckets) }

// newer says that a batch, or this part of it, was not heard before.
func (s *session) newer(r *ReportBatch) bool {
	return !s.heard || r.Sent > s.lastSent || r.Sent == s.lastSent && r.Part > s.lastPart
}

// takeOverspent counts what a holder spent unreserved: each counter is merged by
// max, so that what is told twice counts once.
func (l *Ledger) takeOverspent(now Moment, s *session, r *ReportBatch) error {
	if len(r.Overspent) > MaxBatchReports || len(r.Cuts) > MaxBatchReports {
		return fmt.Errorf("%w: %d overspends and %d cuts in one batch, at most %d", ErrSession, len(r.Overspent), len(r.Cuts), MaxBatchReports)
	}
	h := &l.holders.list[s.holder]
	if s.newer(r) && r.Owes != h.owes {
		h.owes = r.Owes
		l.dropCounters(h, func(k overKey) bool { return r.Owes == 0 || k.cut < r.Owes })
	}
	for i := range r.Overspent {
		o := &r.Overspent[i]
		if o.Tokens < 0 || o.Span < 0 || len(o.Bucket.Key) > MaxKeyLen {
			return fmt.Errorf("%w: an overspend is out of range", ErrSession)
		}
		q := l.quota(o.Bucket.Quota)
		if q == nil {
			continue
		}
		more, sure := l.count(h, q, o)
		if more > 0 {
			l.overspent(now, q, o, max(0, r.Clock)-l.cfg.Drift.Outlast(o.Span), more, sure)
		}
	}
	return nil
}

// count merges one counter of a holder by max, and returns by how much it grew. It
// is not sure when there was no room to remember it.
func (l *Ledger) count(h *holderState, q *quota, o *Overspend) (more int64, sure bool) {
	tokens := min(o.Tokens, bucket.MaxTokens)
	key := overKey{BucketID{Quota: q.terms.Quota, Key: o.Bucket.Key}, o.Cut, o.Window}
	seen, known := h.over[key]
	switch {
	case tokens <= seen:
		return 0, true
	case !known && l.counters >= l.maxCounters():
		return tokens, false
	case mutated("overspend counted again"):
		return tokens - seen, true
	}
	if h.over == nil {
		h.over = map[overKey]int64{}
	}
	if !known {
		l.counters++
	}
	h.over[key] = tokens
	return tokens - seen, true
}

// dropCounters forgets some counters of a holder, of which it tells nothing more.
func (l *Ledger) dropCounters(h *holderState, gone func(overKey) bool) {
	before := len(h.over)
	maps.DeleteFunc(h.over, func(k overKey, _ int64) bool { return gone(k) })
	l.counters -= before - len(h.over)
	if len(h.over) == 0 {
		h.over = nil // a map keeps the room of what it lost
	}
}

// overspent counts tokens that were spent unreserved after start. If they may have
// been counted before, they are in no figure that says how much it was at least.
func (l *Ledger) overspent(now Moment, q *quota, o *Overspend, start time.Duration, tokens int64, sure bool) {
	q.overspent = plus(q.overspent, tokens)
	q.observed.high(now, l.sumOver(q, o, tokens))
	b := l.lookup(o.Bucket)
	if b == nil {
		return
	}
	l.load(b) // so that it is swept, and forgotten when it may be
	switch {
	case !sure:
	case q.terms.Windowed:
		l.observeWindow(now, b, o.Window, 0, tokens)
	default:
		l.observe(now, b, start, tokens)
	}
}

// overOf is a bucket, of a window quota one window of it: 0 stands for those that
// were not told apart.
type overOf struct {
	bucket BucketID
	window int64
}

// sumOver adds what a counter grew by, and returns how many tokens were spent
// unreserved of the bucket since the ledger opened, of a window quota in the same
// window. Of windows that were not told apart it takes the most that a holder may
// spend in one of them. When there is no room for the sum it is the counter alone.
func (l *Ledger) sumOver(q *quota, o *Overspend, more int64) int64 {
	of := overOf{bucket: BucketID{Quota: q.terms.Quota, Key: o.Bucket.Key}}
	tokens := min(o.Tokens, bucket.MaxTokens)
	if q.terms.Windowed {
		of.window = o.Window
	}
	if q.terms.Windowed && o.Window == 0 {
		most := q.mostInWindow()
		more = min(tokens, most) - min(tokens-more, most)
		tokens = min(tokens, most)
	}
	sum, known := l.overs[of]
	if !known && len(l.overs) >= maxOverKeys {
		return tokens
	}
	if l.overs == nil {
		l.overs = map[overOf]int64{}
	}
	l.overs[of] = plus(sum, more)
	return l.overs[of]
}

// mostInWindow is the most that one holder may spend unreserved of a bucket in a
// window.
func (q *quota) mostInWindow() int64 {
	u := &q.terms.Unreserved
	if u.Unbounded || !u.Allows() {
		return math.MaxInt64
	}
	start, end := q.terms.Windows.Bounds(q.window.High)
	accrued, _ := u.Rate.Accrue(end.Sub(start), 0, bucket.MaxTokens)
	return plus(u.Burst, accrued+1)
}

// plus adds amounts that are not negative, and saturates.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// takeFloorSpent counts what a holder spent from its floor since its last report
// of a bucket.
func (l *Ledger) takeFloorSpent(now Moment, b *book, r *Report, clock time.Duration) {
	tokens := min(r.FloorSpent, bucket.MaxTokens)
	b.quota.floorSpent = plus(b.quota.floorSpent, tokens)
	l.observe(now, b, max(0, clock)-l.cfg.Drift.Outlast(r.Span), tokens)
}
