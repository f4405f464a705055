package lease

import (
	"math"
	"slices"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// A floor of a window quota is a part of each window (law 11): its owner may
// spend so many tokens of each bucket in every window from its first one on.
// They are set aside when a book comes to the window, and never within it: a new
// owner begins with a window that is not open yet, and that no earlier owner can
// have spent from. So a window has one owner of a slot at most, and a slot that
// nobody owned when the window opened takes nothing from it.
//
// A holder that is cut off crosses boundaries by its own clock, which carries on
// the coordinator's wall clock. How far it can come that way is known: no
// further than the wall clock that it was told, and the length of its lease. That
// window is durable before it is told (floorRecord.Through), so that whoever
// leads next knows which windows may have been spent from ahead of time.

// reserved is what owners of floors may spend of each bucket in a window, as
// far as it has not been handed back.
func (q *quota) reserved(window int64) int64 {
	r := &q.reserve
	if !r.known || r.window != window {
		*r = reserve{known: true, window: window}
		for i := range q.slots {
			r.tokens = min(bucket.MaxTokens, r.tokens+q.slots[i].reserved(window))
		}
	}
	return r.tokens
}

// reserve keeps the last answer of reserved until an owner changes.
type reserve struct {
	known  bool
	window int64
	tokens int64
}

// reserved is what owners of the slot may spend of each bucket in a window.
func (s *slot) reserved(window int64) (tokens int64) {
	if window <= s.owner.PriorLast {
		tokens = s.owner.PriorTokens
	}
	if s.owned && window >= s.owner.First {
		tokens = max(tokens, s.owner.Tokens)
	}
	return tokens
}

// start begins a book in the window that is open: what floors may spend in it
// counts as used, and all of it does in a window of a lost past (law 13).
func (b *book) start() {
	q := b.quota
	b.window, b.used = q.window.High, q.reserved(q.window.High)
	if mutated("floors of a window not reserved") {
		b.used = 0
	}
	if b.window <= q.window.Spoiled {
		b.used = max(b.used, q.terms.Tokens)
	}
}

// entitle says from which window on the new owner of a slot may spend, after
// the owner of old.
func (l *Ledger) entitle(now Moment, q *quota, f *slot, old *floorRecord) {
	f.owner.PriorLast, f.owner.PriorTokens = old.PriorLast, old.PriorTokens
	f.owner.First = q.firstWindow(old)
	if mutated("a window floor begins at once") {
		f.owner.First = q.window.High
	}
	f.owner.Through = q.terms.Windows.Index(now.Wall.Add(f.owner.TTL + f.owner.TTL/4))
	f.inherited, f.ahead = 0, 0
}

// firstWindow is the first window that a new owner of a slot may spend from: it is
// not open, and no owner before can have come to it.
func (q *quota) firstWindow(old *floorRecord) int64 {
	last := max(q.window.High, old.PriorLast)
	if mutated("two owners of a floor in one window") {
		last = q.window.High
	}
	return q.terms.Windows.Next(last)
}

// lasting is the most that owners of the slot may spend in any window from one on.
func (s *slot) lasting(window int64) (tokens int64) {
	if window <= s.owner.PriorLast {
		tokens = s.owner.PriorTokens
	}
	if s.owned {
		tokens = max(tokens, s.owner.Tokens)
	}
	return tokens
}

// disentitle keeps in which windows the owner of a slot, which surely stopped,
// may have spent.
func (l *Ledger) disentitle(now Moment, q *quota, f *slot) {
	o, last := &f.owner, l.lastWindow(now, q, f)
	if last < o.First {
		return // it never came to one
	}
	if o.PriorLast < q.window.High {
		o.PriorTokens = 0 // no book comes to those windows any more
	}
	o.PriorLast, o.PriorTokens = max(o.PriorLast, last), max(o.PriorTokens, o.Tokens)
}

// lastWindow is the highest window that the owner of a slot, which has stopped by
// now, may have spent from: of what leaders before us told it, as they wrote
// down; of what we told it, as far as its clock may have carried our wall clock.
func (l *Ledger) lastWindow(now Moment, q *quota, f *slot) int64 {
	last := f.inherited
	if mutated("what older leaders told of a floor forgotten") {
		last = 0
	}
	if f.told {
		lease := l.cfg.Drift.Outlast(f.owner.TTL)
		slack := l.cfg.Drift.Outlast(lease) - lease
		last = max(last, q.terms.Windows.Index(time.Unix(0, f.ahead+int64(now.Mono+slack))))
	}
	return min(last, f.owner.Through)
}

// reaches says that the owner of a slot may be told our wall clock: how far it
// comes with that is durable. If not, or not for long, it has that written; then
// the owner is told.
func (l *Ledger) reaches(now Moment, q *quota, i int32) bool {
	f := &q.slots[i]
	ttl, w := f.owner.TTL, q.terms.Windows
	ok := w.Index(now.Wall.Add(ttl)) <= f.owner.Through
	if w.Index(now.Wall.Add(ttl+ttl/8)) > f.owner.Through {
		f.owner.Through = w.Index(now.Wall.Add(ttl + ttl/4))
		l.writeFloor(q, i)
	}
	return ok
}

// disownWindows has the slot of a lost past count in every window: nobody knows
// since when its owner may spend, and how far it came is taken from our clock.
func (l *Ledger) disownWindows(now Moment, q *quota, s *slot, old *floorRecord) {
	if !q.terms.Windowed {
		return
	}
	s.owner.First = math.MinInt64
	s.owner.PriorLast, s.owner.PriorTokens = old.PriorLast, old.PriorTokens
	s.owner.Through = max(old.Through, q.terms.Windows.Index(now.Wall.Add(l.cfg.Drift.Outlast(l.election+s.owner.TTL))))
	s.inherited = s.owner.Through
}

// takeWindowHandback credits what a holder handed back of the window that is
// open. Of another window nothing is credited: an older one has ended, and of one
// to come the book does not know yet.
func (l *Ledger) takeWindowHandback(b *book, s *session, r *Report) {
	if r.FloorWindow != b.window && !mutated("a handback of an older window credited") {
		return
	}
	part := b.quota.partOf(l.holders.list[s.holder].id, r.FloorGrant, b.window)
	if part == 0 {
		return
	}
	h := b.handback(s.holder, s.n, r.FloorGrant)
	if r.FloorReturned == 0 {
		return // it is known now that the holder itself tells of this bucket
	}
	if more := min(r.FloorReturned, part) - h.returned; more > 0 {
		l.creditFloor(b, more)
		h.returned = r.FloorReturned
	}
	s.out.Recalls = append(s.out.Recalls, Recall{
		Bucket: b.id(), FloorGrant: h.grant, FloorSeen: h.returned, FloorWindow: b.window,
	})
}

// creditFloor puts what comes back of a floor into the pool.
func (l *Ledger) creditFloor(b *book, tokens int64) {
	// What is set aside or leased is not a floor's.
	tokens = min(tokens, max(0, b.used-b.chunk-b.pending-b.outstanding()))
	before := b.free()
	b.used -= tokens
	b.stale = b.stale || tokens > 0
	b.quota.books.Refilled += b.free() - before
}

// takeFloorReturn credits the whole part of a floor that its owner gives up to
// every book of which it told nothing in the session: a holder keeps the cells that
// it spent from while their window lasts, and tells of all that it keeps. A bucket
// that is not in memory keeps the part set aside until the window ends.
func (l *Ledger) takeFloorReturn(now Moment, s *session, r *FloorReturn) {
	q := l.quota(r.Quota)
	if q == nil || !q.terms.Windowed || r.Window != q.window.High {
		return
	}
	part := q.partOf(l.holders.list[s.holder].id, r.Grant, r.Window)
	if part == 0 {
		return
	}
	for _, b := range l.order {
		if b.quota != q || b.state != bookOpen {
			continue
		}
		l.settle(now, b)
		told := slices.ContainsFunc(b.handbacks, func(h handback) bool {
			return h.holder == s.holder && h.session == s.n && h.grant == r.Grant
		})
		if b.window != r.Window || told && !mutated("a floor given up twice") {
			continue
		}
		before := b.stock()
		l.creditFloor(b, part)
		b.publish(before)
		l.enqueue(b)
	}
}

// partOf is what the owner of a floor may spend in a window, 0 if it is not the
// owner or its entitlement begins later.
func (q *quota) partOf(id HolderID, grant uint64, window int64) int64 {
	for i := range q.slots {
		if f := &q.slots[i]; f.owned && f.owner.Holder == id && f.owner.Grant == grant && window >= f.owner.First {
			return f.owner.Tokens
		}
	}
	return 0
}
