package lease

import (
	"slices"
	"time"
)

// An idle floor of a contended bucket is handed back as it accrues, so that it
// never spills (law 11). The coordinator asks with a Recall that names the
// floor; the holder takes what is in its part out of use, and then says how
// much it has taken in all: a counter of the session, merged by max, of which
// the coordinator credits the difference and tells how far it has seen it.
// Until then what was handed back counts against the floor's burst, so that
// floor and pool together never hold more than before.

// handback is what one holder handed back of one bucket's floor.
type handback struct {
	holder   int32
	session  uint64
	grant    uint64 // of the floor
	returned int64
	askedAt  time.Duration
}

const (
	// handbackPause is how often the floors of a contended bucket are asked
	// for, handbackTime how long a holder goes on handing back after it was.
	handbackPause = 400 * time.Millisecond
	handbackTime  = time.Second
)

// short says how much of what holders freshly asked for they do not get.
func (l *Ledger) short(targets []Target) (tokens int64) {
	s := &l.situation
	for i := range s.Asks {
		a := &s.Asks[i]
		wish := min(max(a.Ask.Want, a.Ask.Need), s.Limit)
		tokens += max(0, wish-max(targets[i].Hold, a.Outstanding))
	}
	return tokens
}

// recallFloors asks the owners of idle floors of a contended bucket to hand
// back what accrues in them.
func (l *Ledger) recallFloors(now Moment, b *book) {
	for i := range b.quota.slots {
		f := &b.quota.slots[i]
		if !f.owned || !f.told {
			continue
		}
		holder, known := l.holders.index[f.owner.Holder]
		if !known {
			continue
		}
		s := l.sessions[l.holders.list[holder].session]
		if s == nil || !s.ready || l.asks(now, b, holder) || b.quota.terms.Windowed && b.window < f.owner.First {
			continue
		}
		h := b.handback(holder, s.n, f.owner.Grant)
		if h.askedAt != 0 && now.Mono-h.askedAt < handbackPause {
			continue
		}
		h.askedAt = now.Mono
		s.out.Recalls = append(s.out.Recalls, Recall{Bucket: b.id(), FloorGrant: h.grant, FloorSeen: h.returned, FloorWindow: b.window})
	}
}

// asks says that a holder itself wants more of the bucket: it needs its floor.
func (l *Ledger) asks(now Moment, b *book, holder int32) bool {
	a := b.account(holder)
	return a != nil && max(a.ask.Want, a.ask.Need) > a.outstanding() && l.ttl(now, b, a) > 0
}

// handback returns what is known of a floor, which is nothing in a new session
// or of a new grant: the holder begins anew as well.
func (b *book) handback(holder int32, session, grant uint64) *handback {
	i := slices.IndexFunc(b.handbacks, func(h handback) bool { return h.holder == holder })
	if i < 0 {
		i = len(b.handbacks)
		b.handbacks = append(b.handbacks, handback{})
	}
	if h := &b.handbacks[i]; h.session != session || h.grant != grant {
		*h = handback{holder: holder, session: session, grant: grant}
	}
	return &b.handbacks[i]
}

// takeHandback credits what a holder handed back since it last said so, as far
// as there is room for it, and tells that it has been seen.
func (l *Ledger) takeHandback(b *book, s *session, r *Report) {
	if b.quota.terms.Windowed {
		l.takeWindowHandback(b, s, r)
		return
	}
	i := slices.IndexFunc(b.handbacks, func(h handback) bool {
		return h.holder == s.holder && h.session == s.n && h.grant == r.FloorGrant
	})
	if i < 0 {
		return // nobody asked for it in the session
	}
	h := &b.handbacks[i]
	if more := r.FloorReturned - h.returned; more > 0 {
		if !mutated("a handback credited above the room") {
			more = min(more, max(0, b.quota.capacity-b.held()))
		}
		b.pool += more
		b.quota.moved.Tokens += more
		b.quota.books.Refilled += more
		if !mutated("a handback credited again") {
			h.returned = r.FloorReturned
		}
	}
	s.out.Recalls = append(s.out.Recalls, Recall{Bucket: b.id(), FloorGrant: h.grant, FloorSeen: h.returned})
}

// pinned says that the book must be remembered: a report of what was handed
// back may still come, and must not be credited twice.
func (l *Ledger) pinned(b *book) bool {
	b.handbacks = slices.DeleteFunc(b.handbacks, func(h handback) bool { return l.sessions[h.session] == nil })
	return slices.ContainsFunc(b.handbacks, func(h handback) bool { return h.returned > 0 })
}

// cellHandback is the holder's side of a handback.
type cellHandback struct {
	floor    *floorLease
	returned int64 // in the session; of a window quota, in window
	seen     int64 // by the coordinator
	window   int64
	until    time.Duration
}

// recallFloor begins to hand back, or goes on, and takes note of what arrived.
func (h *Holder) recallFloor(now time.Duration, r *Recall) {
	q, ok := h.quotas.Load(r.Bucket.Quota)
	if !ok {
		return
	}
	f := q.floor.Load()
	if f == nil || f.grant != r.FloorGrant {
		return
	}
	c := h.Cell(r.Bucket.Quota, r.Bucket.Key)
	if c == nil || c.id != r.Bucket {
		return // beyond the cap: its key shares a bucket with others
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &c.back
	if b.floor != f {
		*b = cellHandback{floor: f}
		c.handing.Store(true)
	}
	if b.window == r.FloorWindow {
		b.seen = max(b.seen, min(r.FloorSeen, b.returned))
	}
	b.until = now + handbackTime
	c.touch()
}

// handBack takes what is in an idle floor out of use, and then reports it
// (law 7).
func (c *Cell) handBack(now time.Duration, used bool, out *Report) (news bool) {
	if !c.handing.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &c.back
	if b.floor == nil || b.floor != c.quota.floor.Load() {
		return false
	}
	if b.floor.clock != nil {
		return c.handBackWindow(now, used, out)
	}
	if now < b.until {
		c.touch() // it accrues, and is looked at again by the next tick
		if level := c.floorLevel(now); level > 0 && !used {
			c.floor.Level -= level
			b.returned += level
		}
	}
	out.FloorGrant, out.FloorReturned = b.floor.grant, b.returned
	return b.returned > b.seen
}

// resetHandback forgets what was handed back in an older session. What the
// coordinator did not see of it is lost.
func (c *Cell) resetHandback() {
	if c.handing.CompareAndSwap(true, false) {
		c.mu.Lock()
		c.back = cellHandback{}
		c.mu.Unlock()
	}
}
