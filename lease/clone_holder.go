package lease

import (
	"slices"

	"github.com/puzpuzpuz/xsync/v4"
)

// Clone returns a holder that does from now on exactly what h would do, and
// shares nothing with it that either may change. Who waits for a grant
// (Cell.Changed) waits at the original. Cells of h are not cells of the clone:
// they are looked up anew. It belongs to the holder's owner, and nobody may
// decide on a cell of h meanwhile.
func (h *Holder) Clone() *Holder {
	c := &Holder{
		cfg: h.cfg, cluster: h.cluster,
		seenEpoch: h.seenEpoch, seenRevision: h.seenRevision,
		policy: h.policy, drift: h.drift, interval: h.interval, roundTrip: h.roundTrip,
		session: h.session, lastOut: h.lastOut,
		quotas: xsync.NewMap[string, *holding](),
		names:  slices.Clone(h.names), cursor: h.cursor, seq: h.seq,
		dropped: slices.Clone(h.dropped), closed: h.closed,
	}
	c.cuts, c.ahead, c.made, c.clocked = slices.Clone(h.cuts), h.ahead, h.made, h.clocked
	c.cut.Store(h.cut.Load()) // never changed in place
	c.live.Store(h.live.Load())
	c.wall.Store(h.wall.Load())
	c.urgent.Store(h.urgent.Load())
	k := holderCopier{
		owner: c, cells: make(map[*Cell]*Cell, len(h.cells)), quotas: make(map[*holding]*holding, len(h.names)),
		floors: map[*floorLease]*floorLease{},
	}
	for _, name := range h.names {
		q, _ := h.quotas.Load(name)
		c.quotas.Store(name, k.holding(q))
	}
	// Every cell that can be looked up is in one of these lists.
	c.cells, c.born = eachOf(h.cells, k.cell), eachOf(h.born, k.cell)
	told := func(t toldCell) toldCell { return toldCell{k.cell(t.cell), t.at} }
	c.owing = owing{
		untold: eachOf(h.owing.untold, k.cell), told: eachOf(h.owing.told, told), heard: eachOf(h.owing.heard, told),
		cells: h.owing.cells, oldest: h.owing.oldest,
	}
	c.touched.Store(k.cell(h.touched.Load()))
	return c
}

// holderCopier keeps what each pointer of the original became.
type holderCopier struct {
	owner  *Holder
	cells  map[*Cell]*Cell
	quotas map[*holding]*holding
	floors map[*floorLease]*floorLease
}

func (k *holderCopier) holding(q *holding) *holding {
	if c := k.quotas[q]; c != nil {
		return c
	}
	c := &holding{cells: xsync.NewMap[string, *Cell](), credited: q.credited, returned: q.returned}
	k.quotas[q] = c
	c.terms.Store(q.terms.Load()) // never changed in place
	c.floor.Store(k.floor(q.floor.Load()))
	c.count.Store(q.count.Load())
	c.max.Store(q.max.Load())
	c.full.Store(q.full.Load())
	c.floorSpent.Store(q.floorSpent.Load())
	c.overspent.Store(q.overspent.Load())
	c.worstOver.Store(q.worstOver.Load())
	c.worstAt.Store(q.worstAt.Load())
	c.forgotten.Store(q.forgotten.Load())
	c.window.Store(q.window.Load())
	return c
}

func (k *holderCopier) floor(f *floorLease) *floorLease {
	if f == nil {
		return nil
	}
	if c := k.floors[f]; c != nil {
		return c
	}
	c := &floorLease{slot: f.slot, grant: f.grant, rate: f.rate, burst: f.burst, start: f.start}
	c.deadline.Store(f.deadline.Load())
	if f.clock != nil {
		c.clock = &floorClock{windows: f.clock.windows, first: f.clock.first}
		c.clock.told.Store(f.clock.told.Load()) // replaced, never changed in place
		c.clock.span.Store(f.clock.span.Load())
	}
	k.floors[f] = c
	return c
}

func (k *holderCopier) cell(o *Cell) *Cell {
	if o == nil {
		return nil
	}
	if c := k.cells[o]; c != nil {
		return c
	}
	c := &Cell{
		id: o.id, seq: o.seq, owner: k.owner, overBefore: o.overBefore,
		floor: o.floor, floorGrant: k.floor(o.floorGrant), window: o.window, gone: o.gone, back: o.back, report: o.report,
	}
	c.back.floor = k.floor(o.back.floor)
	if o.over != nil {
		c.over = &cellOver{cut: o.over.cut, bucket: o.over.bucket, spent: slices.Clone(o.over.spent)}
	}
	c.overspent.Store(o.overspent.Load())
	c.handing.Store(o.handing.Load())
	k.cells[o] = c
	c.quota = k.holding(o.quota)
	if !o.gone {
		c.quota.cells.Store(o.id.Key, c)
	}
	c.lease.Store(o.lease.Load().clone())
	c.low.Store(o.low.Load())
	c.refused.Store(o.refused.Load())
	c.need.Store(o.need.Load())
	c.waiting.Store(o.waiting.Load())
	c.waitSince.Store(o.waitSince.Load())
	c.largest.Store(o.largest.Load())
	c.answered.Store(o.answered.Load())
	c.hint.Store(o.hint.Load()) // replaced, never changed in place
	c.queued.Store(o.queued.Load())
	c.floorSpent.Store(o.floorSpent.Load())
	c.next = k.cell(o.next)
	return c
}

func (l *lease) clone() *lease {
	if l == nil {
		return nil
	}
	c := &lease{
		session: l.session, account: l.account, granted: l.granted, returned: l.returned,
		base: l.base, echo: l.echo, window: l.window,
	}
	c.available.Store(l.available.Load())
	c.spent.Store(l.spent.Load())
	c.refunded.Store(l.refunded.Load())
	c.deadline.Store(l.deadline.Load())
	return c
}
