package chaos

import (
	"fmt"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// pump does what the ledger wants, and checks it.
func (c *coordinator) pump() {
	w := c.w
	if c.ledger == nil {
		return
	}
	c.noteRefunds()
	r := c.ledger.Ready(c.moment())
	w.judgeLedger(c)
	if r.Halt != nil {
		c.stepDown(r.Halt)
		return
	}
	if len(r.Loads) > 0 {
		if c.midway() {
			return
		}
		c.fetch(r.Loads)
	}
	for _, t := range r.Txns {
		if c.midway() {
			return
		}
		c.commit(t)
	}
	for i := range r.Batches {
		if c.midway() {
			return
		}
		c.deliver(&r.Batches[i])
	}
	slices.Sort(r.Closed)
	for _, n := range r.Closed {
		if s := c.stream(n); s != nil {
			c.closeStream(s)
		}
	}
	if c.retired && c.ledger.Idle() {
		c.retired = false
		w.tell("%s retires", c.name)
		c.stepDown(errRetired)
	}
}

// midway crashes the process between two outputs when it is to.
func (c *coordinator) midway() bool {
	if c.crashIn == 0 {
		return false
	}
	if c.crashIn--; c.crashIn > 0 {
		return false
	}
	c.w.count(CrashMidway)
	c.crash(c.w.netRNG.span(c.w.cfg.ElectionTTL/4, 2*c.w.cfg.ElectionTTL))
	return true
}

func (c *coordinator) stream(n uint64) *stream {
	for _, s := range c.streams {
		if s.n == n {
			return s
		}
	}
	return nil
}

func (c *coordinator) fetch(ids []lease.BucketID) {
	w, term := c.w, c.term
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = lease.BucketPrefix + id.Quota + "\x00" + id.Key
	}
	var entries []lease.Entry
	w.store.call(&c.process, false,
		func() error { entries = w.store.get(keys); return nil },
		func(err error) {
			switch {
			case c.term != term || c.ledger == nil:
				return
			case err != nil:
				c.ledger.Unloaded(ids)
			default:
				c.ledger.Loaded(c.moment(), ids, entries)
			}
			c.pump()
		})
}

func (c *coordinator) commit(t lease.Txn) {
	w, term, key := c.w, c.term, c.key
	var revision int64
	w.store.call(&c.process, true,
		func() (err error) { revision, err = w.store.commit(key, t.Writes); return err },
		func(err error) {
			switch {
			case c.term != term || c.ledger == nil:
				return
			case err != nil:
				c.ledger.Failed(t.ID, err)
			default:
				c.ledger.Committed(c.moment(), t.ID, revision)
			}
			c.pump()
		})
}

func (c *coordinator) deliver(b *lease.GrantBatch) {
	s := c.stream(b.Session.N)
	if s == nil {
		return
	}
	batch := *b
	c.w.register.batch(s, &batch)
	c.w.judgeLeadership(c, &batch)
	for i := range batch.Grants {
		g := &batch.Grants[i]
		if g.Closed {
			c.w.detail("%s tells %s: %s of %s is closed", c.name, s.region.name, called(g.Account), g.Bucket.Quota)
			continue
		}
		c.w.detail("%s tells %s: %s of %s was granted %d, for %v", c.name, s.region.name, called(g.Account), g.Bucket.Quota, g.Granted, g.TTL.Round(time.Millisecond))
	}
	for i := range batch.Floors {
		g := &batch.Floors[i]
		c.w.detail("%s tells %s: floor %d of %s, grant %d, %d and %d for %v", c.name, s.region.name, g.Slot, g.Quota, g.Grant, g.Tokens, g.Burst, g.TTL)
	}
	for i := range batch.Recalls {
		g := &batch.Recalls[i]
		if g.FloorGrant != 0 {
			c.w.detail("%s asks %s for what is idle in its floor of %s, of which %d arrived", c.name, s.region.name, g.Bucket.Quota, g.FloorSeen)
			continue
		}
		c.w.detail("%s tells %s: keep only %d in %s of %s", c.name, s.region.name, g.Keep, called(g.Account), g.Bucket.Quota)
	}
	c.w.send(s, false, func() { s.region.grants(s, batch) })
}

// connected takes a new stream and welcomes it, if this process leads.
func (c *coordinator) connected(s *stream) {
	if c.ledger == nil {
		c.w.send(s, false, func() { s.region.lost(s) })
		return
	}
	welcome, ok := c.ledger.OpenSession()
	if !ok {
		c.w.send(s, false, func() { s.region.lost(s) })
		return
	}
	s.n = welcome.Session.N
	c.streams = append(c.streams, s)
	c.w.announced(welcome.Session.Epoch, welcome.Policy)
	c.w.send(s, false, func() { s.region.welcome(s, welcome) })
}

// hears takes a message of a session, whether its stream still stands or not:
// what is refused closes the stream.
func (c *coordinator) hears(s *stream, take func(l *lease.Ledger, now lease.Moment) error) {
	if c.ledger == nil {
		return
	}
	if s.n == 0 {
		c.w.count(OldMessage)
	}
	if err := take(c.ledger, c.moment()); err != nil && s.n != 0 {
		c.w.tell("%s refuses %s: %v", c.name, s.region.name, err)
		c.ledger.CloseSession(s.n)
		c.closeStream(s)
	}
	c.pump()
}

// lost notes that a stream broke.
func (c *coordinator) lost(s *stream) {
	if s.n == 0 || c.ledger == nil {
		return
	}
	c.ledger.CloseSession(s.n)
	s.n = 0
	c.streams = slices.DeleteFunc(c.streams, func(o *stream) bool { return o == s })
	c.pump()
}

// called names an account for people: claims and accounts are numbered apart.
func called(n uint64) string {
	switch {
	case n == 0:
		return "no account"
	case n > 1<<32:
		return fmt.Sprintf("account %d", n-1<<32)
	default:
		return fmt.Sprintf("claim %d", n)
	}
}

// wishes says what a report asks for.
func wishes(r *lease.Report) (s string) {
	if r.Ask.Want > 0 {
		s += fmt.Sprintf(", wants %d", r.Ask.Want)
	}
	if r.Ask.Need > 0 {
		s += fmt.Sprintf(", needs %d at once", r.Ask.Need)
	}
	if r.FloorReturned > 0 {
		s += fmt.Sprintf(", handed back %d of its floor", r.FloorReturned)
	}
	if r.Close {
		s += ", and has done with it"
	}
	return s
}
