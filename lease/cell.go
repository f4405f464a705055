package lease

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Cell is one bucket as a holder has it: what was leased to it, and its part
// of the floor. Decisions on it may be made concurrently with each other and
// with everything that the holder does.
type Cell struct {
	id    BucketID
	seq   uint64 // order of creation, in which several cells are locked
	owner *Holder
	quota *holding

	lease atomic.Pointer[lease]
	// low is the balance below which the holder reports at once; -1
	// while it has asked.
	low atomic.Int64
	// refused sums up the tokens that were refused, and need is the largest
	// cost among them since the last report.
	refused atomic.Int64
	need    atomic.Int64
	// waiting sums up the tokens that were asked for since the last grant and wait
	// for the next one; waitSince is when the first of them was, 0 if none was.
	waiting   atomic.Int64
	waitSince atomic.Int64
	// largest is the largest cost that was asked for since the last report.
	largest atomic.Int64

	// answered says that the coordinator told something of the bucket.
	answered atomic.Bool
	hint     atomic.Pointer[hint]

	// A queued cell is in the holder's list of those that changed.
	queued atomic.Bool
	next   *Cell

	// mu guards the floor and the end of the cell. No refill holds it.
	mu         sync.Mutex
	floor      bucket.TokenBucket
	floorGrant *floorLease // of which floor is a part
	window     int64       // of a window quota: that floor is of
	floorSpent atomic.Int64
	gone       bool // forgotten: whoever still has it looks it up again
	over       *cellOver
	overspent  atomic.Int64 // ever
	overBefore int64        // what may have been, before the key was forgotten
	back       cellHandback
	handing    atomic.Bool // back is in use

	// changed is closed by the next grant; it is nil while nobody waits.
	waitMu  sync.Mutex
	changed chan struct{}

	// The rest belongs to the holder's owner.
	report cellReport
}

// hint is what the coordinator said of its pool, for answers to users.
type hint struct {
	at     time.Duration
	pool   int64
	wait   time.Duration
	window time.Duration // when the window ends; 0 if unknown
}

// lease is one account as its holder has it. Unspent is granted - spent -
// returned; available is what of it is neither held for a request nor on its
// way back (law 8).
type lease struct {
	available atomic.Int64
	spent     atomic.Int64 // grows for as long as the tokens live, over all sessions
	refunded  atomic.Int64 // of spent, and as long; never above it
	deadline  atomic.Int64 // a time.Duration

	// The rest belongs to the holder's owner.
	session  Session
	account  uint64
	granted  int64
	returned int64
	base     int64 // spent when the session opened
	echo     time.Duration
	window   int64
}

// spentNow is the account's S: what was spent in the session.
func (l *lease) spentNow() int64 { return l.spent.Load() - l.base }

// unspent is an upper bound of what may still be spent. Spent is read first,
// so that a token which is spent meanwhile counts as unspent.
func (l *lease) unspent() int64 {
	s := l.spentNow()
	return l.granted - s - l.returned
}

// take holds n tokens, all or none, and says until when they may be spent.
func (l *lease) take(n int64) (deadline time.Duration, left int64, ok bool) {
	deadline = time.Duration(l.deadline.Load())
	for {
		v := l.available.Load()
		if v < n {
			return deadline, v, false
		}
		if l.available.CompareAndSwap(v, v-n) {
			return deadline, v - n, true
		}
	}
}

// takeUpTo holds at most n tokens and returns how many.
func (l *lease) takeUpTo(n int64) int64 {
	for {
		v := l.available.Load()
		t := min(v, n)
		if t <= 0 {
			return 0
		}
		if l.available.CompareAndSwap(v, v-t) {
			return t
		}
	}
}

// ID returns the bucket's name.
func (c *Cell) ID() BucketID { return c.id }

// Changed returns a channel that is closed by the next grant. Whoever waits
// for tokens gets it first and then decides, so that no grant is missed. It
// hands out no tokens: all waiters decide anew (law 18).
func (c *Cell) Changed() <-chan struct{} {
	c.waitMu.Lock()
	defer c.waitMu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// wake lets every waiter decide anew.
func (c *Cell) wake() {
	c.waitMu.Lock()
	defer c.waitMu.Unlock()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// touch puts the cell into the holder's list of those that changed.
func (c *Cell) touch() {
	if c.queued.Load() || !c.queued.CompareAndSwap(false, true) {
		return
	}
	h := c.owner
	for {
		head := h.touched.Load()
		c.next = head
		if h.touched.CompareAndSwap(head, c) {
			return
		}
	}
}

// after does what is left to do once tokens were spent: the next report tells
// it, and more is asked for before the lease runs dry.
func (c *Cell) after(left int64) {
	c.touch()
	if left < c.low.Load() {
		c.owner.hurry()
	}
}

// note keeps the largest cost.
func (c *Cell) note(cost int64) {
	for {
		v := c.largest.Load()
		if cost <= v || c.largest.CompareAndSwap(v, cost) {
			return
		}
	}
}

// await notes a request that had better wait for the next grant.
func (c *Cell) await(now time.Duration, cost int64) {
	c.waiting.Add(cost)
	c.waitSince.CompareAndSwap(0, int64(now))
	c.want(cost)
}

// refuse notes a refusal, as a measure of demand.
func (c *Cell) refuse(cost int64) {
	c.refused.Add(cost)
	c.want(cost)
}

// want has the next report ask for what is lacking.
func (c *Cell) want(cost int64) {
	for {
		v := c.need.Load()
		if cost <= v || c.need.CompareAndSwap(v, cost) {
			break
		}
	}
	c.touch()
	if c.low.Load() >= 0 {
		c.owner.hurry()
	}
}

// floorLevel brings the cell's part of the floor up to now and returns what is
// in it. A key not yet seen has what came in since the floor was granted
// (law 11). The caller holds c.mu.
func (c *Cell) floorLevel(now time.Duration) int64 {
	f := c.quota.floor.Load()
	if f == nil || now >= time.Duration(f.deadline.Load()) {
		return 0
	}
	if f.clock != nil {
		return c.windowLevel(now, f)
	}
	if c.floorGrant != f {
		c.floorGrant = f
		c.floor = bucket.Empty(f.start, f.rate, f.burst)
		if mutated("a floor starts full") {
			c.floor = bucket.Full(f.start, f.rate, f.burst)
		}
	}
	c.floor.Burst = f.burst
	if c.back.floor == f && !mutated("what was handed back does not count") {
		c.floor.Burst -= c.back.returned - c.back.seen
	}
	c.floor.Advance(now)
	return c.floor.Level
}
