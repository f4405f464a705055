package limiter

import (
	"context"
	"errors"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Allow decides about a request of its own cost. An error says that there is no
// decision: the request is malformed, its domain unknown, ctx has ended, or the
// limiter is not ready or closed. Nothing is then taken.
func (l *Limiter) Allow(ctx context.Context, req Request) (Decision, error) {
	return l.AllowN(ctx, req, req.cost())
}

// AllowN decides about a cost of n, whatever req.Cost says. A cost of 0 takes
// nothing and asks whether a cost of 1 would be admitted now.
//
// It answers from memory, unless a bucket is not known here yet: then it waits
// for the first lease, at most Options.ColdWait and not after ctx has ended.
func (l *Limiter) AllowN(ctx context.Context, req Request, n int64) (Decision, error) {
	s := l.scratch.Get().(*scratch) //nolint:errcheck // the pool holds nothing else
	defer l.release(s)
	d, _, err := l.decide(ctx, req, n, s)
	return d, err
}

// decide is AllowN in a scratch, and tells the verdict behind the decision: it
// means nothing when no quota has a bucket for the request.
func (l *Limiter) decide(ctx context.Context, req Request, n int64, s *scratch) (Decision, lease.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, lease.Verdict{}, err
	}
	if n < 0 {
		return Decision{}, lease.Verdict{}, ErrNegativeCost
	}
	if err := l.match(req.Domain, req.Descriptor, s); err != nil {
		var d Decision
		if errors.Is(err, ErrHasRules) {
			d, err = l.byRule(ctx, req, n)
		}
		return d, lease.Verdict{}, err
	}
	if len(s.cells) == 0 {
		return s.free(), lease.Verdict{}, nil
	}
	v, err := l.take(ctx, req, s, n)
	if err != nil {
		return Decision{}, v, err
	}
	d := l.answer(&s.matched, &v, n)
	return d, v, nil
}

// free decides when no quota has a bucket for the request.
func (m *matched) free() Decision {
	switch {
	case m.unbounded != nil:
		m.unbounded.tally.add(countAllowed)
		return Decision{Allowed: true, Reason: Unbounded, Quota: m.unbounded.ID}
	case m.domain.Unmatched == policy.Deny:
		m.rules.noQuota[m.domain.Name].add(countExhausted)
		return Decision{Reason: Unmatched}
	default:
		m.rules.noQuota[m.domain.Name].add(countAllowed)
		return Decision{Allowed: true, Reason: NoQuota}
	}
}

// take decides, and looks again when a cell was given up meanwhile or a bucket
// is cold.
func (l *Limiter) take(ctx context.Context, req Request, s *scratch, n int64) (lease.Verdict, error) {
	for {
		v := lease.Decide(l.now, s.cells, n)
		switch {
		case v.Outcome == lease.Forgotten:
			if err := l.match(req.Domain, req.Descriptor, s); err != nil {
				return v, err
			}
			continue
		case v.Outcome == lease.Cold && l.opts.ColdWait > 0 && l.reached():
			v = l.awaitFirst(ctx, s.cells, n, v)
			if v.Outcome == lease.Forgotten {
				continue
			}
		}
		return v, nil
	}
}

// awaitFirst waits for the first lease of a cold cell, at most until ctx ends
// or ColdWait is over, and decides anew whenever something came.
func (l *Limiter) awaitFirst(ctx context.Context, cells []*lease.Cell, n int64, v lease.Verdict) lease.Verdict {
	timer := l.clock.NewTimer(l.opts.ColdWait)
	defer timer.Stop()
	for {
		changed := cells[v.Cell].Changed() // before the decision, so that no grant is missed
		before := v.Cell
		v = lease.Decide(l.now, cells, n)
		if v.Outcome != lease.Cold || !l.reached() {
			return v
		}
		if v.Cell == before && !l.came(ctx, changed, timer) {
			return v
		}
	}
}

// came waits until something of a cell changed, or the link is cut off: then
// nobody answers any more, and a quota may allow what nobody granted. It is false
// when nothing did in time.
func (l *Limiter) came(ctx context.Context, changed <-chan struct{}, timer *time.Timer) bool {
	select {
	case <-changed:
		return true
	case <-*l.cutNews.Load():
		return true
	case <-timer.C:
	case <-l.closing:
	case <-ctx.Done():
	}
	return false
}

// answer tells a verdict to the user, and counts it.
func (l *Limiter) answer(m *matched, v *lease.Verdict, n int64) Decision {
	roundTrip := time.Duration(l.roundTrip.Load())
	if v.Outcome == lease.Admitted {
		for _, q := range m.quotas {
			q.tally.add(countAllowed)
		}
		view := l.view(m, v, v.Cell, n, roundTrip)
		reason := WithinQuota
		if v.Unreserved {
			reason = Unreserved
		}
		return Decision{
			Allowed: true, Reason: reason, Quota: m.quotas[v.Cell].ID,
			Limit: view.Limit, Remaining: view.Remaining, Reset: view.Reset,
		}
	}
	return l.deny(m, v, n, roundTrip)
}

// deny says why a request was not admitted, and when to try again. All quotas
// must admit it: one that never can decides, else the one that takes longest.
func (l *Limiter) deny(m *matched, v *lease.Verdict, n int64, roundTrip time.Duration) Decision {
	cell, outcome := v.Cell, v.Outcome
	view := l.view(m, v, cell, n, roundTrip)
	if outcome == lease.Cold && view.Known {
		outcome = lease.Exhausted // it would have waited for more
	}
	wait := l.wait(&view, roundTrip)
	for i := range m.cells {
		if outcome == lease.Impossible || outcome == lease.Invalid {
			break
		}
		o := l.view(m, v, i, n, roundTrip)
		switch w := l.wait(&o, roundTrip); {
		case n > o.Most:
			cell, outcome, view = i, lease.Impossible, o
		case o.Retry > 0 && w > wait:
			cell, outcome, view, wait = i, lease.Cold, o, w
			if o.Known {
				outcome = lease.Exhausted
			}
		}
	}
	d := Decision{Reason: l.reason(outcome), RetryAfter: wait}
	if d.Reason == Impossible {
		d.RetryAfter, d.Most = 0, view.Most
	}
	q := m.quotas[cell]
	if view.Near {
		q.tally.falsely.Add(1)
	}
	q.tally.add(countOf(d.Reason))
	d.Quota, d.Limit, d.Remaining, d.Reset = q.ID, view.Limit, view.Remaining, max(view.Reset, d.RetryAfter)
	return d
}

// wait is how long a quota that has too little keeps a request from being
// admitted, as far as is known here.
func (l *Limiter) wait(o *lease.Outlook, roundTrip time.Duration) time.Duration {
	switch {
	case !l.welcomed.Load():
		// There is neither a lease nor a floor, and nothing accrues here.
		return coldRetry
	case !o.Known:
		// The bucket may be full. What is known is how soon one may hear of it,
		// if the floor is not there sooner.
		return max(min(o.Retry, coldRetry), roundTrip, leastRetry)
	default:
		return max(o.Retry, roundTrip, leastRetry)
	}
}

// coldRetry is when to ask again about a bucket of which nothing is known here:
// by then there was another attempt to reach a coordinator.
const coldRetry = longPause

// leastRetry keeps a denial's hint above 0.
const leastRetry = time.Millisecond

// view looks at one of the cells. Of a window whose end no grant told yet, the
// clock of the wall tells it.
func (l *Limiter) view(m *matched, v *lease.Verdict, i int, n int64, roundTrip time.Duration) lease.Outlook {
	return l.outlook(m.cells[i], m.quotas[i].Quota, v.At, n, v.Outcome == lease.Admitted, roundTrip)
}

func (l *Limiter) outlook(c *lease.Cell, q *policy.Quota, at time.Duration, n int64, admitted bool, roundTrip time.Duration) lease.Outlook {
	view := c.Outlook(at, n, admitted, roundTrip)
	if view.Windowed && view.Reset == 0 {
		w, wall := q.Windows(), l.clock.Wall()
		_, end := w.Bounds(w.Index(wall))
		view.Reset = end.Sub(wall)
		if !admitted && view.Remaining < max(n, 1) && n <= view.Most && view.Retry == 0 {
			view.Retry = max(view.Reset, roundTrip)
		}
		view.Reset = max(view.Reset, view.Retry)
	}
	return view
}

// reason says why a request was not admitted.
func (l *Limiter) reason(o lease.Outcome) Reason {
	switch {
	case o == lease.Impossible || o == lease.Invalid:
		return Impossible
	case l.reached() && o == lease.Cold:
		return NoLease
	case l.reached():
		return Exhausted
	case l.welcomed.Load():
		return CutOff
	default:
		return NoLease
	}
}

// reached says that what is asked for can come: a session is open, and its
// coordinator answers.
func (l *Limiter) reached() bool { return l.holder.Connected() && !l.cutOff.Load() }
