package lease

import (
	"math"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Observed is by how much the reports of holders show that a promise was
// exceeded, since the ledger opened, in the worst bucket of a quota: at least Low
// and at most High tokens. Reports come in lumps. Low counts each lump only in
// intervals that surely hold all of it, and nothing while a limit that changed may
// still be spent from as it was before; High is all that was spent unreserved,
// since leases and floors add nothing (of a window quota: in one window; of windows
// that a holder did not tell apart, as much as the policy lets it spend in one). What
// was not reported yet, or never will be, is in neither.
type Observed struct {
	Low, High     int64
	LowAt, HighAt time.Time // when they last rose, by the coordinator's wall clock
}

// worst is the interval of one token bucket in which the most was admitted
// beyond the rate: it began at from, and ends at at. Excess is what was admitted
// in it less (1+ρ)·r·T, never below 0.
type worst struct {
	excess   int64
	rem      uint64
	from, at time.Duration
}

// add takes tokens that were admitted after start and before now, and returns
// the excess. An interval that holds all of them may have to begin earlier.
func (w *worst) add(r bucket.Rate, drift Drift, start, now time.Duration, tokens int64) int64 {
	w.drain(r, drift, now)
	if start >= w.from {
		w.excess = plus(w.excess, tokens)
		return w.excess
	}
	earlier, _ := r.Accrue(drift.Outlast(w.from-start), 0, math.MaxInt64)
	// Without them the interval may still be the worst.
	if with := plus(w.excess, tokens) - earlier - 1; with > w.excess {
		w.excess, w.from = with, start
	}
	return w.excess
}

// drain brings the interval up to now. It begins anew when nothing is left of
// it.
func (w *worst) drain(r bucket.Rate, drift Drift, now time.Duration) {
	if now <= w.at {
		return
	}
	var accrued int64
	accrued, w.rem = r.Accrue(drift.Outlast(now-w.at), w.rem, math.MaxInt64)
	w.excess -= accrued
	w.at = now
	if w.excess <= 0 {
		*w = worst{from: now, at: now}
	}
}

// pastWindows are the last windows of a bucket of a quota with an inexact mode:
// what was spent in them, for the overspend that is reported late.
type pastWindows [8]struct{ window, spent, over int64 }

// at returns the place of a window, making one in the place of the oldest; nil
// for one that is older than all, or not known.
func (p *pastWindows) at(window int64) (spent, over *int64) {
	if window == 0 {
		return nil, nil
	}
	oldest := 0
	for i := range p {
		if p[i].window == window {
			return &p[i].spent, &p[i].over
		}
		if p[i].window < p[oldest].window {
			oldest = i
		}
	}
	if o := &p[oldest]; window > o.window {
		o.window, o.spent, o.over = window, 0, 0
		return &o.spent, &o.over
	}
	return nil, nil
}

// observe takes tokens that were spent of a bucket, from its lease, its floor or
// unreserved, after start. It is told of spends only: nothing depends on it.
func (l *Ledger) observe(now Moment, b *book, start time.Duration, tokens int64) {
	q := b.quota
	if tokens <= 0 || q.terms.Windowed || now.Mono < q.unsure || start < q.unsure {
		return // two limits counted then
	}
	if b.worst.from < q.unsure {
		b.worst = worst{from: now.Mono, at: now.Mono} // it began under another limit
	}
	over := b.worst.add(q.terms.Rate(), l.cfg.Drift, start, now.Mono, tokens) - q.terms.Burst
	q.observed.low(now, over)
}

// observeLease takes tokens that were spent in an account since its last report.
func (l *Ledger) observeLease(now Moment, b *book, a *account, tokens int64) {
	switch {
	case tokens <= 0:
	case b.quota.terms.Windowed:
		l.observeWindow(now, b, b.window, tokens, 0)
	case a.clock > 0:
		l.observe(now, b, a.clock, tokens)
	}
}

// observeRefund takes tokens that were put back into the pool: what may be spent
// once more is not spent in excess.
func (l *Ledger) observeRefund(now Moment, b *book, tokens int64) {
	switch {
	case tokens <= 0:
	case !b.quota.terms.Windowed:
		b.worst.drain(b.quota.terms.Rate(), l.cfg.Drift, now.Mono)
		b.worst.excess = max(0, b.worst.excess-tokens)
	case b.past != nil:
		if spent, _ := b.past.at(b.window); spent != nil {
			*spent -= tokens
		}
	}
}

// observeWindow takes tokens that were spent in a window of a window quota,
// unreserved or not.
func (l *Ledger) observeWindow(now Moment, b *book, window, tokens, unreserved int64) {
	q := b.quota
	if b.past == nil && !q.terms.Unreserved.Allows() {
		return // its record counts what is used, and allows no more
	}
	if b.past == nil {
		b.past = &pastWindows{}
	}
	spent, over := b.past.at(window)
	if spent == nil {
		return
	}
	*spent, *over = plus(*spent, tokens), plus(*over, unreserved)
	if window > q.unsureWindow {
		q.observed.low(now, plus(*spent, *over)-q.terms.Tokens)
	}
}

func (o *Observed) low(now Moment, tokens int64) {
	if tokens > o.Low {
		o.Low, o.LowAt = tokens, now.Wall
	}
}

func (o *Observed) high(now Moment, tokens int64) {
	if tokens > o.High {
		o.High, o.HighAt = tokens, now.Wall
	}
}
