package chaos

import (
	"fmt"
	"math/big"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

// Detector is what tells the regions of a world whether they are cut off.
type Detector int

// The detectors. No law of an exact mode depends on which it is.
const (
	LinkDetector Detector = iota // package partition
	AlwaysConnected
	AlwaysCutOff
	DiceDetector
)

// notice feeds a region's link, and tells its holder what came of it before it
// hears anything else.
func (r *region) notice(what func(l *partition.Link, now time.Duration)) {
	now := r.clock()
	before := r.link.State()
	what(&r.link, now)
	r.link.Tick(now)
	number, since, open := r.link.Cut()
	cut := lease.Cut{Number: number, Since: since, Open: open, Unreserved: r.link.Unreserved()}
	switch r.w.cfg.Detector {
	case LinkDetector:
	case AlwaysConnected:
		cut = lease.Cut{}
	case AlwaysCutOff:
		cut = lease.Cut{Number: 1, Open: true, Unreserved: true}
	case DiceDetector:
		cut = r.wildCut(now)
	}
	after, shown := r.link.State(), func(s partition.State) bool { return s == partition.CutOff || s == partition.Healing }
	if after != before && (shown(before) || shown(after)) {
		r.w.tell("%s: the link was %v and is %v: %s", r.name, before, after, r.link.Reason())
		if after == partition.Connected && before == partition.Healing {
			r.w.count(CutHealed)
		}
	}
	r.w.cutTold(r, cut)
	r.holder.SetCut(now, cut)
}

// tellCuts adds to the story what a batch says of the time when its sender was cut
// off.
func (r *region) tellCuts(b *lease.ReportBatch) {
	for _, c := range b.Cuts {
		over := ""
		if c.Closed {
			over = ", which is over"
		}
		r.w.detail("%s reports cut %d of %v%s", r.name, c.Number, c.Length.Round(ms), over)
	}
	for i := range b.Overspent {
		o := &b.Overspent[i]
		r.w.detail("%s reports %d of %s spent unreserved in cut %d", r.name, o.Tokens, o.Bucket.Quota, o.Cut)
	}
}

// wildCut lets dice say whether the region is cut off.
func (r *region) wildCut(now time.Duration) lease.Cut {
	c := &r.wild
	switch d := r.w.wildRNG; {
	case !c.Open && d.n(8) == 0:
		*c = lease.Cut{Number: c.Number + 1, Since: now, Open: true, Unreserved: true}
	case c.Open && d.n(8) == 0:
		c.Unreserved = !c.Unreserved
	case c.Open && d.n(16) == 0:
		c.Open, c.Unreserved = false, false
	}
	return *c
}

// cutWatch is one cut of one process as its holder was told of it, in true time.
type cutWatch struct {
	region  *region
	gen     int
	number  uint64
	since   time.Duration // by the holder's clock
	began   time.Duration
	ended   time.Duration
	engaged bool
	closed  bool
	spent   []int64 // unreserved, by bucket
}

// cutTold notes what a holder is told.
func (w *World) cutTold(r *region, c lease.Cut) {
	if c.Number == 0 {
		return
	}
	k := w.cutWatch(r, c.Number)
	if k == nil {
		if !c.Open {
			return
		}
		k = &cutWatch{region: r, gen: r.gen, number: c.Number, since: c.Since, began: w.now, ended: w.now, spent: make([]int64, len(w.ids))}
		w.cuts = append(w.cuts, k)
		w.count(CutNoticed)
	}
	if k.engaged || c.Unreserved {
		k.ended = w.now
	}
	if !k.closed {
		k.engaged, k.closed = c.Unreserved, !c.Open
	}
}

func (w *World) cutWatch(r *region, number uint64) *cutWatch {
	for i := len(w.cuts) - 1; i >= 0; i-- {
		if k := w.cuts[i]; k.region == r && k.gen == r.gen && k.number == number {
			return k
		}
	}
	return nil
}

// unreserved returns the largest of what any policy allows of a quota. A policy
// may come while a cut goes on.
func (w *World) unreserved(quota string) (most lease.Unreserved) {
	forever := false
	for _, p := range w.cfg.Policies {
		for i := range p {
			u := p[i].Unreserved
			if p[i].Quota != quota || !u.Allows() {
				continue
			}
			forever = forever || u.For == 0
			most.Burst, most.For = max(most.Burst, u.Burst), max(most.For, u.For)
			most.Unbounded = most.Unbounded || u.Unbounded
			if most.Rate.Per == 0 || faster(u, most) {
				most.Rate = u.Rate
			}
		}
	}
	if forever {
		most.For = 0
	}
	return most
}

func faster(a, b lease.Unreserved) bool {
	x := new(big.Int).Mul(big.NewInt(a.Rate.Tokens), big.NewInt(int64(b.Rate.Per)))
	return x.Cmp(new(big.Int).Mul(big.NewInt(b.Rate.Tokens), big.NewInt(int64(a.Rate.Per)))) > 0
}

// allowed is the closed form of one cut of true length d: b + (1+ρ)·f·min(d, for).
// It shares nothing with package partition.
func allowed(u *lease.Unreserved, ρ lease.Drift, d time.Duration) int64 {
	if u.For > 0 {
		d = min(d, u.For)
	}
	n := new(big.Int).Mul(big.NewInt(u.Rate.Tokens), big.NewInt(int64(d)))
	n.Mul(n, big.NewInt(1_000_000+int64(ρ)))
	n.Div(n, new(big.Int).Mul(big.NewInt(int64(u.Rate.Per)), big.NewInt(1_000_000)))
	return u.Burst + n.Int64()
}

// overspent judges tokens that a region spent unreserved: it was told that it is
// cut off, the time that its quota allows has not passed, and this cut brought no
// more than its closed form.
func (w *World) overspent(r *region, b int, tokens int64, at time.Duration) error {
	w.count(UnreservedSpent)
	id := w.bucketID(b)
	u := w.unreserved(id.Quota)
	var k *cutWatch
	if n := len(w.cuts); n > 0 {
		for i := n - 1; i >= 0 && k == nil; i-- {
			if c := w.cuts[i]; c.region == r && c.gen == r.gen {
				k = c
			}
		}
	}
	switch {
	case k == nil || !k.engaged:
		return fmt.Errorf("section 6: %s spends %d tokens of %s unreserved while it is not cut off", r.name, tokens, id.Quota)
	case !u.Allows():
		return fmt.Errorf("section 6: %s spends %d tokens of %s unreserved, which no policy allows", r.name, tokens, id.Quota)
	case u.For > 0 && at-k.since >= u.For:
		return fmt.Errorf("section 6: %s spends unreserved of %s %v after it was cut off, at most %v are allowed", r.name, id.Quota, at-k.since, u.For)
	}
	k.spent[b] += tokens
	if most := allowed(&u, w.cfg.Drift, w.now-k.began); !u.Unbounded && k.spent[b] > most {
		return fmt.Errorf("section 6: %s spent %d tokens of %s unreserved in one cut, of at most %d", r.name, k.spent[b], id.Quota, most)
	}
	return nil
}

// cutBound is the sum of the closed forms of all cuts that took place.
func (w *World) cutBound(b int) (sum int64) {
	u := w.unreserved(w.bucketID(b).Quota)
	for _, k := range w.cuts {
		d := k.ended - k.began
		if k.engaged {
			d = w.now - k.began
		}
		if u.Allows() {
			sum += allowed(&u, w.cfg.Drift, d)
		}
	}
	return sum
}

// judgeOvershoot compares, at the end, what happened with the sum of the closed
// forms, and what the last leader observed with what happened.
func (w *World) judgeOvershoot() {
	if len(w.cfg.Policies) > 1 || w.everLost {
		return // several promises, or none, counted
	}
	for b := range w.ids {
		m, u := &w.bounds[b], w.unreserved(w.ids[b].Quota)
		if m.windowed || u.Unbounded {
			continue
		}
		truth := m.overshoot()
		if bound := w.cutBound(b); truth > bound {
			w.fail("section 6: %s was exceeded by %d tokens, at most by %d", w.ids[b].Quota, truth, bound)
		} else if bound > 0 {
			w.tightness = max(w.tightness, float64(truth)/float64(bound))
		}
	}
	c := w.newest
	if c == nil || c.ledger == nil {
		return
	}
	_, quotas := c.ledger.Snapshot()
	for i := range quotas {
		q := &quotas[i]
		var truth, spent int64
		windowed := false
		for b := range w.ids {
			if w.ids[b].Quota == q.Quota {
				truth = max(truth, w.bounds[b].overshoot())
				windowed = w.bounds[b].windowed
				var sum int64
				for _, k := range w.cuts {
					sum += k.spent[b]
				}
				spent = max(spent, sum)
			}
		}
		if q.Observed.High > spent {
			w.fail("observed: %s is said to be exceeded by up to %d tokens, of %d that were spent unreserved", q.Quota, q.Observed.High, spent)
		}
		if !windowed && q.Observed.Low > truth || q.Observed.Low > spent {
			w.fail("observed: %s is said to be exceeded by %d tokens, and was by %d", q.Quota, q.Observed.Low, truth)
		}
		if q.Observed.Low > 0 {
			w.count(OvershootObserved)
		}
		if q.Overspent > 0 {
			w.count(OverspendTold)
		}
	}
}
