package lease

import (
	"cmp"
	"slices"
	"time"
)

// AppendState appends everything of h that what it does from now on depends
// on: holders that are written alike, seen through the same kind of frame, do
// alike. Its configuration is not written. It belongs to the holder's owner.
func (h *Holder) AppendState(dst []byte, f Frame) []byte {
	w := stateWriter{Frame: f, b: dst}
	now := f.Now.Mono
	w.str(h.cluster)
	w.epoch(h.seenEpoch)
	w.int(h.seenRevision, int64(h.drift), int64(h.interval))
	w.uint(h.policy, h.closed, h.seq)
	w.session(h.session)
	w.bits(h.live.Load())
	w.since(now, h.lastOut, heartbeat)
	if !f.Plain {
		w.bits(h.urgent.Load())
		w.int(int64(h.roundTrip), h.wall.Load())
	}
	w.count(len(h.dropped))
	for i := range h.dropped {
		w.report(&h.dropped[i], now)
	}
	for _, name := range h.names {
		q, _ := h.quotas.Load(name)
		w.holding(name, q)
	}
	w.cells(h.cells)
	if len(h.cells) > 1 {
		w.count(h.cursor)
	}
	w.cells(h.born)
	w.cuts(h)
	for c := h.touched.Load(); c != nil; c = c.next {
		w.uint(c.seq + 1)
	}
	w.uint(0)
	return w.b
}

// cells writes a list by the order of creation, and what is in each.
func (w *stateWriter) cells(cells []*Cell) {
	w.count(len(cells))
	for _, c := range cells {
		w.cell(c)
	}
}

func (w *stateWriter) holding(name string, q *holding) {
	w.str(name)
	w.int(q.count.Load(), q.max.Load())
	if !w.Plain {
		w.int(q.credited, q.returned, q.floorSpent.Load(), q.overspent.Load(), q.worstOver.Load(), q.worstAt.Load(), q.forgotten.Load())
		w.bits(q.full.Load())
	}
	w.floorLease(q.floor.Load())
	w.window(q.window.Load())
	t := q.terms.Load()
	w.int(t.Tokens, int64(t.Per), t.Burst, int64(t.TTL))
	if w.Plain {
		return // the cells are all in Holder.cells or Holder.born
	}
	var all []*Cell
	q.cells.Range(func(_ string, c *Cell) bool {
		all = append(all, c)
		return true
	})
	slices.SortFunc(all, func(a, b *Cell) int { return cmp.Compare(a.seq, b.seq) })
	for _, c := range all {
		w.uint(c.seq)
	}
}

func (w *stateWriter) floorLease(f *floorLease) {
	if f == nil {
		w.bits(false)
		return
	}
	w.bits(true)
	w.uint(f.grant)
	w.int(int64(f.slot), f.rate.Tokens, int64(f.rate.Per), f.burst)
	w.at(w.Now.Mono, f.start)
	w.until(w.Now.Mono, time.Duration(f.deadline.Load()))
	if k := f.clock; k != nil {
		t := k.told.Load()
		w.window(k.first)
		w.int(t.wall - w.Now.Wall.UnixNano())
		w.at(w.Now.Mono, t.echo)
		w.at(w.Now.Mono, t.heard)
	}
}

func (w *stateWriter) cell(c *Cell) {
	now := w.Now.Mono
	w.uint(c.seq)
	w.bucketID(c.id)
	w.bits(c.gone, c.queued.Load(), c.answered.Load(), c.lease.Load() != nil, c.hint.Load() != nil, c.floorGrant != nil)
	if !w.Plain {
		w.int(c.low.Load(), c.largest.Load())
	}
	r := &c.report
	if l := c.lease.Load(); l != nil {
		spent := l.spent.Load()
		w.session(l.session)
		w.uint(l.account)
		w.int(l.available.Load(), spent-l.base, l.refundedNow(), l.granted, l.returned)
		w.some(spent - r.used)
		if !w.Plain {
			w.int(spent, l.refunded.Load())
		}
		w.at(now, l.echo)
		w.until(now, time.Duration(l.deadline.Load()))
		w.window(l.window)
	}
	if n := c.hint.Load(); n != nil {
		w.until(now, n.window)
		w.since(now, n.at, c.quota.terms.Load().TTL+1)
		w.int(n.pool)
		w.bits(n.wait > 0)
		if !w.Plain {
			w.at(now, n.at)
			w.int(int64(n.wait))
		}
	}
	if f := c.quota.floor.Load(); c.floorGrant != nil {
		b := c.floor
		if w.Plain {
			b.Advance(now) // cutting time into more calls changes nothing
			b.At = 0
		}
		w.bits(c.floorGrant == f)
		w.int(b.Level, int64(b.At), int64(b.Rem), b.Burst, b.Rate.Tokens, int64(b.Rate.Per))
	}
	w.bits(c.handing.Load(), c.back.floor == c.quota.floor.Load())
	w.int(c.back.returned, c.back.seen)
	w.window(c.back.window)
	w.window(c.window)
	w.until(now, c.back.until)
	w.over(c)
	w.some(c.overspent.Load() - r.overspent)
	w.some(r.overspent - r.overUsed)
	w.some(c.floorSpent.Load() - r.floored)
	w.some(r.floored - r.floorSaid)
	w.demand(c)
	w.int(c.need.Load(), c.largest.Load())
	if since := time.Duration(c.waitSince.Load()); since != 0 {
		w.at(now, since)
	}
	w.ask(r.ask)
	w.said(c.lease.Load(), r)
	w.since(now, r.seen, c.quota.terms.Load().TTL)
	w.bits(r.at == 0, r.at == now)
	if !w.Plain {
		w.at(now, r.at)
		w.int(r.used, r.floored, r.refused, r.largest, r.low, r.overspent, r.overUsed, c.overBefore, r.floorSaid)
		w.uint(uint64(r.owing))
		w.at(now, r.overAt)
		w.at(now, r.saidAt)
		w.at(now, r.largeAt)
	}
}

// demand writes what the next report makes of refusals and waits. How much there was
// matters, since some of it may have been counted before.
func (w *stateWriter) demand(c *Cell) {
	r := &c.report
	w.int(c.refused.Load()-r.refused, c.waiting.Load(), r.waiting, r.again)
	if l := c.lease.Load(); l != nil {
		w.int(l.spent.Load() - r.used)
	}
}

// said writes what the last report told of an account. Without an account it
// is not looked at, and the next one begins anew.
func (w *stateWriter) said(l *lease, r *cellReport) {
	if w.Plain && l == nil {
		return
	}
	w.int(r.spent, r.returned, r.refunded, r.granted)
	if w.Plain {
		w.bits(l.echo != r.echo)
		return
	}
	w.at(w.Now.Mono, r.echo)
}

// cuts writes what the holder knows of its being cut off. What of that it told
// at which time is for the measure of overshoot alone.
func (w *stateWriter) cuts(h *Holder) {
	cut := h.cut.Load()
	w.bits(cut != nil)
	if cut != nil {
		w.uint(cut.Number)
		w.at(w.Now.Mono, cut.Since)
	}
	w.uint(h.openCut())
	w.bits(h.clocked)
	if h.clocked {
		w.int(int64(h.ahead))
		w.at(w.Now.Mono, h.made-h.ahead) // when that was heard
	}
	if w.Plain {
		return
	}
	w.int(int64(h.made))
	w.count(len(h.cuts))
	for i := range h.cuts {
		s := &h.cuts[i]
		w.cutReport(&s.CutReport)
		w.cutReport(&s.told)
		w.at(w.Now.Mono, s.toldAt)
		w.bits(s.heard)
	}
	w.count(h.owing.cells)
	w.uint(h.owing.oldest)
	w.count(len(h.owing.untold))
}

func (w *stateWriter) cutReport(r *CutReport) {
	w.uint(r.Number)
	w.int(r.Count, int64(r.Length))
	w.bits(r.Closed)
}

// over writes what a cell spent unreserved.
func (w *stateWriter) over(c *Cell) {
	w.bits(c.over != nil)
	if c.over == nil {
		return
	}
	b := c.over.bucket
	if w.Plain {
		b.Advance(w.Now.Mono)
		b.At = 0
	}
	w.uint(c.over.cut)
	w.int(b.Level, int64(b.At), int64(b.Rem))
	if w.Plain {
		return
	}
	for _, s := range c.over.spent {
		w.uint(s.cut)
		w.int(s.window, s.tokens, s.told)
		w.at(w.Now.Mono, s.began)
		w.at(w.Now.Mono, s.toldAt)
	}
}

// some writes an amount of which a plain frame tells only whether there is any.
func (w *stateWriter) some(n int64) {
	if w.Plain {
		w.bits(n > 0)
		return
	}
	w.int(n)
}

// Session is the session that the holder opened last.
func (h *Holder) Session() Session { return h.session }
