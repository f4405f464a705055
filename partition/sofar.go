package partition

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Clone returns a copy that goes on by itself.
func (h *History) Clone() *History {
	c := *h
	c.closed, c.open = slices.Clone(h.closed), maps.Clone(h.open) // records change only as their owner puts others in their place
	c.folds, c.widened = slices.Clone(h.folds), slices.Clone(h.widened)
	c.larger = make(map[string][]formerly, len(h.larger))
	for id, all := range h.larger {
		c.larger[id] = slices.Clone(all)
	}
	return &c
}

// Bound returns the bound of a quota of the policy in force, up to now: the sum over all cuts that took place, and
// what a limit adds that was larger before. A cut that goes on counts until now.
func (h *History) Bound(id string, now time.Duration) Result {
	q := h.policy.quotas[id]
	if q == nil {
		return Result{}
	}
	r := begin(q)
	spans := make(map[lease.HolderID]time.Duration)
	for _, c := range h.adding(id) {
		l := h.line(c, c.terms.quota(id), now)
		spans[c.Holder] = add(spans[c.Holder], times(l.Time, int64(l.Cuts)))
		r.Span = max(r.Span, spans[c.Holder])
		r.put(l)
	}
	for i := range h.folds {
		if l, ok := h.folds[i].line(h.drift, id, now); ok {
			r.Span = max(r.Span, l.Time)
			r.put(l)
		}
	}
	r.Exact = r.Exact && len(r.Lines) == 0
	if l, ok := h.lowered(q, now); ok {
		r.Span = max(r.Span, l.Time)
		r.put(l)
	}
	r.Allowed = q.Limit.Promise(h.drift, r.Span)
	return r
}

// Covering returns a bound with what was reported beyond it: of cuts before this history began, under a policy that
// it never knew. Without such cuts it returns r as it is, so that a limit that was exceeded against its bound shows.
func (h *History) Covering(r Result, reported int64) Result {
	if more := reported - r.Tokens; h.foreign && more > 0 && !r.Unbounded {
		return r.With(Line{Kind: Told, Holders: 1, Cuts: 1, Burst: more, Tokens: more})
	}
	return r
}

// adding returns the listed cuts that add anything to a quota, the oldest first.
func (h *History) adding(id string) []*record {
	var last *terms
	var adds bool
	exact := func(r *record) bool {
		if r.terms != last {
			last, adds = r.terms, r.terms.quota(id) != nil
		}
		return !adds
	}
	all := slices.DeleteFunc(append(h.goingOn(), h.closed...), exact)
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.seq, b.seq) })
	return all
}

// line returns what a cut adds to a quota.
func (h *History) line(c *record, q *policy.Quota, now time.Duration) Line {
	p := Past{Ended: c.soFar(h.drift, now), Count: int(c.Count)}
	l := newLine(q, h.drift, Cut{Region: c.Holder.Region, Holders: 1, For: p.length(now), Count: p.Count})
	l.Holder = c.Holder.String()
	if c.Open {
		l.Kind = Open
	}
	if c.Silent {
		l.Note = fmt.Sprintf("not heard for %v", tenths(max(0, now-c.At)))
	}
	return l
}

// line returns what the cuts add to a quota; false for nothing.
func (f *fold) line(ρ lease.Drift, id string, now time.Duration) (Line, bool) {
	q := f.terms.quota(id)
	if q == nil {
		return Line{}, false
	}
	c := Cut{Region: f.region, Holders: 1, Count: int(f.count)}
	if f.region == "" {
		c.Region = "several regions"
	}
	if f.open {
		c.Holders, c.Count, c.For = int(f.count), 1, add(f.length, ρ.Outlast(now-f.at))
	} else {
		p := Past{Ended: f.length, Count: int(f.count)}
		c.For = p.length(now)
	}
	l := newLine(q, ρ, c)
	if f.open {
		l.Kind, l.Note = Open, fmt.Sprintf("not heard for up to %v", tenths(max(0, now-f.at)))
	}
	return l, true
}

// quota returns the one whose cuts add anything, nil if there is none: of an unbounded limit nothing is exceeded.
func (t *terms) quota(id string) *policy.Quota {
	if t == nil {
		return nil
	}
	q := t.quotas[id]
	if q == nil || q.Limit.Unbounded || q.Partition.Mode.Exact() {
		return nil
	}
	return q
}

// lowered returns what larger limits of before add to a quota.
func (h *History) lowered(q *policy.Quota, now time.Duration) (Line, bool) {
	var old *policy.Quota
	var until time.Duration
	for _, f := range h.larger[q.ID] {
		if h.over(&f, now) {
			continue
		}
		if old == nil {
			old, until = f.quota, f.until
		}
		old, until = largest(old, f.quota), min(until, f.until)
	}
	if old == nil {
		return Line{}, false
	}
	return LoweredLimit(old, q, h.drift, now-until)
}

// over says that nothing that was granted under a former limit can be spent any more.
func (h *History) over(f *formerly, now time.Duration) bool {
	span := Transition(f.quota, h.drift)
	if f.quota.Limit.Algorithm != policy.TokenBucket {
		span = max(span, h.drift.Outlast(f.quota.Limit.LongestWindow())) // its window surely ended
	}
	return now-f.until >= span
}

// largest returns a quota whose limit is no smaller than either's, nor are its leases shorter.
func largest(a, b *policy.Quota) *policy.Quota {
	if a == b {
		return b
	}
	w := *b
	if Transition(a, 0) > Transition(b, 0) {
		w = *a
	}
	w.Limit.Burst = max(a.Limit.Burst, b.Limit.Burst)
	if w.Limit.Algorithm != policy.TokenBucket {
		w.Limit.Tokens = max(a.Limit.Tokens, b.Limit.Tokens)
		return &w
	}
	rate := fastest(a.Limit.Rate(), b.Limit.Rate())
	w.Limit.Tokens, w.Limit.Per = rate.Tokens, rate.Per
	return &w
}
