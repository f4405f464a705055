package lease

import (
	"slices"
	"time"
)

// Books are the flows of tokens of one quota since the ledger opened, and
// Stock is where its tokens are. Always (law 16), in integers:
//
//	Initial + Refilled + Refunded = Stock.Pool + Stock.Chunk + Stock.Outstanding + Spent + Destroyed
type Books struct {
	Initial   int64 // in records that were opened, less those forgotten
	Refilled  int64
	Refunded  int64 // of Spent, taken back
	Spent     int64
	Destroyed int64 // expired, refused, trimmed or of a window that ended
}

// Stock says where tokens are.
type Stock struct {
	Pool        int64
	Chunk       int64
	Outstanding int64
}

func (s Stock) sum() int64 { return s.Pool + s.Chunk + s.Outstanding }

// Imbalance is 0 as long as the books balance.
func (b Books) Imbalance(s Stock) int64 {
	return b.Initial + b.Refilled + b.Refunded - s.sum() - b.Spent - b.Destroyed
}

// publish brings the quota's stock up to date after b changed.
func (b *book) publish(before Stock) {
	after, s := b.stock(), &b.quota.stock
	s.Pool += after.Pool - before.Pool
	s.Chunk += after.Chunk - before.Chunk
	s.Outstanding += after.Outstanding - before.Outstanding
}

// settle brings an open book up to now, and applies that what a holder did not
// claim it does not have. Everything that lowers A, C or O comes after it
// (law 1).
func (l *Ledger) settle(now Moment, b *book) {
	if b.state == bookOpen {
		l.advance(now, b)
		l.closeUnclaimed(b)
	}
}

// advance brings an open book up to now: the window, then refills and expiries
// in the order of their times.
func (l *Ledger) advance(now Moment, b *book) {
	before := b.stock()
	defer b.publish(before)
	if b.quota.terms.Windowed {
		l.roll(b)
		return
	}
	for at, ok := l.nextExpiry(now.Mono, b); ok; at, ok = l.nextExpiry(now.Mono, b) {
		b.refill(at)
		l.expire(at, b)
	}
	b.refill(now.Mono)
}

// refill credits what accrued since the last refill, as far as A + C + O stays
// within the capacity; time spent full is lost, the remainder with it (law 1).
func (b *book) refill(at time.Duration) {
	if b.quota.terms.Windowed {
		return
	}
	mark := b.quota.meter.Mark(at)
	room := max(0, b.quota.capacity-b.held())
	if mutated("cap on A alone") {
		room = max(0, b.quota.capacity-b.pool)
	}
	tokens, rem := b.quota.meter.Since(b.mark, mark, b.rem, room)
	b.pool += tokens
	b.rem, b.mark = rem, mark
	b.quota.books.Refilled += tokens
}

// nextExpiry finds the earliest deadline that has passed by now.
func (l *Ledger) nextExpiry(now time.Duration, b *book) (at time.Duration, ok bool) {
	consider := func(d time.Duration) {
		if d <= now && (!ok || d < at) {
			at, ok = d, true
		}
	}
	for i := range b.accounts {
		consider(b.accounts[i].deadline)
	}
	if b.inherits > 0 || len(b.bounds) > 0 {
		consider(l.settles)
	}
	return at, ok
}

// expire destroys what has run out by at (law 4).
func (l *Ledger) expire(at time.Duration, b *book) {
	if at >= l.settles {
		b.dropInheritance()
	}
	for i := len(b.accounts) - 1; i >= 0; i-- {
		switch a := &b.accounts[i]; {
		case a.deadline > at:
		case mutated("credit at expiry"):
			l.credit(b, a.outstanding())
			a.returned += a.outstanding()
			l.closeAccount(b, i)
		case mutated("one account over an expiry"):
			b.quota.books.Destroyed += a.outstanding()
			a.returned += a.outstanding()
			a.deadline = at + time.Hour
		default:
			l.closeAccount(b, i)
		}
	}
}

// dropInheritance destroys what older leaders left and nobody claimed.
func (b *book) dropInheritance() {
	b.quota.books.Destroyed += b.inherits
	for i := range b.bounds {
		b.quota.books.Destroyed += b.bounds[i].Tokens
	}
	b.inherits, b.bounds = 0, nil
}

// maxClosed is how many closed accounts a book remembers for late reports.
const maxClosed = 4

// closeAccount ends an account for good; what is unspent in it is destroyed.
func (l *Ledger) closeAccount(b *book, i int) {
	a := b.accounts[i]
	l.holders.list[a.holder].accounts--
	b.quota.books.Destroyed += a.outstanding()
	b.accounts = slices.Delete(b.accounts, i, i+1)
	if a.outstanding() == 0 {
		return
	}
	if len(b.closed) == maxClosed {
		b.closed = slices.Delete(b.closed, 0, 1)
	}
	b.closed = append(b.closed, a)
}

// closeUnclaimed applies that absent means zero: a holder whose newest Hello
// is complete has nothing in accounts of older sessions, and nothing of what
// the record says of it (law 3).
func (l *Ledger) closeUnclaimed(b *book) {
	before := b.stock()
	defer b.publish(before)
	for i := len(b.accounts) - 1; i >= 0; i-- {
		a := &b.accounts[i]
		h := &l.holders.list[a.holder]
		if h.gone || (h.complete && a.session != h.session) {
			l.closeAccount(b, i)
		}
	}
	for i := len(b.bounds) - 1; i >= 0; i-- {
		if j, ok := l.holders.index[b.bounds[i].Holder]; ok && l.holders.list[j].settled() {
			b.quota.books.Destroyed += b.bounds[i].Tokens
			b.bounds = slices.Delete(b.bounds, i, i+1)
		}
	}
}

// roll moves a book of a window quota to the quota's window. All accounts of
// the old window end with it (law 5).
func (l *Ledger) roll(b *book) {
	q := b.quota
	if b.window == q.window.High || b.window > q.window.High && !mutated("a window goes back") || b.inFlight {
		return
	}
	q.books.Destroyed += b.stock().sum()
	b.chunk, b.inherits, b.bounds = 0, 0, nil
	var carried []account
	for i := range b.accounts {
		a := &b.accounts[i]
		l.holders.list[a.holder].accounts--
		b.closed = append(b.closed, *a)
		if c, ok := l.carry(a); ok {
			carried = append(carried, c)
		}
	}
	if over := len(b.closed) - maxClosed; over > 0 {
		b.closed = slices.Delete(b.closed, 0, over)
	}
	b.accounts = nil
	b.handbacks = nil // of a window that has ended
	b.start()
	for i := range carried {
		l.openAccount(b, carried[i])
	}
	q.books.Initial += b.free()
}

// carry returns the account in which a holder waits in the new window for what it
// asked for in the old one and did not get: it will not ask again by itself.
func (l *Ledger) carry(a *account) (account, bool) {
	s := l.sessions[a.session]
	if s == nil || !s.ready || !a.reported || max(a.ask.Want, a.ask.Need) <= a.outstanding() {
		return account{}, false
	}
	return account{
		holder: a.holder, session: a.session, n: s.nextAccount(), deadline: a.deadline, untold: true,
		reportAt: a.reportAt, echo: a.echo, reported: true, ask: a.ask, clock: a.clock,
	}, true
}
