package partition

import (
	"maps"
	"slices"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/policy"
)

// widest returns a quota whose cuts add at least what those of either add, also when the policy changes while a
// cut goes on: a bucket that is full at its burst and whose rate changes never holds more than the larger burst
// and what accrues at the faster rate. In all else it is b.
func widest(a, b *policy.Quota) *policy.Quota {
	p, q := &a.Partition, &b.Partition
	w := *b
	switch {
	case *p == *q || p.Mode.Exact():
		return b
	case q.Mode.Exact():
		w.Partition = *p
		return &w
	}
	w.Partition.Rate, w.Partition.Burst = fastest(p.Rate, q.Rate), max(p.Burst, q.Burst)
	w.Partition.Unbounded = p.Unbounded || q.Unbounded
	if w.Partition.For = max(p.For, q.For); p.For == 0 || q.For == 0 {
		w.Partition.For = 0 // for ever
	}
	return &w
}

func fastest(a, b bucket.Rate) bucket.Rate {
	switch {
	case a.Per <= 0: // of an unbounded ceiling, which has no rate
		return b
	case b.Per <= 0 || faster(a, b).Tokens > 0:
		return a
	}
	return b
}

// terms are the quotas as holders had them. They do not change.
type terms struct {
	quotas map[string]*policy.Quota
}

func newTerms(set *policy.Set) *terms {
	t := &terms{quotas: map[string]*policy.Quota{}}
	if set == nil {
		return t
	}
	for _, d := range set.Domains {
		for _, q := range d.Quotas {
			t.quotas[q.ID] = q
		}
	}
	return t
}

// widening remembers that terms are the widest of two, so that they are made once.
type widening struct{ a, b, widest *terms }

// widen returns terms that add no less than either. Nil is nothing.
func (h *History) widen(a, b *terms) *terms {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	}
	for _, w := range h.widened {
		switch {
		case w.a == a && w.b == b, w.widest == a && (w.a == b || w.b == b), w.widest == b && (w.a == a || w.b == a):
			return w.widest
		}
	}
	wide := &terms{quotas: maps.Clone(a.quotas)}
	for id, q := range b.quotas {
		if old := wide.quotas[id]; old != nil {
			q = widest(old, q)
		}
		wide.quotas[id] = q
	}
	if h.widened = append(h.widened, widening{a, b, wide}); len(h.widened) > maxWidened {
		h.widened = slices.Delete(h.widened, 0, 1)
	}
	return wide
}
