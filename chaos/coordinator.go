package chaos

import (
	"errors"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// coordinator is one coordinator process: the thin shell around a ledger.
type coordinator struct {
	process

	index   int
	ledger  *lease.Ledger // nil unless it leads
	key     int64         // create revision of its leader's key
	streams []*stream     // open ones, by session
	crashIn int           // crash after so many further outputs, if above 0
	term    int           // counts leaderships, so that answers of an old one are dropped
	retired bool          // it resigns as soon as its ledger is idle
	policy  lease.PolicyRecord
	back    []int64 // what each bucket was refunded, as last seen
}

func (c *coordinator) moment() lease.Moment {
	return lease.Moment{Mono: c.clock(), Wall: epochStart.Add(c.w.now + c.wall)}
}

// epochStart is what all wall clocks show at the true time 0, if they are right.
var epochStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// stand campaigns, again and again until the process leads.
func (c *coordinator) stand() {
	if c.ledger != nil {
		return
	}
	sent := c.clock()
	var key int64
	c.w.store.call(&c.process, false,
		func() error {
			if key = c.w.store.campaign(c.name); key != 0 {
				c.proved = c.w.now
			}
			return nil
		},
		func(err error) {
			if err != nil || key == 0 {
				c.after(c.w.cfg.ElectionTTL/8, c.stand)
				return
			}
			c.read(key, sent)
		})
}

// read reads what a new leader must know.
func (c *coordinator) read(key int64, sent time.Duration) {
	var meta []lease.Entry
	var revision int64
	c.w.store.call(&c.process, false,
		func() error { meta, revision = c.w.store.scan(lease.MetaPrefix), c.w.store.revision; return nil },
		func(err error) {
			if err != nil {
				c.after(c.w.cfg.ElectionTTL/8, c.stand)
				return
			}
			c.lead(key, sent, meta, revision)
		})
}

// lead opens the books.
func (c *coordinator) lead(key int64, sent time.Duration, meta []lease.Entry, revision int64) {
	w := c.w
	stored, err := lease.StoredPolicy(meta)
	if err != nil {
		w.fail("the stored policy cannot be read: %v", err)
		return
	}
	policy, _ := stored.Next(w.policyBytes(0))
	cfg := lease.Config{
		Cluster: "sim", Drift: w.cfg.Drift, ElectionTTL: w.cfg.ElectionTTL, ReportInterval: w.cfg.ReportInterval,
		MaxBuckets: 1000, Allocate: reconcile.Allocate, NewCluster: true,
	}
	switch {
	case w.cfg.Wild:
		cfg.Allocate = w.wildAllocate
	case w.cfg.Simple:
		cfg.Allocate = simpleAllocate
	}
	c.ledger, err = lease.NewLedger(cfg, lease.Begin{
		Now: c.moment(), Leader: key, Revision: revision, Meta: meta, Policy: policy, Terms: w.termsOf(policy.Policy),
	})
	if err != nil {
		w.fail("a new leader cannot begin: %v", err)
		return
	}
	c.key, c.term, c.streams = key, c.term+1, nil
	c.retired, c.policy = false, policy
	c.ledger.Extend(sent + w.cfg.ElectionTTL)
	w.led(c)
	w.tell("%s leads in epoch %v", c.name, c.ledger.Epoch())
	c.prove(c.term)
	c.tick(c.term)
	if w.cfg.Scan {
		c.scan(c.term)
	}
	c.pump()
}

// prove renews the election lease again and again. What is proved counts from
// before the call was sent.
func (c *coordinator) prove(term int) {
	if c.term != term || c.ledger == nil {
		return
	}
	sent, held, key := c.clock(), false, c.key
	c.w.store.call(&c.process, false,
		func() error {
			if held = c.w.store.prove(key); held {
				c.proved = c.w.now
			}
			return nil
		},
		func(err error) {
			switch {
			case c.term != term || c.ledger == nil:
			case err == nil && !held:
				c.stepDown(lease.ErrFenced)
			default:
				if err == nil {
					if mutated("leadership counted from the answer") {
						sent = c.clock()
					}
					c.ledger.Extend(sent + c.w.cfg.ElectionTTL)
				}
				c.after(c.w.cfg.ElectionTTL/4, func() { c.prove(term) })
			}
		})
}

func (c *coordinator) tick(term int) {
	if c.term != term || c.ledger == nil {
		return
	}
	c.ledger.Tick(c.moment())
	c.pump()
	c.after(c.w.cfg.LedgerTick, func() { c.tick(term) })
}

// scan reads all records in the background, in one page.
func (c *coordinator) scan(term int) {
	var page []lease.Entry
	c.w.store.call(&c.process, false,
		func() error { page = c.w.store.scan(lease.BucketPrefix); return nil },
		func(err error) {
			switch {
			case c.term != term || c.ledger == nil:
			case err != nil:
				c.after(100*time.Millisecond, func() { c.scan(term) })
			default:
				c.ledger.Scanned(c.moment(), page, true)
				c.pump()
			}
		})
}

// stepDown gives everything up and stands again.
func (c *coordinator) stepDown(why error) {
	c.w.tell("%s steps down: %v", c.name, why)
	if errors.Is(why, lease.ErrLostHistory) {
		c.w.count(LostHistory)
	}
	key := c.key
	c.drop()
	c.w.store.call(&c.process, false, func() error { c.w.store.resign(key); return nil }, func(error) {})
	c.after(c.w.cfg.ElectionTTL/4, c.stand)
}

// drop forgets the leadership.
func (c *coordinator) drop() {
	for _, s := range slices.Clone(c.streams) {
		c.closeStream(s)
	}
	c.ledger, c.key, c.streams, c.back = nil, 0, nil, nil
	c.term++
}

// closeStream ends a stream from this side.
func (c *coordinator) closeStream(s *stream) {
	s.n = 0
	c.streams = slices.DeleteFunc(c.streams, func(o *stream) bool { return o == s })
	c.w.send(s, false, func() { s.region.lost(s) })
}

// crash ends the process; it comes back after a while.
func (c *coordinator) crash(d time.Duration) {
	if !c.up {
		return
	}
	c.w.tell("%s crashes", c.name)
	c.drop()
	c.up, c.backlog, c.crashIn = false, nil, 0
	c.gen++
	c.w.heap.push(c.w.now+d, func() {
		c.up = true
		c.w.tell("%s is back", c.name)
		c.stand()
	})
}
