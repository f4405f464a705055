package lease

import "time"

// serve looks at one open book: it asks the allocator, grants from the chunk,
// recalls, and notes what must be set aside first.
func (l *Ledger) serve(now Moment, b *book) {
	l.settle(now, b)
	if b.state != bookOpen || b.dying || !l.granting(now) || !b.quota.open(b.window) {
		return
	}
	before := b.stock()
	targets := l.allocate(now, b)
	cut := b.held() > b.quota.capacity // the limit was cut below what is leased
	var unmet int64
	for i := range b.accounts {
		unmet += l.serveAccount(now, b, &b.accounts[i], targets[i], cut)
	}
	if l.short(targets) > 0 {
		l.recallFloors(now, b)
	}
	b.publish(before)
	l.setAside(b, unmet)
	if unmet > 0 && !b.hungry {
		b.hungry = true
		l.hungry = append(l.hungry, b)
	}
}

// open says whether the quota may be granted from in a window.
func (q *quota) open(window int64) bool {
	return !q.removed && (!q.terms.Windowed || q.windowRev != 0 && window == q.window.High)
}

// allocate asks the allocator how much each account should have.
func (l *Ledger) allocate(now Moment, b *book) []Target {
	s := &l.situation
	// What is being set aside can be granted as soon as that is durable.
	*s = Situation{
		Free: b.free() + b.pending + b.chunk, Limit: b.quota.capacity,
		Lend: b.quota.terms.lends(), Ahead: b.quota.terms.ahead(), Turn: b.turn, Interval: l.cfg.ReportInterval, Asks: s.Asks[:0],
	}
	b.turn++
	for i := range b.accounts {
		a := &b.accounts[i]
		ask := HolderAsk{
			Region:      b.quota.terms.Region(l.holders.list[a.holder].id.Region),
			Outstanding: a.outstanding(), Later: a.outstanding() > 0 && now.Mono-a.toldAt < crumbPause/2,
		}
		if s := l.sessions[a.session]; s != nil {
			ask.RoundTrip = s.roundTrip
		}
		if l.ttl(now, b, a) > 0 { // else what it asked for is out of date
			ask.Ask = a.ask
		}
		s.Asks = append(s.Asks, ask)
	}
	for len(l.targets) < len(s.Asks) {
		l.targets = append(l.targets, Target{})
	}
	targets := l.targets[:len(s.Asks)]
	clear(targets)
	l.cfg.Allocate(s, targets)
	return targets
}

// serveAccount grants, renews and recalls in one account. It returns how much
// of what the account should have is still to come. Cut says that the limit was cut
// below what is leased: then nothing is renewed.
func (l *Ledger) serveAccount(now Moment, b *book, a *account, t Target, cut bool) (unmet int64) {
	s := l.sessions[a.session]
	if s == nil || !s.ready || !a.reported {
		return 0
	}
	ttl := l.ttl(now, b, a)
	if ttl <= 0 || a.deaf(now.Mono, b.quota.terms.TTL) && !mutated("a deaf holder renewed") {
		return 0
	}
	want := max(0, t.Hold-a.outstanding())
	if t.Hold == 0 && mutated("a share of 0 means unlimited") {
		want = b.chunk + b.free()
	}
	grant := min(want, b.chunk)
	if need := a.ask.Need - a.outstanding(); need > 0 && grant < need && grant < want {
		grant = 0 // a large cost is granted whole
	}
	if l.crumb(now, a, grant, want) {
		grant = 0
	}
	// A lease of a window ends with it, told again or not (law 5).
	renew := !b.quota.terms.Windowed && a.outstanding() > 0 && a.echo > a.toldEcho && now.Mono-a.toldAt >= b.quota.terms.TTL/4
	again := a.behind && a.clock >= a.toldAt+lateness // it was lost, or is very late
	// How long until what is needed could be there, the holder is told once.
	short := a.ask.Need > a.outstanding()+want
	warn := short && !a.warned
	if cut {
		renew, again, warn = false, false, false
	}
	a.warned = short && (a.warned || warn)
	if grant > 0 || renew || again || warn || a.untold {
		if !b.inFlight || !mutated("apply that sets") {
			b.chunk -= grant
		}
		a.granted += grant
		l.stats.Granted += grant
		b.quota.granted += grant
		a.deadline = max(a.deadline, a.reportAt+l.cfg.Drift.Outlast(ttl))
		l.tell(now, b, s, a, ttl, want-grant)
	}
	if t.Recall && l.recallable(now, a, max(0, t.Hold)) {
		a.recalled(now.Mono, max(0, t.Hold))
		s.out.Recalls = append(s.out.Recalls, Recall{Bucket: b.id(), Account: a.n, Keep: max(0, t.Hold)})
	}
	return want - grant
}

// crumb says that a grant can wait for more to come with it. The holder has
// something, and the grant is less than half of what is meant for it, the rest of
// which is being set aside; or a small addition to a grant that is still on its
// way; or it leaves the holder short shortly after another grant did.
// Else a bucket in demand everywhere would be granted token by token, and every lease
// twice.
func (l *Ledger) crumb(now Moment, a *account, grant, want int64) bool {
	held := a.outstanding()
	if grant <= 0 || held <= 0 {
		return false
	}
	since := now.Mono - a.toldAt
	small := 4*grant < a.ask.Want
	return 2*grant < want || a.behind && small && 2*held > a.ask.Want ||
		held+grant < a.ask.Want && since < crumbPause
}

const (
	// crumbPause is the least time between two grants that leave an account short
	// as long as it has something.
	crumbPause = 50 * time.Millisecond
	// recallPause is how long a holder that reports nothing may take to answer a recall.
	recallPause = 500 * time.Millisecond
	// lateness is what a message may be later than others were. A report speaks of
	// the coordinator's clock as of the last message that its holder had. So if it was
	// made that much after something was told, and does not know of it, that was lost.
	lateness = 50 * time.Millisecond
)

// recallable says that a recall down to keep is worth sending: the last one had time
// to be answered, or asked for less than half as much.
func (l *Ledger) recallable(now Moment, a *account, keep int64) bool {
	surplus := a.outstanding() - keep
	answered := a.clock >= a.recalledAt+lateness || now.Mono-a.recalledAt >= recallPause
	return surplus > 0 && (answered || surplus > 2*a.surplus)
}

// ttl is how long an account may be spent from, counted from the sending of
// its last report: the lease, or for a window quota what is left of the
// window. It is 0 when the report is too old to be worth answering.
func (l *Ledger) ttl(now Moment, b *book, a *account) time.Duration {
	age := now.Mono - a.reportAt
	if b.quota.terms.Windowed {
		_, end := b.quota.terms.Windows.Bounds(b.window)
		left := end.Sub(now.Wall)
		if left <= 0 || age > b.quota.terms.TTL {
			return 0
		}
		return left + age
	}
	if age > b.quota.terms.TTL/2 {
		return 0
	}
	return b.quota.terms.TTL
}

// tell puts an account's grant into its session's next batch. One that is told
// first after another with a higher number gets a new number: a holder takes
// none that comes after a higher one which was closed.
func (l *Ledger) tell(now Moment, b *book, s *session, a *account, ttl time.Duration, unmet int64) {
	if a.untold && a.n < s.told {
		a.n = s.nextAccount()
	}
	s.told = max(s.told, a.n)
	g := Grant{
		Bucket: b.id(), Account: a.n, Granted: a.granted, TTL: ttl, Echo: a.echo,
		Window: b.window, Pool: b.free() + b.pending + b.chunk,
	}
	short := max(unmet, a.ask.Need-a.outstanding()) - g.Pool
	if short > 0 {
		g.Wait = max(1, l.wait(now, b, short)) // at a rate of nothing it is not known
	}
	// What it still lacks of what it asked for is spoken for: it shall not wait
	// for that.
	g.Pool = max(0, g.Pool-max(0, a.ask.Want-a.outstanding()))
	a.told(now.Mono)
	s.out.Grants = append(s.out.Grants, g)
}

// wait is how long until so many more tokens could be in the pool.
func (l *Ledger) wait(now Moment, b *book, tokens int64) time.Duration {
	if b.quota.terms.Windowed {
		_, end := b.quota.terms.Windows.Bounds(b.window)
		return end.Sub(now.Wall)
	}
	d, _ := b.quota.meter.Rate().TimeFor(tokens, b.rem)
	return d
}

// setAside decides a debit of the pool when the chunk does not cover what is
// wanted of it, or is about to run out (law 2).
func (l *Ledger) setAside(b *book, unmet int64) {
	if b.inFlight || b.free() == 0 || (unmet == 0 && len(b.accounts) == 0) {
		return
	}
	lead := b.quota.terms.lead()
	if unmet == 0 && b.chunk*2 >= lead {
		return
	}
	debit := min(b.free(), max(unmet, lead-b.chunk))
	if debit > 0 {
		l.debit(b, debit)
	}
}
