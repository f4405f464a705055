package partition

import (
	"cmp"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// History is what is known of the cuts that took place since it was made, each with the terms of the quotas as
// its holder had them, and of limits that were lowered. It answers by how much each limit can have been exceeded.
//
// Its memory is bounded: the oldest cuts are put together, in a way that makes the bound no smaller. It is not safe
// for concurrent use.
type History struct {
	drift   lease.Drift
	set     *policy.Set
	policy  *terms // in force
	ever    *terms // the widest of all that were
	widened []widening
	// larger are the quotas whose limit was larger before, by name.
	larger map[string][]formerly
	closed []*record // listed cuts that are over, the oldest first
	open   map[lease.HolderID]goingOn
	folds  []fold
	seq    uint64 // of the newest record
	// foreign says that there are cuts under terms that are not known.
	foreign bool
	changes uint64
}

// goingOn are the listed cuts of one holder that go on: the one that it told of, and the one that only this side
// noticed. Nil is none.
type goingOn struct{ told, silent *record }

// Took is a cut of one holder that took place, or takes place.
type Took struct {
	Holder lease.HolderID
	// Number is the holder's own number of it; 0 for one of which only this side knows.
	Number uint64
	// Count is how many it is, of which Number is the last: 0 and 1 are one.
	Count int64
	// Length is that of all of them together, as far as it was told.
	Length time.Duration
	// Open says that it goes on: to Length comes the time since At, by one's own clock, until one looks.
	Open bool
	At   time.Duration
	// Silent says that nothing was heard from the holder since At.
	Silent bool
}

type record struct {
	Took

	terms *terms
	seq   uint64
}

// fold is several cuts of one region, of holders that are not told apart any more: those that are over, or, if
// open, one of each of several holders.
type fold struct {
	region string // "" is several
	terms  *terms
	open   bool
	count  int64
	length time.Duration // of all together
	at     time.Duration // since when an open one goes on, that of the one that does so longest
}

// formerly is a quota as it was until a time.
type formerly struct {
	quota *policy.Quota
	until time.Duration
}

const (
	maxListed  = 256  // cuts that are over and listed one by one
	maxOpen    = 8192 // cuts that go on and are listed one by one
	maxFolds   = 64
	maxWidened = 64
	maxFormers = 16 // larger limits of one quota
)

// NewHistory begins one under a policy, nil if none is known yet.
func NewHistory(ρ lease.Drift, set *policy.Set) *History {
	h := &History{
		drift: ρ, set: set, larger: map[string][]formerly{}, open: map[lease.HolderID]goingOn{},
	}
	h.policy = newTerms(set)
	h.ever = h.policy
	return h
}

// SetPolicy says that another policy is in force from now on.
func (h *History) SetPolicy(now time.Duration, set *policy.Set) {
	if set == h.set || set != nil && h.set != nil && set.Equal(h.set) {
		return
	}
	next := newTerms(set)
	for id, old := range h.policy.quotas {
		q := next.quotas[id]
		lowered := q == nil // if it ever comes again
		if q != nil {
			_, lowered = LoweredLimit(old, q, h.drift, Transition(old, h.drift))
		}
		if lowered && !old.Limit.Unbounded {
			h.larger[id] = append(h.larger[id], formerly{old, now})
		}
	}
	for id := range h.larger {
		h.shorten(id, now)
	}
	h.set, h.policy, h.ever = set, next, h.widen(h.ever, next)
	h.changes++
}

// shorten drops the former limits of a quota that do not count any more, and makes one of the two oldest if there
// are too many.
func (h *History) shorten(id string, now time.Duration) {
	all := slices.DeleteFunc(h.larger[id], func(f formerly) bool { return h.over(&f, now) })
	if len(all) > maxFormers {
		all[1] = formerly{largest(all[0].quota, all[1].quota), all[1].until}
		all = all[1:]
	}
	h.larger[id] = all
	if len(all) == 0 {
		delete(h.larger, id)
	}
}

// note puts a cut in the place of the one with its number, or adds it. It stands for the cuts before it that it
// counts, too.
func (h *History) note(t Took, under *terms) {
	t.Count = max(1, t.Count)
	merge := func(r *record) bool {
		within := r.Number > 0 && r.Number < t.Number && t.Number-r.Number < uint64(t.Count)
		if r.Holder != t.Holder || r.Number != t.Number && !within {
			return false
		}
		under = h.widen(r.terms, under)
		t.Length, t.Count = max(t.Length, r.Length), max(t.Count, r.Count)
		return true
	}
	o := h.open[t.Holder]
	if t.Number > 0 && o.told != nil && !merge(o.told) {
		h.close(o.told, o.told.Length) // nobody has two at a time
	}
	if t.Number > 0 {
		h.closed = slices.DeleteFunc(h.closed, merge)
		o.told = nil
	} else {
		o.silent = nil
	}
	h.seq++
	r := &record{Took: t, terms: under, seq: h.seq}
	switch {
	case !t.Open:
		h.closed = append(h.closed, r)
	case t.Number > 0:
		o.told = r
	default:
		o.silent = r
	}
	h.going(t.Holder, o)
	h.fold()
}

// going sets which cuts of a holder go on.
func (h *History) going(id lease.HolderID, o goingOn) {
	h.changes++
	if o == (goingOn{}) {
		delete(h.open, id)
		return
	}
	h.open[id] = o
}

// adopt says that a holder enforces the policy in force now: its cuts that go on may do so under this, too.
func (h *History) adopt(id lease.HolderID) {
	o, ok := h.open[id]
	if !ok {
		return
	}
	for _, r := range []**record{&o.told, &o.silent} {
		if *r != nil {
			wide := **r // a clone may have the other
			wide.terms = h.widen(wide.terms, h.policy)
			*r = &wide
		}
	}
	h.going(id, o)
}

// soFar returns how long a cut lasted or, if it goes on, may have lasted by the holder's clock until now.
func (t *Took) soFar(ρ lease.Drift, now time.Duration) time.Duration {
	if !t.Open {
		return t.Length
	}
	return add(t.Length, ρ.Outlast(now-t.At))
}

// close puts a cut that went on among those that are over. Its caller takes it out of the others.
func (h *History) close(r *record, length time.Duration) {
	over := *r // a clone may have the other
	over.Open, over.Length = false, length
	h.closed = append(h.closed, &over)
}

// fold puts the oldest cuts together while there are too many.
func (h *History) fold() {
	for len(h.closed) > maxListed {
		r := h.closed[0]
		h.closed = slices.Delete(h.closed, 0, 1)
		h.put(fold{region: r.Holder.Region, terms: r.terms, count: r.Count, length: r.Length})
	}
	if len(h.open) <= maxOpen {
		return
	}
	oldest := slices.MinFunc(h.goingOn(), func(a, b *record) int { return cmp.Compare(a.seq, b.seq) })
	o := h.open[oldest.Holder]
	for _, r := range []*record{o.told, o.silent} {
		if r != nil {
			h.put(fold{region: r.Holder.Region, terms: r.terms, open: true, count: r.Count, length: r.Length, at: r.At})
		}
	}
	h.going(oldest.Holder, goingOn{})
}

// goingOn returns the listed cuts that go on, in no order.
func (h *History) goingOn() []*record {
	all := make([]*record, 0, len(h.open))
	for _, o := range h.open {
		for _, r := range []*record{o.told, o.silent} {
			if r != nil {
				all = append(all, r)
			}
		}
	}
	return all
}

// put adds to the folds, and makes one of two while there are too many.
func (h *History) put(f fold) {
	for i := range h.folds {
		if g := &h.folds[i]; g.region == f.region && g.terms == f.terms && g.open == f.open {
			g.take(f)
			return
		}
	}
	h.folds = append(h.folds, f)
	for len(h.folds) > maxFolds {
		i := slices.IndexFunc(h.folds[1:], func(g fold) bool { return g.open == h.folds[0].open })
		if i < 0 {
			h.folds = append(h.folds[1:], h.folds[0])
			continue
		}
		first, second := h.folds[0], &h.folds[i+1]
		second.terms = h.widen(first.terms, second.terms)
		if second.region != first.region {
			second.region = ""
		}
		second.take(first)
		h.folds = h.folds[1:]
	}
}

// take adds the cuts of another fold.
func (f *fold) take(g fold) {
	f.count = add(f.count, g.count)
	f.length, f.at = add(f.length, g.length), min(f.at, g.at)
}
