package lease

import (
	"math"
	"time"
)

// cellReport is what the holder's owner remembers of a cell.
type cellReport struct {
	// What the last report said.
	spent, returned, refunded, granted int64
	echo                               time.Duration
	ask                                Ask
	told                               int64 // demand
	// How far usage was taken into account.
	at      time.Duration
	used    int64 // of the lease's spent
	floored int64
	refused int64
	// waiting is what of the cell's waiting was, again what was before the last grant.
	waiting, again int64
	// overspent is how far that was noticed, owing in which of the holder's lists
	// the cell is, overAt when all of it was told.
	overspent int64
	overUsed  int64 // of it, measured as demand
	owing     owingState
	overAt    time.Duration
	// floorSaid is how far the floor's use was reported, saidAt when the last
	// report was made.
	floorSaid int64
	saidAt    time.Duration
	seen      time.Duration // when the cell was last used
	largest   int64         // cost that was asked for, and when
	largeAt   time.Duration
	low       int64
}

const (
	heartbeat = time.Second
	// A sweep visits every cell in about this many ticks.
	sweepTicks = 8
	minSweep   = 64
)

// Tick visits the buckets that changed since the last call, and some of the
// others. It returns the batch to send, and false when there is nothing to
// say. Its owner calls it every report interval, and sooner after Hurry.
func (h *Holder) Tick(now time.Duration) (ReportBatch, bool) {
	h.urgent.Store(false)
	h.adoptBorn()
	batch := ReportBatch{Session: h.session, Sent: now}
	if h.clocked {
		batch.Clock, batch.Answered = h.clockAt(now), h.made
	}
	live := h.live.Load()
	for c := h.touched.Swap(nil); c != nil; {
		next := c.next
		c.next = nil
		c.queued.Store(false)
		h.visit(now, c, live, &batch)
		c = next
	}
	h.sweep(now, live, &batch)
	if !live {
		return batch, false
	}
	batch.Reports = append(batch.Reports, h.dropped...)
	h.dropped = nil
	h.sayOverspent(now, maxOverspendReports, &batch)
	h.sayCuts(now, &batch)
	if len(batch.Reports)+len(batch.Cuts)+len(batch.Overspent) == 0 && now-h.lastOut < heartbeat {
		return batch, false
	}
	h.lastOut = now
	return batch, true
}

// sweep visits some cells in turn: to renew what is used seldom, to return
// what is idle, to forget what is not used at all.
func (h *Holder) sweep(now time.Duration, live bool, batch *ReportBatch) {
	for n := min(len(h.cells), max(minSweep, len(h.cells)/sweepTicks)); n > 0 && len(h.cells) > 0; n-- {
		if h.cursor >= len(h.cells) {
			h.cursor = 0
		}
		c := h.cells[h.cursor]
		if !c.queued.Load() && c.report.at != now {
			h.visit(now, c, live, batch)
		}
		if h.forget(now, c) {
			last := len(h.cells) - 1
			h.cells[h.cursor] = h.cells[last]
			h.cells[last] = nil
			h.cells = h.cells[:last]
			continue
		}
		h.cursor++
	}
}

// visit measures what a cell was used for, plans, and reports what changed.
func (h *Holder) visit(now time.Duration, c *Cell, live bool, batch *ReportBatch) {
	r := &c.report
	t := c.quota.terms.Load()
	h.owes(c)
	u := h.usage(now, c, t)
	l := c.lease.Load()
	idle := now-r.seen >= t.TTL
	p := Plan{}
	if !idle {
		p = h.cfg.Plan(&u)
	}
	r.low = p.Low
	if !live {
		r.ask = p.Ask
		return
	}
	if l != nil {
		c.giveBack(l, p.Keep)
	}
	out := Report{Bucket: c.id, Ask: p.Ask}
	news := c.handBack(now, u.Admitted+u.Refused > 0, &out)
	if out.Ask.Want == 0 && out.Ask.Need == 0 {
		c.low.Store(p.Low) // as the holder has just looked
	}
	h.say(now, c, l, t, out, idle, news, batch)
}

// usage measures what happened to a cell since it was last visited.
func (h *Holder) usage(now time.Duration, c *Cell, t *Terms) Usage {
	r := &c.report
	if r.at == 0 {
		// A new cell: it was not idle since the beginning of time.
		r.at, r.seen, r.saidAt = now-h.interval, now, now-h.interval
	}
	u := Usage{
		Elapsed: now - r.at, Last: r.ask, RoundTrip: h.roundTrip, Interval: h.interval,
		TTL: t.TTL, Limit: c.quota.most(), Size: t.Size, Lend: t.lends(), Ahead: t.ahead(),
	}
	if l := c.lease.Load(); l != nil {
		spent := l.spent.Load()
		u.Admitted += spent - r.used
		r.used = spent
		u.Unspent = l.available.Load()
		if now >= time.Duration(l.deadline.Load()) {
			u.Unspent = 0
		}
	}
	floored, refused := c.floorSpent.Load(), c.refused.Load()
	u.Admitted += floored - r.floored + r.overspent - r.overUsed
	r.overUsed = r.overspent
	u.Waiting = c.waiting.Load()
	u.Refused += refused - r.refused + u.Waiting - r.waiting
	if u.Admitted+u.Refused > 0 {
		r.seen = now
	}
	// Who waited was counted then, and is not again now that it is decided anew.
	u.Refused = max(u.Refused-r.again, -u.Admitted)
	r.waiting, r.again = u.Waiting, 0
	u.MaxRefused = c.need.Swap(0)
	if largest := max(u.MaxRefused, c.largest.Swap(0)); largest >= r.largest || now-r.largeAt > t.TTL {
		r.largest, r.largeAt = largest, now
	}
	u.Largest = r.largest
	r.floored, r.refused, r.at = floored, refused, now
	return u
}

// say reports a cell if there is anything new to say of it.
func (h *Holder) say(now time.Duration, c *Cell, l *lease, t *Terms, out Report, idle, news bool, batch *ReportBatch) {
	r := &c.report
	news = news || out.Ask.Need > 0 || out.Ask.Want > 0 && out.Ask.Want != r.ask.Want || l != nil && out.Ask.Demand < r.told/2
	if l != nil {
		out.Account, out.Refunded = l.account, l.refundedNow() // before spent, so that it is never above it
		out.Spent, out.Returned = l.spentNow(), l.returned
		out.GrantSeen, out.EchoSeen = l.granted, l.echo
		unspent := l.unspent()
		news = news || out.Spent != r.spent || out.Returned != r.returned || out.Refunded != r.refunded || out.GrantSeen != r.granted || out.EchoSeen != r.echo
		renew := !t.Windowed && unspent > 0 && time.Duration(l.deadline.Load())-now < t.TTL/2
		out.Close = idle && unspent == 0
		news = news || renew || out.Close
	}
	r.ask = out.Ask
	if h.clocked {
		out.FloorSpent = r.floored - r.floorSaid
	}
	if news = news || out.FloorSpent > 0; !news {
		return
	}
	out.Span = now - r.saidAt
	if r.floorSaid += out.FloorSpent; r.floorSaid == r.floored {
		r.saidAt = now
	}
	if out.Close {
		c.answered.Store(false) // who comes now asks anew, and waits for the answer
	}
	r.told = out.Ask.Demand
	r.spent, r.returned, r.refunded, r.granted, r.echo = out.Spent, out.Returned, out.Refunded, out.GrantSeen, out.EchoSeen
	if out.Ask.Want > 0 || out.Ask.Need > 0 {
		c.low.Store(-1) // asked: no hurry until the answer
	}
	batch.Reports = append(batch.Reports, out)
}

// forget drops a cell that is idle, has nothing leased, and whose part of the
// floor is what a key that was never seen would have (law 11).
func (h *Holder) forget(now time.Duration, c *Cell) bool {
	if now-c.report.seen < c.quota.terms.Load().TTL || c.lease.Load() != nil || c.queued.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil && (len(c.over.spent) > 0 || c.over.cut == h.openCut() && c.over.cut != 0) {
		return false // in the same cut its burst would begin anew
	}
	f := c.quota.floor.Load()
	if c.quota.terms.Load().Windowed {
		if c.spentWindow(now, f) {
			return false
		}
		f = nil // the rest is about what accrues
	}
	if f != nil && c.floorGrant == f && c.floorLevel(now) < f.unseen(now) {
		return false
	}
	if f != nil && c.back.floor == f && c.back.returned > 0 {
		return false // its counter goes on for as long as the session
	}
	c.forgetOver()
	c.gone = true
	c.quota.cells.Delete(c.id.Key)
	c.quota.count.Add(-1)
	c.wake()
	return true
}

// unseen is the level of a key that was never seen.
func (f *floorLease) unseen(now time.Duration) int64 {
	level, _ := f.rate.Accrue(now-f.start, 0, f.burst)
	return level
}

// Drain gives everything back for an orderly end: the batch returns what is
// unspent and says goodbye. Decisions are to have stopped before.
func (h *Holder) Drain(now time.Duration) ReportBatch {
	h.adoptBorn()
	batch := ReportBatch{Session: h.session, Sent: now, Goodbye: true}
	for _, c := range h.cells {
		h.owes(c)
		out := Report{Bucket: c.id}
		some := c.giveUpWindow(now, &out)
		if l := c.lease.Load(); l != nil {
			c.giveBack(l, 0)
			out.Refunded = l.refundedNow() // before spent, so that it is never above it
			out.Account, out.Spent, out.Returned = l.account, l.spentNow(), l.returned
			out.GrantSeen, out.EchoSeen, out.Close = l.granted, l.echo, l.unspent() == 0
			some = true
		}
		if some {
			batch.Reports = append(batch.Reports, out)
		}
	}
	h.sayOverspent(now, math.MaxInt, &batch) // there is no next batch
	h.sayCuts(now, &batch)
	for _, name := range h.names {
		if q, ok := h.quotas.Load(name); ok {
			if r, open := q.giveUp(now, name); open {
				batch.Floors = append(batch.Floors, r)
			}
			q.floor.Store(nil)
		}
	}
	h.live.Store(false)
	return batch
}
