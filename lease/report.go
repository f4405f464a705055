package lease

import (
	"fmt"
	"slices"
	"time"
)

// Report takes one batch of reports. An error closes the stream; a report of
// a bucket that cannot be served is refused by itself.
func (l *Ledger) Report(now Moment, r ReportBatch) error {
	s, err := l.live(r.Session)
	switch {
	case err != nil:
		return err
	case !s.ready:
		return fmt.Errorf("%w: a report before the Hello is complete", ErrSession)
	case len(r.Reports) > MaxBatchReports:
		return fmt.Errorf("%w: %d reports in one batch, at most %d", ErrSession, len(r.Reports), MaxBatchReports)
	}
	if err := l.takeOverspent(now, s, &r); err != nil {
		return err
	}
	news := s.newer(&r)
	if news {
		s.lastPart = r.Part
	}
	if !s.heard || r.Sent > s.lastSent {
		s.measure(now.Mono, r.Clock)
		s.heard, s.lastSent, s.lastAt = true, r.Sent, now.Mono
	}
	if len(r.Reports) == 0 || len(r.Cuts)+len(r.Overspent) > 0 || now.Mono-s.answeredAt >= heartbeat {
		s.answer, s.answeredAt = true, now.Mono
	}
	for i := range r.Reports {
		if err := l.report(now, s, &r.Reports[i], &r, news); err != nil {
			return err
		}
	}
	if r.Goodbye {
		l.goodbye(now, s, r.Floors)
		return nil
	}
	l.serveFloors(now, s)
	return nil
}

// report takes one bucket's report, or keeps it until the record is read. news
// says that its batch was not heard before.
func (l *Ledger) report(now Moment, s *session, r *Report, batch *ReportBatch, news bool) error {
	if r.Spent < 0 || r.Returned < 0 || r.Refunded < 0 || r.GrantSeen < 0 || r.FloorReturned < 0 || r.FloorSpent < 0 || r.Span < 0 || len(r.Bucket.Key) > MaxKeyLen ||
		r.Ask.Demand < 0 || r.Ask.Want < 0 || r.Ask.Need < 0 {
		return fmt.Errorf("%w: a report is out of range", ErrSession)
	}
	b := l.lookup(r.Bucket)
	if b == nil {
		l.stats.Refused++
		return nil
	}
	if news && r.FloorSpent > 0 {
		l.takeFloorSpent(now, b, r, batch.Clock)
	}
	if b.state == bookOpen {
		l.takeReport(now, b, s, r, batch.Clock, batch.Sent == s.lastSent)
		return nil
	}
	kept := *r
	b.stash = append(b.stash, stashed{session: s.n, report: &kept, sent: batch.Sent, clock: batch.Clock})
	l.load(b)
	return nil
}

// takeReport merges a report into its account and has the bucket looked at.
// fresh says that it is of the newest batch of its session: only such a report
// may be answered by a grant, since the lease is counted from its sending.
func (l *Ledger) takeReport(now Moment, b *book, s *session, r *Report, clock time.Duration, fresh bool) {
	if !mutated("accrual after the report") {
		l.settle(now, b)
	}
	before := b.stock()
	defer func() {
		b.publish(before)
		l.enqueue(b)
	}()
	if r.FloorReturned > 0 || r.FloorGrant != 0 && b.quota.terms.Windowed {
		l.takeHandback(b, s, r)
	}
	a := b.account(s.holder)
	known := a != nil && a.n == r.Account
	switch {
	case known && !l.merge(now, b, a, r.Spent, r.Returned, r.Refunded), a != nil && r.Account > a.n:
		l.stats.Malformed++
		return
	case !known && r.Account != 0:
		l.lateReport(b, s, r)
	}
	if known {
		a.clock = max(a.clock, clock)
	}
	if !fresh {
		return
	}
	if a == nil && r.Close && r.Account != 0 {
		// It was closed before: told again, the holder can forget it.
		s.out.Grants = append(s.out.Grants, Grant{Bucket: b.id(), Account: r.Account, Granted: r.GrantSeen, Closed: true})
		return
	}
	if a == nil {
		if r.Ask.Want == 0 && r.Ask.Need == 0 {
			return
		}
		a = l.openAccount(b, account{
			holder: s.holder, session: s.n, n: s.nextAccount(), untold: true, clock: now.Mono,
			deadline: now.Mono + l.cfg.Drift.Outlast(b.quota.terms.TTL),
		})
	}
	a.clock = max(a.clock, clock)
	a.reportAt, a.echo, a.reported, a.ask = now.Mono, s.lastSent, true, r.Ask
	a.behind = !known || r.GrantSeen < a.granted
	if !known {
		return
	}
	a.acknowledge(r.GrantSeen, r.EchoSeen)
	if r.Close && a.outstanding() == 0 {
		l.closeAsked(b, s, a)
	}
}

// closeAsked closes an account that its holder emptied and wants to forget.
func (l *Ledger) closeAsked(b *book, s *session, a *account) {
	s.out.Grants = append(s.out.Grants, Grant{Bucket: b.id(), Account: a.n, Granted: a.granted, Closed: true})
	l.closeAccount(b, slices.IndexFunc(b.accounts, func(x account) bool { return x.n == a.n && x.holder == a.holder }))
}

// merge raises an account's counters to what its holder says, by max (law 3),
// and credits what was returned to the pool (law 2). It returns false, and
// changes nothing, when the holder says more than it was granted, or that more
// was refunded than spent.
func (l *Ledger) merge(now Moment, b *book, a *account, spent, returned, refunded int64) bool {
	spent, returned, refunded = max(a.spent, spent), max(a.returned, returned), max(a.refunded, refunded)
	if mutated("add instead of max") {
		returned = min(a.returned+returned, a.granted-spent)
	}
	if spent > a.granted || returned > a.granted-spent || refunded > spent && !mutated("a refund beyond what was admitted") {
		return false
	}
	back := returned - a.returned
	b.quota.books.Spent += spent - a.spent
	l.observeLease(now, b, a, spent-a.spent)
	a.spent, a.returned = spent, returned
	b.quota.movedBack(now.Mono, a, back)
	l.credit(b, back)
	l.refund(now, b, refunded-a.refunded)
	a.refunded = refunded
	return true
}

// credit puts returned tokens back into the pool. What a lower limit no longer
// allows is destroyed: granted again, it would outlive the longest lease (law 12).
func (l *Ledger) credit(b *book, tokens int64) {
	b.stale = b.stale || tokens > 0
	if !b.quota.terms.Windowed {
		if mutated("returns into the chunk") {
			b.chunk += tokens
		} else {
			b.pool += tokens
		}
		b.shed()
		return
	}
	before := b.free()
	b.used -= tokens
	b.quota.books.Destroyed += tokens - (b.free() - before)
}

// lateReport turns destroyed into spent in the books when a report of a closed
// account arrives; nothing else comes of it (law 3).
func (l *Ledger) lateReport(b *book, s *session, r *Report) {
	for i := range b.closed {
		a := &b.closed[i]
		if a.holder == s.holder && a.session == s.n && a.n == r.Account {
			if more := min(r.Spent, a.granted-a.returned) - a.spent; more > 0 {
				a.spent += more
				b.quota.books.Spent += more
				b.quota.books.Destroyed -= more
			}
		}
	}
}

// goodbye ends a holder: it returned everything, gives up its floors, and its
// accounts are closed.
func (l *Ledger) goodbye(now Moment, s *session, floors []FloorReturn) {
	l.holders.list[s.holder].gone = true
	for i := range floors {
		l.takeFloorReturn(now, s, &floors[i])
	}
	l.freeFloors(now, s.holder)
	s.ready = false
	s.out.Grants, s.out.Floors, s.out.Recalls = nil, nil, nil
}
