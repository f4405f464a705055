package lease

import (
	"slices"
	"time"
)

// slot is one part of a region's floor (law 11). Its terms are those of the
// policy in force; the owner's may be older ones.
type slot struct {
	terms    FloorTerms // zero when the policy in force has no such slot
	owner    floorRecord
	owned    bool
	until    time.Duration // when the owner has surely stopped spending
	revision int64         // of the stored record, 0 if there is none
	inFlight bool
	again    bool // write it once more
	told     bool // the owner was told, by this leader
	toldAt   time.Duration
	// Of a window quota: how far leaders before us may have let the owner come,
	// and how far the wall clocks that we told it were ahead of our monotonic
	// one, at most, in nanoseconds.
	inherited int64
	ahead     int64
}

// legacy says that the owner has what the policy in force does not give.
func (s *slot) legacy(per time.Duration) bool {
	return s.owned && (s.owner.Region != s.terms.Region || s.owner.Tokens != s.terms.Tokens || s.owner.Burst != s.terms.Burst ||
		s.owner.Per != 0 && s.owner.Per != per)
}

// readFloor applies a stored floor: its owner may be spending, and may have
// been renewed by the leader before us until its election lease ended.
func (l *Ledger) readFloor(e Entry) error {
	name, n, ok := parseFloorKey(e.Key)
	if !ok {
		return errRecord
	}
	r, err := decodeFloor(e.Value)
	if err != nil {
		return err
	}
	q := l.quota(name)
	if q == nil {
		return nil
	}
	for len(q.slots) <= int(n) {
		q.slots = append(q.slots, slot{})
	}
	q.slots[n] = slot{
		owner: r, owned: !r.Free, revision: e.Revision, inherited: r.Through,
		until: l.began + l.cfg.Drift.Outlast(max(l.cfg.ElectionTTL, l.cluster.Election)+r.TTL),
	}
	return nil
}

// openQuota prepares a quota for its first use: its floors, the rate and the
// capacity that they leave, and its window.
func (l *Ledger) openQuota(q *quota, now Moment) {
	if l.cluster.Distrust && !l.booted {
		l.disownFloors(now, q)
	}
	l.arrangeFloors(now, q)
	q.newborn = newborn{pool: q.capacity, mark: q.meter.Mark(now.Mono)}
	if level, known := l.cluster.level(q.terms.Quota); known {
		q.newborn.fit(level)
	}
	l.openWindow(now, q)
}

// disownFloors forgets who owns the floors of a lost past: whoever claims a
// slot first has it, and nobody is given it before all have surely ended.
func (l *Ledger) disownFloors(now Moment, q *quota) {
	for len(q.slots) < len(q.terms.Floors) {
		q.slots = append(q.slots, slot{})
	}
	for i := range q.slots {
		s := &q.slots[i]
		ttl := max(s.owner.TTL, q.terms.FloorTTL)
		old := s.owner
		if i < len(q.terms.Floors) {
			f := q.terms.Floors[i]
			s.owner = floorRecord{
				Region: f.Region, Tokens: max(f.Tokens, s.owner.tokens(q.terms.Per)), Burst: max(f.Burst, s.owner.Burst),
				Per: q.terms.Per,
			}
		}
		s.owner.Holder, s.owner.TTL, s.owner.Grant, s.owner.Free = HolderID{}, ttl, old.Grant, false
		s.owned, s.until = true, l.began+l.cfg.Drift.Outlast(l.election+ttl)
		l.disownWindows(now, q, s, &old)
	}
}

// arrangeFloors puts the floors of the policy in force into the slots.
func (l *Ledger) arrangeFloors(now Moment, q *quota) {
	for len(q.slots) < len(q.terms.Floors) {
		q.slots = append(q.slots, slot{})
	}
	for i := range q.slots {
		s := &q.slots[i]
		s.terms = FloorTerms{}
		if i < len(q.terms.Floors) {
			s.terms = q.terms.Floors[i]
		}
	}
	l.refloor(now, q)
}

// refloor takes the floors out of the rate and the capacity: the burst of every
// floor, owned or not, but the rate only of those that may be spent from.
func (l *Ledger) refloor(now Moment, q *quota) {
	if q.terms.Windowed {
		q.capacity, q.reserve = q.terms.Tokens, reserve{}
		return
	}
	l.mature(now.Mono, q)
	rate, burst := q.terms.Tokens, q.terms.Burst
	for i := range q.slots {
		s := &q.slots[i]
		b := s.terms.Burst
		if s.owned {
			rate -= s.owner.tokens(q.terms.Per)
			b = max(b, s.owner.Burst)
		}
		burst -= b
	}
	q.meter.SetTokens(now.Mono, max(0, rate))
	q.capacity = max(0, burst)
	q.newborn.fit(q.capacity)
}

// claimFloors takes over what a holder says it owns, if the books agree.
func (l *Ledger) claimFloors(s *session, claims []FloorClaim) {
	id := l.holders.list[s.holder].id
	for _, c := range claims {
		q := l.quota(c.Quota)
		if q == nil || c.Slot < 0 || int(c.Slot) >= len(q.slots) {
			s.out.Floors = append(s.out.Floors, FloorGrant{Quota: c.Quota, Slot: c.Slot})
			continue
		}
		f := &q.slots[c.Slot]
		lost := f.owned && f.owner.Holder == (HolderID{}) && !f.inFlight
		switch {
		case f.owned && f.owner.Holder == id && f.owner.Grant == c.Grant:
		case lost && f.terms.Region == id.Region:
			f.owner.Holder, f.owner.Grant = id, c.Grant
			l.writeFloor(q, c.Slot)
		default:
			s.out.Floors = append(s.out.Floors, FloorGrant{Quota: c.Quota, Slot: c.Slot})
		}
	}
}

// dropUnclaimedFloors frees what the books give to a holder whose Hello does
// not claim it: absent means that it does not use it.
func (l *Ledger) dropUnclaimedFloors(now Moment, s *session) {
	id := l.holders.list[s.holder].id
	for _, q := range l.quotas {
		for i := range q.slots {
			f := &q.slots[i]
			if !f.owned || f.owner.Holder != id || f.inFlight {
				continue
			}
			if !slices.ContainsFunc(s.claimed, func(c FloorClaim) bool {
				return c.Quota == q.terms.Quota && int(c.Slot) == i && c.Grant == f.owner.Grant
			}) {
				l.freeFloor(now, q, int32(i))
			}
		}
	}
	s.claimed = nil
}

// freeFloors frees all floors of a holder that left.
func (l *Ledger) freeFloors(now Moment, holder int32) {
	id := l.holders.list[holder].id
	for _, q := range l.quotas {
		for i := range q.slots {
			if f := &q.slots[i]; f.owned && f.owner.Holder == id {
				l.freeFloor(now, q, int32(i))
			}
		}
	}
}

// freeFloor ends the ownership of a slot whose owner surely stopped.
func (l *Ledger) freeFloor(now Moment, q *quota, i int32) {
	f := &q.slots[i]
	if q.terms.Windowed {
		l.disentitle(now, q, f)
	}
	if f.owner.Burst > f.terms.Burst {
		// The capacity grows now: what accrued above the old one is lost (law 1).
		for _, b := range l.order {
			if b.quota == q {
				l.settle(now, b)
			}
		}
	}
	f.owned, f.owner.Free = false, true
	l.refloor(now, q)
	l.writeFloor(q, i)
}

// expireFloors frees the floors whose lease has surely ended.
func (l *Ledger) expireFloors(now Moment, q *quota) {
	for i := range q.slots {
		f := &q.slots[i]
		ended := now.Mono >= f.until
		if mutated("a floor given twice") {
			ended = ended || f.told && now.Mono-f.toldAt > f.owner.TTL/3
		}
		if f.owned && ended && !f.inFlight && l.granting(now) {
			l.freeFloor(now, q, int32(i))
		}
	}
}

// floorPause is how often a floor is renewed: heartbeats are answered anyway.
const floorPause = 5 * time.Second

// serveFloors renews the floors of the holder of a session, and gives it one of
// each quota that has a free one for its region. A grant answers the session's
// last report.
func (l *Ledger) serveFloors(now Moment, s *session) {
	if !l.granting(now) {
		return
	}
	id := l.holders.list[s.holder].id
	for _, q := range l.quotas {
		if q.removed || q.terms.Windowed && q.windowRev == 0 {
			continue
		}
		mine, free := q.findSlot(id)
		switch {
		case mine >= 0:
			if f := &q.slots[mine]; !f.inFlight && !f.legacy(q.terms.Per) && (!f.told || now.Mono-f.toldAt >= min(q.terms.FloorTTL/8, floorPause)) {
				l.tellFloor(now, q, mine, s)
			}
		case free >= 0:
			l.giveFloor(now, q, free, id)
		}
	}
}

// giveFloor has a holder own a free slot.
func (l *Ledger) giveFloor(now Moment, q *quota, i int32, id HolderID) {
	f := &q.slots[i]
	old := f.owner
	f.owner = floorRecord{
		Holder: id, Grant: old.Grant + 1, Region: id.Region,
		Tokens: f.terms.Tokens, Burst: f.terms.Burst, TTL: q.terms.FloorTTL, Per: q.terms.Per,
	}
	f.owned, f.told = true, false
	f.until = now.Mono + l.cfg.Drift.Outlast(q.terms.FloorTTL)
	if q.terms.Windowed {
		l.entitle(now, q, f, &old)
	}
	l.refloor(now, q)
	l.writeFloor(q, i)
}

// fits says that a free slot may have an owner: after a change of policy owners of
// older parts may be spending still, and all parts together are never more than
// the limit (law 12).
func (q *quota) fits(i int32) bool {
	t, f := &q.terms, &q.slots[i]
	tokens, burst := t.Tokens-f.terms.Tokens, t.Burst-f.terms.Burst
	for j := range q.slots {
		o := &q.slots[j]
		switch {
		case j == int(i):
		case t.Windowed:
			tokens -= o.lasting(q.firstWindow(&f.owner))
		case o.owned:
			tokens -= o.owner.tokens(t.Per)
			burst -= o.owner.Burst
		}
	}
	return tokens >= 0 && (t.Windowed || burst >= 0)
}

// findSlot returns the slot that a holder owns, and a free one of its region;
// -1 where there is none.
func (q *quota) findSlot(id HolderID) (mine, free int32) {
	mine, free = -1, -1
	for i := range q.slots {
		f := &q.slots[i]
		switch {
		case f.owned && f.owner.Holder == id:
			return int32(i), -1
		case !f.owned && !f.inFlight && free < 0 && f.terms.Region == id.Region && f.terms.Tokens > 0 && q.fits(int32(i)):
			free = int32(i)
		}
	}
	return mine, free
}

// tellFloor sends a floor to its owner.
func (l *Ledger) tellFloor(now Moment, q *quota, i int32, s *session) {
	f := &q.slots[i]
	g := FloorGrant{
		Quota: q.terms.Quota, Slot: i, Grant: f.owner.Grant,
		Tokens: f.owner.Tokens, Burst: f.owner.Burst, TTL: f.owner.TTL, Echo: s.lastSent,
	}
	if q.terms.Windowed {
		if !l.reaches(now, q, i) {
			return
		}
		g.First, g.Wall = f.owner.First, now.Wall.UnixNano()
		ahead := g.Wall - int64(now.Mono)
		if f.told {
			ahead = max(ahead, f.ahead)
		}
		f.ahead = ahead
	}
	f.told, f.toldAt = true, now.Mono
	f.until = max(f.until, s.lastAt+l.cfg.Drift.Outlast(f.owner.TTL))
	s.out.Floors = append(s.out.Floors, g)
}

// writeFloor has a slot's record written: an owner is durable before it is
// told, a freed one before the slot is given to another.
func (l *Ledger) writeFloor(q *quota, i int32) {
	f := &q.slots[i]
	if f.inFlight {
		f.again = true
		return
	}
	f.inFlight = true
	l.send(flight{kind: flightFloor, quota: q, slot: i},
		[]Write{{Key: floorKey(q.terms.Quota, i), Value: f.owner.encode(), Expect: f.revision}})
}

// floorLanded notes that a slot's record is written, and tells its owner.
func (l *Ledger) floorLanded(now Moment, q *quota, i int32, revision int64) {
	f := &q.slots[i]
	f.inFlight, f.revision = false, revision
	if f.again {
		f.again = false
		l.writeFloor(q, i)
		return
	}
	holder, known := l.holders.index[f.owner.Holder]
	if !f.owned || !known || !l.granting(now) || f.legacy(q.terms.Per) {
		return
	}
	if s := l.sessions[l.holders.list[holder].session]; s != nil && s.ready && s.heard {
		l.tellFloor(now, q, i, s)
	}
}
