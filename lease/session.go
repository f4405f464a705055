package lease

import (
	"errors"
	"fmt"
	"time"
)

// ErrSession says that a holder broke the protocol or speaks of a session that
// is not its newest; its stream is to be closed.
var ErrSession = errors.New("lease: session refused")

// Bounds of what one message may hold. A shell refuses longer messages before
// it decodes them.
const (
	MaxKeyLen       = 1024
	MaxBatchReports = 20_000
	maxNameLen      = 256
)

// session is one stream, from its Welcome on.
type session struct {
	n        uint64
	holder   int32 // -1 until the first piece of its Hello
	welcomed int64 // the store's revision in its Welcome
	pieces   uint32
	ready    bool   // the Hello is complete
	claims   uint64 // accounts that claims opened: 1, 2, 3, ...
	opened   uint64 // accounts that were opened since
	told     uint64 // the highest number that was told
	claimed  []FloorClaim
	// lastSent is the echo of the last report batch, processed at lastAt.
	lastSent time.Duration
	lastAt   time.Duration
	heard    bool
	lastPart uint32 // of that batch
	// roundTrip is the way to the holder and back, averaged; 0 is not known.
	roundTrip time.Duration
	// answeredAt is when the last batch was answered for its own sake.
	answeredAt time.Duration
	out        GrantBatch // what the next Ready sends
	answer     bool       // even when it is empty
}

// measure takes the clock of a batch, as the holder had it from our last message,
// into the average of the round trip.
func (s *session) measure(now, clock time.Duration) {
	if clock <= 0 || clock > now {
		return
	}
	if d := now - clock; s.roundTrip == 0 {
		s.roundTrip = d
	} else {
		s.roundTrip += (d - s.roundTrip) / 8
	}
}

// firstAccount is above every claim's number: how many claims a Hello has is
// known only when its last piece came.
const firstAccount = 1 << 32

// nextAccount numbers a new account of the session.
func (s *session) nextAccount() uint64 {
	s.opened++
	return firstAccount + s.opened
}

// OpenSession begins a conversation on a new stream and returns what to send
// first. It returns false while this leader has nothing to offer: it has not
// booted, or it is stepping down.
func (l *Ledger) OpenSession() (Welcome, bool) {
	if !l.booted || l.retiring || l.halted != nil {
		return Welcome{}, false
	}
	l.lastN++
	l.sessions[l.lastN] = &session{n: l.lastN, holder: -1, welcomed: l.revision}
	return Welcome{
		Cluster: l.cfg.Cluster, Session: Session{Epoch: l.epoch, N: l.lastN},
		StoreRevision: l.revision, Drift: l.cfg.Drift, ReportInterval: l.cfg.ReportInterval,
		PolicyRevision: l.policy.Revision, Policy: l.policy.Policy,
	}, true
}

// CloseSession ends a conversation: nothing more is granted in it. Its
// accounts stay charged until they are claimed in a newer session or end.
func (l *Ledger) CloseSession(n uint64) {
	if !mutated("an old session is heard") {
		delete(l.sessions, n)
	}
}

// live returns the session of a message, if it is this epoch's and open.
func (l *Ledger) live(id Session) (*session, error) {
	if id.Epoch != l.epoch {
		return nil, fmt.Errorf("%w: it is of epoch %v, this is %v", ErrSession, id.Epoch, l.epoch)
	}
	s := l.sessions[id.N]
	if s == nil {
		return nil, fmt.Errorf("%w: session %d is not open", ErrSession, id.N)
	}
	return s, nil
}

// Hello takes one piece of a holder's Hello. An error closes the stream.
func (l *Ledger) Hello(now Moment, h Hello) error {
	s, err := l.live(h.Session)
	if err != nil {
		return err
	}
	if h.Cluster != "" && h.Cluster != l.cfg.Cluster {
		return fmt.Errorf("%w: the holder is of cluster %q, this is %q", ErrSession, h.Cluster, l.cfg.Cluster)
	}
	if l.lostHistory(s, h) {
		return fmt.Errorf("%w: the store lost its past", ErrSession)
	}
	if err := l.admitHello(s, h); err != nil {
		return err
	}
	s.pieces++
	for i := range h.Claims {
		s.claims++
		if err := l.claim(now, s, s.claims, &h.Claims[i]); err != nil {
			return err
		}
	}
	s.claimed = append(s.claimed, h.Floors...)
	l.claimFloors(s, h.Floors)
	if h.Last {
		s.ready = true
		l.holders.list[s.holder].complete = true
		l.dropUnclaimedFloors(now, s)
		s.answer = true
	}
	return nil
}

// admitHello checks that h is the next piece of the first Hello of the newest
// session of its holder (law 9).
func (l *Ledger) admitHello(s *session, h Hello) error {
	if s.ready && mutated("a second Hello resets") {
		s.ready, s.pieces, s.claims = false, 0, 0
	}
	switch {
	case s.ready:
		return fmt.Errorf("%w: a second Hello", ErrSession)
	case h.Piece != s.pieces:
		return fmt.Errorf("%w: piece %d of a Hello, want %d", ErrSession, h.Piece, s.pieces)
	case h.Holder.Region == "" || len(h.Holder.Region) > maxNameLen || len(h.Holder.Node) > maxNameLen:
		return fmt.Errorf("%w: the holder's region or node is empty or too long", ErrSession)
	case len(h.Claims) > MaxBatchReports:
		return fmt.Errorf("%w: %d claims in one piece, at most %d", ErrSession, len(h.Claims), MaxBatchReports)
	case h.PolicyRevision != l.policy.Revision:
		return fmt.Errorf("%w: the holder enforces policy revision %d, this is %d", ErrSession, h.PolicyRevision, l.policy.Revision)
	}
	i := l.holders.add(h.Holder)
	st := &l.holders.list[i]
	switch {
	case st.gone:
		return fmt.Errorf("%w: the holder said goodbye", ErrSession)
	case s.holder < 0 && st.session > s.n:
		return fmt.Errorf("%w: the holder has the newer session %d", ErrSession, st.session)
	case s.holder < 0:
		if st.session != s.n {
			l.CloseSession(st.session)
		}
		s.holder, st.session, st.complete, st.unheard = i, s.n, false, false
	case s.holder != i:
		return fmt.Errorf("%w: the holder changed its name", ErrSession)
	}
	return nil
}

// claim opens account n of session s for what the holder has of a bucket, or
// refuses it whole.
func (l *Ledger) claim(now Moment, s *session, n uint64, c *Claim) error {
	if c.Unspent < 0 || c.Spent < 0 || c.Returned < 0 || c.Refunded < 0 || len(c.Bucket.Key) > MaxKeyLen {
		return fmt.Errorf("%w: a claim is out of range", ErrSession)
	}
	b := l.lookup(c.Bucket)
	if b == nil {
		// Until the refusal reaches it, it goes on spending: its record's word
		// for it stands until that has surely ended.
		l.holders.list[s.holder].unheard = true
		l.stats.Refused++
		l.refuse(s, c.Bucket)
		return nil
	}
	if b.state != bookOpen {
		kept := *c
		b.stash = append(b.stash, stashed{session: s.n, holder: s.holder, account: n, claim: &kept})
		l.load(b)
		return nil
	}
	l.takeClaim(now, b, s, n, c)
	return nil
}

// takeClaim sets the holder's bound to what it claims, if what is charged to
// it and the inherited chunk cover that (section 4, Hello). The Hello may be
// complete by the time the record was read, so that only this claim says what
// the holder has.
func (l *Ledger) takeClaim(now Moment, b *book, s *session, n uint64, c *Claim) {
	l.advance(now, b)
	before := b.stock()
	deadline, covered := l.cover(now, b, s, c)
	if !covered {
		l.stats.Refused++
		l.refuse(s, c.Bucket)
	} else if c.Unspent > 0 {
		l.openAccount(b, account{
			holder: s.holder, session: s.n, n: n, granted: c.Unspent, deadline: deadline,
		})
	}
	b.publish(before)
	l.enqueue(b)
}

// cover takes a claim out of what is charged to its holder, then out of the
// inherited chunk. It closes what the holder had, covered or not.
func (l *Ledger) cover(now Moment, b *book, s *session, c *Claim) (deadline time.Duration, ok bool) {
	right := !b.quota.terms.Windowed || c.Window == b.window
	deadline = now.Mono + l.cfg.Drift.Outlast(l.cluster.Longest)
	for i := range b.accounts {
		a := &b.accounts[i]
		if a.holder != s.holder {
			continue
		}
		if a.session == c.Session.N && a.n == c.Account && c.Session.Epoch == l.epoch {
			l.merge(now, b, a, c.Spent, c.Returned, c.Refunded)
		}
		deadline = a.deadline
		if mutated("a claim clamped in silence") {
			c.Unspent = min(c.Unspent, a.outstanding())
		}
		if ok = right && c.Unspent <= a.outstanding(); ok {
			a.granted -= c.Unspent
		}
		l.closeAccount(b, i)
		return deadline, ok
	}
	var bounded int64
	id := l.holders.list[s.holder].id
	for i := range b.bounds {
		if b.bounds[i].Holder == id {
			bounded = b.bounds[i].Tokens
			b.bounds = append(b.bounds[:i], b.bounds[i+1:]...)
			break
		}
	}
	if mutated("a claim clamped in silence") {
		c.Unspent = min(c.Unspent, bounded+b.inherits)
	}
	if ok = right && c.Unspent <= bounded+b.inherits; !ok {
		b.quota.books.Destroyed += bounded
		return deadline, false
	}
	own := min(c.Unspent, bounded)
	b.inherits -= c.Unspent - own
	b.quota.books.Destroyed += bounded - own
	return deadline, true
}

// refuse tells the holder of a claim that it has nothing: an account with the
// next number closes the claimed one (law 3).
func (l *Ledger) refuse(s *session, id BucketID) {
	s.told = s.nextAccount()
	s.out.Grants = append(s.out.Grants, Grant{Bucket: id, Account: s.told, Closed: true})
}
