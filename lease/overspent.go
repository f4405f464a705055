package lease

import (
	"fmt"
	"maps"
	"time"
)

// overKey names what one holder spent unreserved of one bucket in one cut and
// window: a counter that only grows.
type overKey struct {
	bucket BucketID
	cut    uint64
	window int64
}

// maxOverKeys bounds the counters of overspend that are remembered of one
// holder, and the buckets whose overspend is summed up one by one. Beyond the
// first, overspend is not counted; beyond the second, High is that of the whole
// quota.
const maxOverKeys = 1 << 16

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
	if s.newer(r) {
		maps.DeleteFunc(h.over, func(k overKey, _ int64) bool { return r.Owes == 0 || k.cut < r.Owes })
	}
	for i := range r.Overspent {
		o := &r.Overspent[i]
		if o.Tokens < 0 || o.Span < 0 || len(o.Bucket.Key) > MaxKeyLen {
			return fmt.Errorf("%w: an overspend is out of range", ErrSession)
		}
		if h.over == nil {
			h.over = map[overKey]int64{}
		}
		key := overKey{o.Bucket, o.Cut, o.Window}
		seen, known := h.over[key]
		if more := o.Tokens - seen; more > 0 && (known || len(h.over) < maxOverKeys) {
			if !mutated("overspend counted again") {
				h.over[key] = o.Tokens
			}
			l.overspent(now, o, r.Clock-l.cfg.Drift.Outlast(o.Span), more)
		}
	}
	return nil
}

// overspent counts tokens that were spent unreserved after start.
func (l *Ledger) overspent(now Moment, o *Overspend, start time.Duration, tokens int64) {
	q := l.quota(o.Bucket.Quota)
	if q == nil {
		return
	}
	q.overspent += tokens
	b := l.lookup(o.Bucket)
	if b != nil {
		l.load(b) // so that it is swept, and forgotten when it may be
	}
	if q.terms.Windowed {
		if b != nil {
			l.observeWindow(now, b, o.Window, 0, tokens)
		}
		return
	}
	if b != nil {
		l.observe(now, b, start, tokens)
	}
	total, known := l.overs[o.Bucket]
	if !known && len(l.overs) >= maxOverKeys {
		q.observed.high(now, q.overspent)
		return
	}
	if l.overs == nil {
		l.overs = map[BucketID]int64{}
	}
	l.overs[o.Bucket] = total + tokens
	q.observed.high(now, total+tokens)
}

// takeFloorSpent counts what a holder spent from its floor since its last report
// of a bucket.
func (l *Ledger) takeFloorSpent(now Moment, b *book, r *Report, clock time.Duration) {
	b.quota.floorSpent += r.FloorSpent
	l.observe(now, b, clock-l.cfg.Drift.Outlast(r.Span), r.FloorSpent)
}
