package lease

import (
	"slices"
	"time"
)

// owing is what a holder has to tell of what its cells spent unreserved. A cell is in
// one of its lists until the coordinator heard of all of it and the cut is over,
// so that a message costs what it tells, however many keys were spent from.
type owing struct {
	untold []*Cell    // with something to tell
	told   []toldCell // all was told, in the order of telling
	heard  []toldCell // all was heard of, and the cut goes on
	cells  int        // in one of the three
	oldest uint64     // no cut below it is owed
}

// toldCell is a cell all of which was told at a time. It stays in its list when
// the cell goes to another one, and then stands for nothing.
type toldCell struct {
	cell *Cell
	at   time.Duration
}

func (t *toldCell) in(s owingState) bool {
	return t.cell.report.owing == s && t.cell.report.overAt == t.at
}

// owingState is in which list of owing a cell is.
type owingState uint8

const (
	owesNothing owingState = iota
	owesUntold
	owesTold
	owesHeard
)

// owes notes a cell that spent unreserved, so that Tick reports it until the
// coordinator heard of all of it. The holder's owner calls it.
func (h *Holder) owes(c *Cell) {
	r, o := &c.report, &h.owing
	n := c.overspent.Load()
	if n == r.overspent {
		return
	}
	r.overspent = n
	if r.owing == owesNothing {
		oldest, some := c.oldestOwed()
		if !some {
			return // it was told with what was spent before, and heard of
		}
		if o.cells == 0 || oldest < o.oldest {
			o.oldest = oldest
		}
		o.cells++
	}
	if r.owing != owesUntold {
		r.owing = owesUntold
		o.untold = append(o.untold, c)
	}
}

// oldestOwed is the oldest cut in which the cell spent what it still remembers, false
// if that is nothing.
func (c *Cell) oldestOwed() (oldest uint64, some bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil || len(c.over.spent) == 0 {
		return 0, false
	}
	oldest = c.over.spent[0].cut
	for i := range c.over.spent {
		oldest = min(oldest, c.over.spent[i].cut)
	}
	return oldest, true
}

// owed is the oldest cut of which anything may still be told, 0 if none.
func (h *Holder) owed() uint64 {
	open := h.openCut()
	if h.owing.cells > 0 && (open == 0 || h.owing.oldest < open) {
		return h.owing.oldest
	}
	return open
}

// maxOverspendReports bounds the overspends of one batch: what does not fit is
// said by the next. So many fit into one message.
const maxOverspendReports = 1000

// sayOverspent reports what is new of what was spent unreserved, at most so many
// counters.
func (h *Holder) sayOverspent(now time.Duration, most int, batch *ReportBatch) {
	batch.Owes = h.owed()
	if !h.clocked {
		return // without a clock nobody could tell when it was
	}
	o := &h.owing
	n := 0
	for n < len(o.untold) && o.untold[n].sayOverspent(now, most, batch) {
		c := o.untold[n]
		c.report.owing, c.report.overAt = owesTold, now
		o.told = append(o.told, toldCell{c, now})
		n++
	}
	o.untold = slices.Delete(o.untold, 0, n)
}

// sayOverspent reports a cell, and returns false when not all of it fitted.
func (c *Cell) sayOverspent(now time.Duration, most int, batch *ReportBatch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.over.spent {
		s := &c.over.spent[i]
		if s.tokens == s.told && s.toldAt != 0 {
			continue
		}
		if len(batch.Overspent) >= most {
			return false
		}
		s.told, s.toldAt = s.tokens, now
		span := max(0, now-s.began) // a decider's clock may be ahead of this one's
		batch.Overspent = append(batch.Overspent, Overspend{Bucket: c.id, Cut: s.cut, Window: s.window, Tokens: s.tokens, Span: span})
	}
	return true
}

// overspendHeard forgets what was said until sent and is over: it was processed.
func (h *Holder) overspendHeard(sent time.Duration) {
	o := &h.owing
	n := 0
	for ; n < len(o.told) && o.told[n].at <= sent; n++ {
		if o.told[n].in(owesTold) {
			h.settleOverspend(o.told[n].cell)
		}
	}
	o.told = slices.Delete(o.told, 0, n)
}

// settleOverspend forgets what a cell, all of which was heard of, spent in cuts
// that are over. What it has of the one that goes on stays: told anew it must
// be the same counter, and its burst must not begin anew.
func (h *Holder) settleOverspend(c *Cell) {
	open := h.openCut()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over.spent = slices.DeleteFunc(c.over.spent, func(s overspend) bool {
		return s.cut != open && s.told == s.tokens
	})
	if len(c.over.spent) > 0 {
		c.report.owing = owesHeard
		h.owing.heard = append(h.owing.heard, toldCell{c, c.report.overAt})
		return
	}
	if open == 0 || c.over.cut != open {
		c.over = nil
	}
	c.report.owing = owesNothing
	h.owing.cells--
}

// settleCut forgets what was heard of a cut that is over now.
func (h *Holder) settleCut() {
	o := &h.owing
	heard := o.heard
	o.heard = nil
	for i := range heard {
		if heard[i].in(owesHeard) {
			h.settleOverspend(heard[i].cell)
		}
	}
	first := true
	for _, c := range o.all() {
		if oldest, some := c.oldestOwed(); some && (first || oldest < o.oldest) {
			o.oldest, first = oldest, false
		}
	}
}

// retellOverspent has everything said anew in a new session: what was processed
// in the old one may not be known to this leader, and the one that knows it
// takes nothing twice.
func (h *Holder) retellOverspent() {
	o := &h.owing
	o.untold, o.told, o.heard = o.all(), nil, nil
	for _, c := range o.untold {
		c.report.owing = owesUntold
		c.mu.Lock()
		for i := range c.over.spent {
			c.over.spent[i].toldAt = 0
		}
		c.mu.Unlock()
	}
}

// all returns every cell that is in one of the lists.
func (o *owing) all() []*Cell {
	all := slices.Clone(o.untold)
	for i := range o.told {
		if o.told[i].in(owesTold) {
			all = append(all, o.told[i].cell)
		}
	}
	for i := range o.heard {
		if o.heard[i].in(owesHeard) {
			all = append(all, o.heard[i].cell)
		}
	}
	return all
}

// drop forgets the cells of a quota that is no longer in force.
func (o *owing) drop(q *holding) {
	o.untold = slices.DeleteFunc(o.untold, func(c *Cell) bool { return c.quota == q })
	o.told = slices.DeleteFunc(o.told, func(t toldCell) bool { return t.cell.quota == q })
	o.heard = slices.DeleteFunc(o.heard, func(t toldCell) bool { return t.cell.quota == q })
	o.cells = len(o.all())
}
