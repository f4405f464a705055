package lease

import (
	"math"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

func (w *stateWriter) quota(l *Ledger, q *quota) {
	now := w.Now.Mono
	w.terms(&q.terms)
	w.bits(q.removed, q.rolling)
	w.at(now, q.removedAt)
	w.int(q.meter.Rate().Tokens, int64(q.meter.Rate().Per), q.windowRev, q.capacity)
	w.windowRecord(q.window)
	w.count(len(q.slots))
	for i := range q.slots {
		w.slot(&q.slots[i])
	}
	n := q.newborn
	w.int(n.pool)
	w.accrued(q, n.mark, q.meter.Mark(now), n.rem, q.capacity-n.pool)
	if q.buckets != len(l.order) || !w.Plain {
		w.count(q.buckets)
	}
	w.int(q.books.Imbalance(q.stock))
	if !w.Plain {
		w.int(q.books.Initial, q.books.Refilled, q.books.Refunded, q.books.Spent, q.books.Destroyed)
		w.int(q.stock.Pool, q.stock.Chunk, q.stock.Outstanding, q.granted, q.stranded, q.strands)
		w.int(q.moved.Tokens, q.moved.Recalls, int64(q.moved.Time))
		w.int(q.floorSpent, q.overspent, q.observed.Low, q.observed.High)
		w.at(now, q.unsure)
		w.int(q.unsureWindow)
	}
	if !l.complete || !w.Plain {
		w.accrued(q, q.meter.Mark(l.began), q.meter.Mark(now), 0, math.MaxInt64) // what is still to be read accrues from there
	}
}

// accrued writes what came in between two marks. When it is cut off at the room
// there is now, nothing is lost: a refill may be made at any time, and time
// spent full brings nothing.
func (w *stateWriter) accrued(q *quota, from, to bucket.Mark, rem uint64, room int64) {
	if q.terms.Windowed {
		return
	}
	if !w.Plain {
		tokens, left := q.meter.Since(from, to, 0, math.MaxInt64)
		w.int(tokens)
		w.uint(left, rem)
		return
	}
	tokens, left := q.meter.Since(from, to, rem, max(0, room))
	w.int(tokens)
	w.uint(left)
}

// refill writes what a book gains when it is next brought up to now: up to the
// first expiry there is the room that there is now, afterwards there is more.
func (w *stateWriter) refill(l *Ledger, b *book) {
	q, to := b.quota, b.quota.meter.Mark(w.Now.Mono)
	room := q.capacity - b.held()
	at, due := l.nextExpiry(w.Now.Mono, b)
	if !due {
		w.accrued(q, b.mark, to, b.rem, room)
		return
	}
	w.accrued(q, b.mark, q.meter.Mark(at), b.rem, room)
	w.accrued(q, q.meter.Mark(at), to, 0, math.MaxInt64)
}

func (w *stateWriter) slot(s *slot) {
	w.str(s.terms.Region)
	w.int(s.terms.Tokens, s.terms.Burst, s.owner.Tokens, s.owner.Burst, int64(s.owner.TTL), int64(s.owner.Per), s.revision)
	w.holderID(s.owner.Holder)
	w.str(s.owner.Region)
	w.uint(s.owner.Grant)
	w.bits(s.owner.Free, s.owned, s.inFlight, s.again, s.told)
	w.until(w.Now.Mono, s.until)
	w.since(w.Now.Mono, s.toldAt, max(s.owner.TTL, floorPause))
	w.window(s.owner.First)
	w.window(s.owner.Through)
	w.window(s.owner.PriorLast)
	w.int(s.owner.PriorTokens)
	w.window(s.inherited)
	if s.ahead != 0 {
		w.int(s.ahead - w.Now.Wall.UnixNano() + int64(w.Now.Mono))
	}
}

func (w *stateWriter) book(l *Ledger, b *book) {
	t := &b.quota.terms
	w.str(t.Quota)
	w.str(b.key)
	w.int(b.pool, b.used, b.pending, b.chunk, b.inherits, b.revision)
	w.window(b.window)
	w.uint(uint64(b.state))
	w.bits(b.inFlight, b.dying, b.queued, b.hungry, b.stale)
	w.refill(l, b)
	w.count(len(b.accounts))
	for i := range b.accounts {
		w.account(l, &b.accounts[i], t)
	}
	w.count(len(b.bounds))
	for _, o := range b.bounds {
		w.holderID(o.Holder)
		w.int(o.Tokens)
	}
	w.count(len(b.handbacks))
	for i := range b.handbacks {
		h := &b.handbacks[i]
		w.uint(h.session, h.grant)
		w.int(int64(h.holder), h.returned)
		w.since(w.Now.Mono, h.askedAt, handbackPause)
	}
	w.count(len(b.stash))
	for _, m := range b.stash {
		w.stashed(l, m)
	}
	if w.Plain {
		return // closed accounts turn destroyed into spent, which are not told apart
	}
	w.uint(b.turn)
	w.int(b.refunded)
	w.count(b.place)
	w.int(b.worst.excess, int64(b.worst.rem))
	w.at(w.Now.Mono, b.worst.from)
	w.at(w.Now.Mono, b.worst.at)
	if b.past != nil {
		for _, p := range b.past {
			w.int(p.window, p.spent, p.over)
		}
	}
	w.count(len(b.closed))
	for i := range b.closed {
		w.account(l, &b.closed[i], t)
	}
}

func (w *stateWriter) stashed(l *Ledger, m stashed) {
	w.uint(m.session, m.account)
	w.int(int64(m.holder))
	w.bits(m.claim != nil, m.report != nil)
	var clock time.Duration
	if s := l.sessions[m.session]; s != nil && s.holder >= 0 {
		clock = w.Holder(l.holders.list[s.holder].id)
	}
	if m.claim != nil {
		w.claim(m.claim)
	}
	if m.report != nil {
		w.report(m.report, clock)
	}
	w.at(clock, m.sent)
	if !w.Plain {
		w.at(w.Now.Mono, m.clock)
	}
}

func (w *stateWriter) account(l *Ledger, a *account, t *Terms) {
	now, ttl := w.Now.Mono, t.TTL
	clock := w.Holder(l.holders.list[a.holder].id)
	w.int(int64(a.holder), a.granted, a.spent, a.returned, a.refunded)
	w.uint(a.session, a.n)
	w.bits(a.reported, a.untold, a.behind, a.warned, a.marked)
	w.ask(a.ask)
	if !w.Plain || !t.Windowed {
		w.at(now, a.deadline)
	}
	w.since(now, a.reportAt, ttl+1)
	w.at(clock, a.echo)
	w.since(now, a.toldAt, ttl)
	if w.Plain {
		w.bits(a.echo > a.toldEcho) // a newer echo is greater than either
	} else {
		w.at(clock, a.toldEcho)
	}
	if a.marked || !w.Plain {
		w.int(a.markGranted)
		w.at(clock, a.markEcho)
		w.since(now, a.markAt, ttl)
	}
	w.since(now, a.recalledAt, ttl)
	w.at(now, a.clock)
	if !w.Plain {
		w.int(a.surplus)
	}
}
