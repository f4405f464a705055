package lease

import (
	"math"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Outlook is what a cell can tell a user at one moment. What other regions hold
// is not known here.
type Outlook struct {
	// Remaining is what lease and floor hold here, what may be spent unreserved
	// while the holder is cut off and, for a request that was
	// admitted, what the coordinator had left when it last told: a lease is a
	// small part of what its bucket would give. It is never below 0 and never
	// above Limit.
	Remaining int64
	// Limit is the most that the bucket can hold.
	Limit int64
	// Most is the largest cost that this region could ever admit at once.
	Most int64
	// Reset is how long until the bucket is whole again if nothing is
	// admitted meanwhile: never below Retry.
	Reset time.Duration
	// Retry is how long until the cost could be admitted, 0 if it could be now
	// or can never be. It is never before the earliest moment that is known
	// here, and never before an answer of the coordinator could come; it is that
	// answer's time when the coordinator had what is missing, as it last told.
	Retry time.Duration
	// Windowed says that this is a window quota. Its Reset is the end of its
	// window, 0 while that is not known here. So is its Retry, unless the holder is
	// cut off and may spend unreserved sooner.
	Windowed bool
	// Near says that the coordinator had what is missing, as it last told: a denial
	// is false then, since a central bucket would have admitted the request.
	Near bool
	// Known says that the coordinator told something of the bucket that still
	// stands. Else the bucket may be full, and Retry takes it to be empty.
	Known bool
}

// Outlook looks at a cell on behalf of a request of a cost, 0 asking for 1, that
// was admitted or not. roundTrip is the measured way to the coordinator and back. It changes
// nothing that can be seen, so that peek and take agree. It may be called
// concurrently.
func (c *Cell) Outlook(now time.Duration, cost int64, admitted bool, roundTrip time.Duration) Outlook {
	t := c.quota.terms.Load()
	o := Outlook{Limit: t.Burst, Most: c.quota.most(), Windowed: t.Windowed}
	if t.Windowed {
		o.Limit = t.Tokens
	}
	floor := c.floorNow(now)
	o.Known = c.answered.Load() && !c.windowOver(now)
	if l := c.lease.Load(); l != nil {
		if now < time.Duration(l.deadline.Load()) {
			o.Remaining = max(0, l.available.Load())
		} else {
			o.Known = false
		}
	}
	over, left := c.overNow(now, cost)
	o.Remaining += max(0, floor.Level) + over.Level
	if admitted {
		o.Remaining += c.poolHeard(now, t)
	}
	o.Remaining = min(o.Limit, o.Remaining)
	missing := max(cost, 1) - o.Remaining
	short := !admitted && missing > 0 && cost <= o.Most
	o.Near = short && missing <= c.poolHeard(now, t) // it has been asked for
	if t.Windowed {
		o.Reset = c.windowLeft(now)
		if short && o.Reset > 0 {
			o.Retry = max(o.Reset, roundTrip)
		}
	} else {
		o.Reset, _ = t.Rate().TimeFor(o.Limit-o.Remaining, 0)
		if short {
			o.Retry = max(c.retry(now, t, missing, &floor), roundTrip)
		}
	}
	if o.Near {
		o.Retry = max(roundTrip, time.Millisecond)
	}
	if own, ok := over.Rate.TimeFor(missing, over.Rem); ok && short && missing <= over.Burst-over.Level && own < left {
		if o.Retry == 0 || own < o.Retry {
			o.Retry = own
		}
	}
	if !t.Windowed || o.Reset > 0 {
		o.Reset = max(o.Reset, o.Retry)
	}
	return o
}

// poolHeard is what the coordinator had left when it last told, 0 if that was
// longer ago than a lease or nobody is there to give it.
func (c *Cell) poolHeard(now time.Duration, t *Terms) int64 {
	n := c.hint.Load()
	if n == nil || now-n.at > t.TTL || c.windowOver(now) || !c.owner.live.Load() {
		return 0
	}
	return n.pool
}

// forgetHints drops what coordinators said of their pools before a new history
// began: after a lost past buckets are not what they were.
func (h *Holder) forgetHints(next Epoch) {
	if next.History <= h.session.Epoch.History {
		return
	}
	h.adoptBorn()
	for _, c := range h.cells {
		c.hint.Store(nil)
	}
}

// floorNow is the cell's part of the floor, brought up to now; it is zero
// without one.
func (c *Cell) floorNow(now time.Duration) bucket.TokenBucket {
	f := c.quota.floor.Load()
	if f == nil || now >= time.Duration(f.deadline.Load()) {
		return bucket.TokenBucket{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	level := c.floorLevel(now)
	b := c.floor
	b.Level = level
	return b
}

// overNow is what the cell may spend unreserved, brought up to now, and for how
// long yet; it is zero while that is nothing.
func (c *Cell) overNow(now time.Duration, cost int64) (b bucket.TokenBucket, left time.Duration) {
	if c.owner.cut.Load() == nil {
		return bucket.TokenBucket{}, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cut := c.owner.cut.Load()
	u := c.reachable(now, cut, cost)
	if u == nil {
		return bucket.TokenBucket{}, 0
	}
	left = math.MaxInt64
	if u.For > 0 {
		left = cut.Since + u.For - now
	}
	switch {
	case u.Unbounded:
		return bucket.TokenBucket{Level: everything}, left
	case c.over == nil || c.over.cut != cut.Number:
		return bucket.Full(now, u.Rate, u.Burst), left
	}
	b = c.over.bucket
	b.Reconfigure(now, u.Rate, u.Burst)
	return b, left
}

// windowOver says that the window has ended of which the last grant was: nothing
// is known of the next one yet.
func (c *Cell) windowOver(now time.Duration) bool {
	n := c.hint.Load()
	return n != nil && n.window > 0 && n.window <= now
}

// windowLeft is how long the window lasts that the last grant was of, 0 if
// that is not known.
func (c *Cell) windowLeft(now time.Duration) time.Duration {
	if n := c.hint.Load(); n != nil && n.window > now {
		return n.window - now
	}
	return 0
}

// retry is how long until so many missing tokens of a token bucket could be
// here: as the coordinator said, or when they accrued at the quota's whole rate
// from now on, whichever is sooner. Neither is before the truth: the first is
// told by who knows the pool, the second takes it to be empty. A region that is
// cut off has its floor alone.
func (c *Cell) retry(now time.Duration, t *Terms, missing int64, floor *bucket.TokenBucket) time.Duration {
	accrued, _ := t.Rate().TimeFor(missing, 0)
	if missing <= floor.Burst-max(0, floor.Level) {
		own, ok := floor.Rate.TimeFor(missing, floor.Rem)
		if ok && (own < accrued || !c.owner.live.Load()) {
			return own
		}
	}
	n := c.hint.Load()
	if n == nil || n.wait <= 0 || n.at+n.wait <= now {
		return accrued
	}
	// Floors that nobody owns flow into the pool, owned ones do not: what the
	// hint surely covers is what came in without any of them.
	least := t.Rate()
	for i := range t.Floors {
		least.Tokens -= t.Floors[i].Tokens
	}
	if covered, _ := least.Accrue(n.wait, 0, missing); covered < missing {
		return accrued
	}
	return min(accrued, n.at+n.wait-now)
}

// Sum is what a holder has of one quota, for metrics.
type Sum struct {
	Quota string
	// Cells is how many buckets are live; Full says that there were more keys
	// than a quota may have, and that the further ones shared one bucket.
	Cells int64
	Full  bool
	// Credited is every token that was ever granted here, Returned what was
	// given back of it, Unspent what may still be spent.
	Credited int64
	Returned int64
	Unspent  int64
	// FloorOwned says that the holder has a part of its region's floor.
	FloorOwned bool
	// FloorSpent and Overspent are the tokens that were ever spent here from
	// floors, and unreserved.
	FloorSpent, Overspent int64
	// WorstOver is at least the most that was ever spent unreserved of one bucket,
	// and at most what all cuts can have added to one; WorstAt is when it last rose.
	// Of a window quota it is of one window, as far as that is remembered.
	WorstOver int64
	WorstAt   time.Duration
	// Ends is when the last lease of which anything is unspent ends, 0 if there
	// is none.
	Ends time.Duration
}

// Sums tells of every quota in force, in the order of their names. It visits
// every cell, and belongs to the holder's owner.
func (h *Holder) Sums(now time.Duration) []Sum {
	h.adoptBorn()
	sums := make([]Sum, len(h.names))
	place := make(map[*holding]int, len(h.names))
	for i, name := range h.names {
		q, _ := h.quotas.Load(name)
		f := q.floor.Load()
		sums[i] = Sum{
			Quota: name, Cells: q.count.Load(), Full: q.full.Load(), Credited: q.credited, Returned: q.returned,
			FloorSpent: q.floorSpent.Load(), Overspent: q.overspent.Load(), WorstOver: q.worstOver.Load(), WorstAt: time.Duration(q.worstAt.Load()),
			FloorOwned: f != nil && now < time.Duration(f.deadline.Load()),
		}
		place[q] = i
	}
	for _, c := range h.cells {
		if l := c.lease.Load(); l != nil && now < time.Duration(l.deadline.Load()) {
			s, unspent := &sums[place[c.quota]], max(0, l.unspent())
			if s.Unspent += unspent; unspent > 0 {
				s.Ends = max(s.Ends, time.Duration(l.deadline.Load()))
			}
		}
	}
	return sums
}
