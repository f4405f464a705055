package lease

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Grants takes one batch of a coordinator. It fails with ErrStale for a batch
// of any session but the present one; then nothing was taken (law 9).
func (h *Holder) Grants(now time.Duration, b GrantBatch) error {
	if (b.Session != h.session || !h.live.Load()) && !mutated("no fence at the holder") {
		return fmt.Errorf("%w: grants of session %v, this is %v", ErrStale, b.Session, h.session)
	}
	if b.Echo > 0 && b.Echo <= now {
		h.measure(now - b.Echo)
		h.cutsHeard(b.Echo)
		h.overspendHeard(b.Echo)
	}
	if b.Wall > 0 {
		h.wall.Store(b.Wall - int64(now))
	}
	h.ahead, h.made, h.clocked = b.Made-now, b.Made, true
	h.see(b.Session.Epoch, b.StoreRevision)
	for i := range b.Grants {
		h.grant(now, &b.Grants[i])
	}
	for i := range b.Recalls {
		h.recall(now, &b.Recalls[i])
	}
	for i := range b.Floors {
		h.grantFloor(now, &b.Floors[i])
	}
	return nil
}

// measure takes one round trip into the average.
func (h *Holder) measure(d time.Duration) {
	if h.roundTrip == 0 {
		h.roundTrip = d
	}
	h.roundTrip += (d - h.roundTrip) / 8
}

// wallAt is the coordinators' wall clock at a moment of ours, as far as it is
// known: a message is older by the way it took, and since then clocks ran apart
// within the drift.
func (h *Holder) wallAt(now time.Duration) (wall time.Time, known bool) {
	ahead := h.wall.Load()
	return time.Unix(0, ahead+int64(now)), ahead != 0
}

// clockAt is what the coordinator's clock shows at least: since its last message
// it may have run slower than ours by all that clocks are allowed to.
func (h *Holder) clockAt(now time.Duration) time.Duration {
	age := max(0, now-(h.made-h.ahead))
	return now + h.ahead - (h.drift.Outlast(age) - age)
}

// find returns the cell of a bucket if the holder still has one.
func (h *Holder) find(id BucketID) *Cell {
	q, ok := h.quotas.Load(id.Quota)
	if !ok {
		return nil
	}
	c, _ := q.cells.Load(id.Key)
	return c
}

// remake makes the cell of a bucket again, if its quota is in force.
func (h *Holder) remake(id BucketID) *Cell {
	q, ok := h.quotas.Load(id.Quota)
	if !ok {
		return nil
	}
	return h.makeCell(q, id.Quota, id.Key)
}

// grant applies one grant. Grants are absolute: taken twice, or in another
// order, they leave the same (law 3).
func (h *Holder) grant(now time.Duration, g *Grant) {
	c := h.find(g.Bucket)
	if c == nil && g.Granted > 0 && !g.Closed && g.Account > h.closed {
		// It was long on its way, and its cell is forgotten: a lease is given
		// back, and not left to nobody (law 18).
		c = h.remake(g.Bucket)
	}
	if c == nil || g.Granted < 0 || g.Echo > now {
		return
	}
	if mutated("a retry re-anchors the deadline") {
		g.TTL += now - g.Echo
	}
	if mutated("a holder without deadlines") {
		g.TTL += time.Hour
	}
	l := c.lease.Load()
	news := l == nil || g.Account != l.account || g.Granted > l.granted
	switch {
	case l != nil && g.Account == l.account:
		h.raise(c, l, g)
	case l != nil && g.Account < l.account, l == nil && g.Account <= h.closed:
		return // of an account that is closed for good
	default:
		h.replace(c, l, g)
	}
	// An answer that gives nothing, and has nothing to wait for, says little: what
	// was asked for is being set aside (law 2), or a lease that was given back is
	// renewed. Nor does one that closes an account.
	if !g.Closed && (news && g.Granted > 0 || g.Wait > 0) {
		c.answered.Store(true)
	}
	h.noteHint(c, now, g)
	// Whoever waits decides anew.
	c.waiting.Store(0)
	c.report.again += c.report.waiting
	c.report.waiting = 0
	c.waitSince.Store(0)
	c.low.Store(c.report.low)
	c.touch()
	c.wake()
}

// raise brings the account up to what the grant says of it.
func (h *Holder) raise(c *Cell, l *lease, g *Grant) {
	if more := g.Granted - l.granted; more > 0 {
		l.granted = g.Granted
		c.quota.credited += more
		l.available.Add(more)
		if mutated("one credit for each waiter") && c.changed != nil {
			l.available.Add(more)
		}
	}
	l.echo = max(l.echo, g.Echo)
	if end := int64(g.Echo + g.TTL); end > l.deadline.Load() {
		l.deadline.Store(end)
	}
	if g.Closed && l.unspent() == 0 {
		h.closed = max(h.closed, l.account)
		c.drop()
	}
}

// replace opens the account that follows one that the coordinator ended; what
// was left in the old one is dropped (law 3).
func (h *Holder) replace(c *Cell, old *lease, g *Grant) {
	if old != nil {
		old.available.Swap(0)
		h.closed = max(h.closed, old.account)
		h.dropped = append(h.dropped, Report{
			Bucket: c.id, Account: old.account, Spent: old.spentNow(), Returned: old.returned, GrantSeen: old.granted,
		})
	}
	if g.Closed {
		h.closed = max(h.closed, g.Account)
		c.lease.Store(nil)
		c.answered.Store(false)
		return
	}
	l := &lease{session: h.session, account: g.Account, granted: g.Granted, echo: g.Echo, window: g.Window}
	l.deadline.Store(int64(g.Echo + g.TTL))
	l.available.Store(g.Granted)
	c.quota.credited += g.Granted
	c.lease.Store(l)
	c.report.spent, c.report.returned, c.report.refunded, c.report.granted, c.report.echo, c.report.used = 0, 0, 0, 0, 0, 0
}

func (h *Holder) noteHint(c *Cell, now time.Duration, g *Grant) {
	n := &hint{at: now, pool: g.Pool, wait: g.Wait}
	if c.quota.terms.Load().Windowed {
		n.window = g.Echo + g.TTL
	}
	c.hint.Store(n)
}

// recall gives tokens up and then reports them returned (law 7).
func (h *Holder) recall(now time.Duration, r *Recall) {
	if r.FloorGrant != 0 {
		h.recallFloor(now, r)
		return
	}
	c := h.find(r.Bucket)
	if c == nil {
		return
	}
	if l := c.lease.Load(); l != nil && l.account == r.Account {
		c.giveBack(l, r.Keep)
	}
}

// giveBack returns what is available above keep.
func (c *Cell) giveBack(l *lease, keep int64) {
	if more := l.takeUpTo(max(0, l.available.Load()-max(0, keep))); more > 0 {
		l.returned += more
		c.quota.returned += more
		if n := c.hint.Load(); n != nil {
			hint := *n
			hint.pool += more // nobody else needs to tell us
			c.hint.Store(&hint)
		}
		c.touch()
	}
}

// grantFloor takes a floor over, renews it, or gives it up (law 11).
func (h *Holder) grantFloor(now time.Duration, g *FloorGrant) {
	q, ok := h.quotas.Load(g.Quota)
	if !ok || g.Echo > now {
		return
	}
	f := q.floor.Load()
	if f != nil && now >= time.Duration(f.deadline.Load()) && f.grant != g.Grant {
		f = nil // it has ended
	}
	switch {
	case g.Grant == 0:
		if f != nil && f.slot == g.Slot {
			q.floor.Store(nil)
		}
	case f != nil && f.slot == g.Slot && f.grant == g.Grant:
		if end := int64(g.Echo + g.TTL); end > f.deadline.Load() {
			f.deadline.Store(end)
		}
		if f.clock != nil {
			f.clock.hear(now, g)
		}
	case f != nil && f.slot == g.Slot && f.grant > g.Grant:
	default:
		n := &floorLease{
			slot: g.Slot, grant: g.Grant, burst: g.Burst, start: now,
			rate: bucket.Rate{Tokens: g.Tokens, Per: q.terms.Load().Per},
		}
		if t := q.terms.Load(); t.Windowed {
			n.clock = &floorClock{windows: t.Windows, first: g.First}
			n.clock.hear(now, g)
		}
		n.deadline.Store(int64(g.Echo + g.TTL))
		q.floor.Store(n)
	}
}
