package chaos

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// register follows every account from its first grant through all claims, by
// the messages alone.
type register struct {
	w        *World
	accounts map[accountKey]*account
}

// accountKey names an account. The holder is a part of it, since sessions of a
// store that lost its past may come twice.
type accountKey struct {
	region, gen int
	session     lease.Session
	n           uint64
}

// account is one number in one session.
type account struct {
	bucket   lease.BucketID
	line     *line
	granted  int64
	spent    int64 // under this number
	refunded int64
	window   int64
	deadline time.Duration // by its holder's clock
}

// line is one lease through all sessions: the tokens that ledgers granted, and
// those that were spent.
type line struct{ granted, spent int64 }

// batch notes what a ledger grants.
func (g *register) batch(s *stream, b *lease.GrantBatch) {
	for i := range b.Grants {
		t := &b.Grants[i]
		key := accountKey{s.region.index, s.gen, b.Session, t.Account}
		a := g.accounts[key]
		if a == nil {
			a = &account{bucket: t.Bucket, line: &line{}, window: t.Window}
			g.accounts[key] = a
		}
		more := t.Granted - a.granted
		if t.Closed && more <= 0 {
			continue // of an account that was closed before: it grants nothing
		}
		switch {
		case g.w.lost:
		case a.bucket != t.Bucket:
			g.w.fail("law 3: account %d of session %v is of two buckets", t.Account, b.Session)
		case more < 0:
			g.w.fail("law 3: account %d of session %v was granted %d, then %d", t.Account, b.Session, a.granted, t.Granted)
		}
		a.granted, a.line.granted = t.Granted, a.line.granted+more
		if more > 0 {
			g.w.granted(b.Session.Epoch, t.Bucket, t.Window, more)
		}
	}
	for i := range b.Floors {
		g.w.straying(b.Session.Epoch, &b.Floors[i])
	}
	for i := range b.Recalls {
		if r := &b.Recalls[i]; r.FloorWindow != 0 && r.FloorSeen > 0 {
			g.w.count(WindowFloorBack)
		}
	}
}

// hello notes that accounts go on under the numbers of a new session.
func (g *register) hello(r *region, pieces []lease.Hello) {
	n := uint64(0)
	for i := range pieces {
		for j := range pieces[i].Claims {
			c := &pieces[i].Claims[j]
			n++
			old := g.accounts[accountKey{r.index, r.gen, c.Session, c.Account}]
			if old == nil {
				g.w.fail("law 3: a claim of account %d of session %v, which nobody granted", c.Account, c.Session)
				return
			}
			if c.Unspent > old.line.granted-old.line.spent && !g.w.lost {
				g.w.fail("law 3: a claim of %d tokens, of which there are %d", c.Unspent, old.line.granted-old.line.spent)
			}
			g.accounts[accountKey{r.index, r.gen, pieces[i].Session, n}] = &account{
				bucket: c.Bucket, line: old.line, granted: c.Unspent, window: c.Window, deadline: old.deadline,
			}
		}
	}
}

// taken notes what a holder heard: how long it may spend, counted from the
// report that is answered, and what closes older accounts.
func (g *register) taken(r *region, b *lease.GrantBatch) {
	for i := range b.Grants {
		t := &b.Grants[i]
		a := g.accounts[accountKey{r.index, r.gen, b.Session, t.Account}]
		if a == nil {
			continue
		}
		a.deadline = max(a.deadline, t.Echo+t.TTL)
		if w := r.watch(t.Bucket); w != nil && w.session == b.Session {
			w.top = max(w.top, t.Account)
		} else if w != nil {
			w.session, w.top = b.Session, t.Account
		}
	}
	for i := range b.Floors {
		g.w.floorTaken(r, &b.Floors[i])
	}
}

// spent judges tokens that were spent from an account at a moment of the
// holder's clock.
func (g *register) spent(r *region, id lease.BucketID, v *lease.CellView, tokens int64, at time.Duration) error {
	a := g.accounts[accountKey{r.index, r.gen, v.Session, v.Account}]
	if a == nil || a.bucket != id {
		return fmt.Errorf("law 3: %d tokens spent from account %d of session %v, which no leader granted", tokens, v.Account, v.Session)
	}
	if at >= a.deadline {
		return fmt.Errorf("law 6: %d tokens spent %v after the deadline of account %d", tokens, at-a.deadline, v.Account)
	}
	if w := r.watch(id); w.session == v.Session && v.Account < w.top {
		return fmt.Errorf("law 3: %d tokens spent from account %d after account %d was opened", tokens, v.Account, w.top)
	}
	a.spent += tokens
	if a.line.spent += tokens; a.line.spent > a.line.granted && !g.w.lost {
		return fmt.Errorf("law 3: %d tokens spent from account %d of session %v, which was granted %d", a.line.spent, v.Account, v.Session, a.line.granted)
	}
	return nil
}
