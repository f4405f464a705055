package lease

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// AppendState appends everything of l that what it does from now on depends
// on: ledgers that are written alike, seen through the same kind of frame, do
// alike. Its configuration is not written, nor the texts of policies.
func (l *Ledger) AppendState(dst []byte, f Frame) []byte {
	w := stateWriter{Frame: f, b: dst}
	now := f.Now.Mono
	w.epoch(l.epoch)
	w.cluster(&l.cluster)
	w.int(l.clusRev, l.polRev, l.revision)
	w.uint(l.policy.Revision, l.lastN, l.lastID)
	w.bits(l.awake, l.booted, l.complete, l.partial, l.retiring, l.halted != nil, l.buried != nil, l.next != nil)
	w.times(l)
	for _, id := range slices.SortedFunc(maps.Keys(l.buried), compareBuckets) {
		w.bucketID(id)
	}
	w.count(len(l.quotas))
	for _, q := range l.quotas {
		w.quota(l, q)
	}
	w.count(len(l.order))
	for _, b := range l.order {
		w.book(l, b)
	}
	if len(l.order) > 1 || !f.Plain {
		w.count(l.cursor) // one book is visited by every sweep
	}
	w.holders(&l.holders)
	w.count(len(l.sessions))
	for _, n := range slices.Sorted(maps.Keys(l.sessions)) {
		w.ledgerSession(l, l.sessions[n])
	}
	w.places(l.queue, l.hungry, l.absent, l.writes)
	w.count(len(l.loads))
	for _, id := range l.loads {
		w.bucketID(id)
	}
	w.writes(l.orphans)
	w.count(len(l.lapsed))
	for _, name := range slices.Sorted(maps.Keys(l.lapsed)) {
		w.str(name)
		w.window(l.lapsed[name])
	}
	w.count(len(l.txns))
	for _, t := range l.txns {
		w.uint(t.ID)
		w.writes(t.Writes)
	}
	w.flights(l.flying)
	w.policyChange(l.next)
	w.count(len(l.ready.Closed))
	w.uint(l.ready.Closed...)
	if !f.Plain {
		s := l.stats
		w.int(s.Granted, s.Refused, s.Malformed, s.NotWritten)
		w.overs(l)
	}
	w.until(now, l.shrinkAt)
	return w.b
}

// overs writes what is known of overspend: it is for the measure of overshoot
// alone.
func (w *stateWriter) overs(l *Ledger) {
	w.count(len(l.overs))
	for _, of := range slices.SortedFunc(maps.Keys(l.overs), compareOvers) {
		w.bucketID(of.bucket)
		w.int(of.window, l.overs[of])
	}
	w.count(l.counters)
	for i := range l.holders.list {
		over := l.holders.list[i].over
		var sum, cuts int64
		for k, tokens := range over {
			sum += tokens
			cuts += int64(k.cut) + k.window
		}
		w.count(len(over))
		w.int(sum, cuts)
		w.uint(l.holders.list[i].owes)
	}
}

// times writes the moments that a leader counts from. Once everything that
// older leaders left is in memory and gone, it does not matter since when.
func (w *stateWriter) times(l *Ledger) {
	now := w.Now.Mono
	w.until(now, l.until)
	done := w.Plain && l.complete && now >= l.settles
	for _, b := range l.order {
		done = done && b.state == bookOpen && b.inherits == 0 && len(b.bounds) == 0
	}
	w.bits(done)
	if !done {
		w.at(now, l.settles)
		w.at(now, l.began)
	}
	w.int(int64(l.election))
}

func (w *stateWriter) cluster(c *clusterRecord) {
	w.str(c.Cluster)
	w.uint(c.History, c.Since)
	w.int(int64(c.Longest), int64(c.Election))
	w.bits(c.Distrust, c.Changed)
	w.str(c.Levels)
}

// places writes lists of books.
func (w *stateWriter) places(lists ...[]*book) {
	for _, list := range lists {
		w.count(len(list))
		for _, b := range list {
			w.bucketID(b.id())
		}
	}
}

func (w *stateWriter) writes(writes []Write) {
	w.count(len(writes))
	for _, x := range writes {
		w.str(x.Key)
		w.bits(x.Value == nil)
		w.str(string(x.Value))
		w.int(x.Expect)
	}
}

func (w *stateWriter) flights(flying []flight) {
	w.count(len(flying))
	for i := range flying {
		f := &flying[i]
		w.uint(f.id, uint64(f.kind))
		w.places(f.books)
		w.bits(f.quota != nil)
		if f.quota != nil {
			w.str(f.quota.terms.Quota)
		}
		w.windowRecord(f.window)
		w.int(int64(f.slot))
		w.cluster(&f.cluster)
	}
}

func (w *stateWriter) windowRecord(r windowRecord) {
	w.uint(r.History)
	w.window(r.High)
	w.window(r.Spoiled)
	w.window(r.Ends)
}

func (w *stateWriter) policyChange(p *policyChange) {
	if p == nil {
		return
	}
	w.uint(p.record.Revision)
	w.count(len(p.terms))
	for i := range p.terms {
		w.terms(&p.terms[i])
	}
}

func (w *stateWriter) terms(t *Terms) {
	w.str(t.Quota)
	w.int(t.Tokens, int64(t.Per), t.Burst, int64(t.TTL), t.Size, int64(t.FloorTTL))
	w.bits(t.Windowed)
	w.count(len(t.Floors))
	for _, f := range t.Floors {
		w.str(f.Region)
		w.int(f.Tokens, f.Burst)
	}
}

func (w *stateWriter) holders(t *holderTable) {
	w.count(len(t.list))
	for i := range t.list {
		h := &t.list[i]
		w.holderID(h.id)
		w.uint(h.session)
		w.bits(h.known, h.complete, h.gone, h.unheard)
		w.count(h.accounts)
	}
	w.count(len(t.unused))
	for _, i := range t.unused {
		w.int(int64(i))
	}
	w.count(t.cursor)
}

func (w *stateWriter) ledgerSession(l *Ledger, s *session) {
	now, clock := w.Now.Mono, time.Duration(0)
	if s.holder >= 0 {
		clock = w.Holder(l.holders.list[s.holder].id)
	}
	w.uint(s.n, uint64(s.pieces), s.claims, s.opened, s.told)
	if !w.Plain {
		w.uint(uint64(s.lastPart))
		w.int(int64(s.roundTrip))
	}
	if !s.ready {
		w.int(s.welcomed) // until its Hello is complete
	}
	w.int(int64(s.holder))
	w.bits(s.ready, s.heard, s.answer)
	w.at(clock, s.lastSent)
	w.at(now, s.lastAt)
	w.since(now, s.answeredAt, heartbeat)
	w.floorClaims(s.claimed)
	w.batch(&s.out, clock)
}

func compareBuckets(a, b BucketID) int {
	if a.Quota != b.Quota {
		if a.Quota < b.Quota {
			return -1
		}
		return 1
	}
	switch {
	case a.Key < b.Key:
		return -1
	case a.Key > b.Key:
		return 1
	}
	return 0
}

func compareOvers(a, b overOf) int {
	return cmp.Or(compareBuckets(a.bucket, b.bucket), cmp.Compare(a.window, b.window))
}
