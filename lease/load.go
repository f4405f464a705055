package lease

import "fmt"

// load has the record of a book read, unless it is known that there is none.
func (l *Ledger) load(b *book) {
	if b.state != bookAbsent {
		return
	}
	b.state = bookLoading
	if l.complete {
		l.absent = append(l.absent, b)
		return
	}
	l.loads = append(l.loads, b.id())
}

// Scanned takes one page of all entries below BucketPrefix, in the order of
// their keys; last says that there are no more. After the last page, a bucket
// that is not in memory is known to have no record. Records of quotas that no
// policy names are deleted once their leases have surely ended (law 12), those
// of a window by a leader that begins after it.
func (l *Ledger) Scanned(now Moment, page []Entry, last bool) {
	for i := range page {
		id, ok := parseBucketKey(page[i].Key)
		if !ok {
			l.halted = fmt.Errorf("lease: key %q: %w", page[i].Key, errRecord)
			return
		}
		if l.quota(id.Quota) == nil {
			if now.Wall.UnixMilli() >= l.lapsed[id.Quota] {
				l.orphans = append(l.orphans, Write{Key: page[i].Key, Expect: page[i].Revision})
			}
			continue
		}
		if _, stale := l.buried[id]; stale {
			continue
		}
		b := l.lookup(id)
		if b == nil {
			l.partial = true // there is a record that is not in memory
			continue
		}
		if b.state == bookOpen {
			continue
		}
		if err := l.open(now, b, &page[i]); err != nil {
			l.halted = fmt.Errorf("lease: record of %q: %w", id.Quota, err)
			return
		}
	}
	l.complete = last && !l.partial
	if last {
		l.buried = nil
	}
}

// bearAbsent opens the books that are known to have no record.
func (l *Ledger) bearAbsent(now Moment) {
	absent := l.absent
	l.absent = nil
	for _, b := range absent {
		if err := l.open(now, b, nil); err != nil {
			l.halted = err
		}
	}
}

// dropOrphans deletes records of quotas that are gone.
func (l *Ledger) dropOrphans(now Moment) {
	if len(l.orphans) == 0 || now.Mono < l.settles || !l.granting(now) {
		return
	}
	n := min(len(l.orphans), MaxTxnWrites)
	var writes []Write
	for _, w := range l.orphans[:n] {
		if id, _ := parseBucketKey(w.Key); l.quota(id.Quota) == nil { // still
			writes = append(writes, w)
		}
	}
	l.orphans = l.orphans[n:]
	if len(writes) > 0 {
		l.send(flight{kind: flightOrphans}, writes)
	}
}

// Loaded takes the records that were read for some of Ready.Loads; entries
// holds those that exist. A malformed record halts the ledger: to go on would
// be to forget what it holds.
func (l *Ledger) Loaded(now Moment, ids []BucketID, entries []Entry) {
	byKey := make(map[string]*Entry, len(entries))
	for i := range entries {
		byKey[entries[i].Key] = &entries[i]
	}
	for _, id := range ids {
		b := l.books[id]
		if b == nil || b.state != bookLoading {
			continue
		}
		e := byKey[bucketKey(id)]
		if err := l.open(now, b, e); err != nil {
			l.halted = fmt.Errorf("lease: record of %q: %w", id.Quota, err)
			return
		}
	}
}

// Unloaded says that records could not be read; they are asked for again when
// a next message needs them.
func (l *Ledger) Unloaded(ids []BucketID) {
	for _, id := range ids {
		if b := l.books[id]; b != nil && b.state == bookLoading {
			b.state = bookAbsent
			l.load(b)
		}
	}
}

// open begins a book with its stored record, or as born when there is none,
// and then takes what arrived for it meanwhile.
func (l *Ledger) open(now Moment, b *book, e *Entry) error {
	var r record
	if e != nil {
		var err error
		if r, err = decodeRecord(e.Value); err != nil {
			return err
		}
		b.revision = e.Revision
	}
	b.state = bookOpen
	if e == nil || r.Epoch.History < l.cluster.Since {
		l.bear(now, b)
	} else {
		l.inherit(b, r)
	}
	b.quota.books.Initial += b.held()
	b.publish(Stock{})
	l.trim(b)
	l.unstash(now, b)
	l.enqueue(b)
	return nil
}

// unstash takes what arrived for a book before its record: all claims first,
// since what is not claimed is dropped.
func (l *Ledger) unstash(now Moment, b *book) {
	stash := b.stash
	b.stash = nil
	for _, m := range stash {
		if m.claim == nil {
			continue
		}
		s := l.sessions[m.session]
		if s == nil {
			if l.holders.list[m.holder].session != m.session {
				continue // a newer session says what its holder has
			}
			// The stream ended meanwhile, and what it claimed is charged all
			// the same: its holder goes on spending.
			s = &session{n: m.session, holder: m.holder}
		}
		l.takeClaim(now, b, s, m.account, m.claim)
	}
	for _, m := range stash {
		if s := l.sessions[m.session]; s != nil && m.report != nil {
			l.takeReport(now, b, s, m.report, m.clock, m.sent == s.lastSent)
		}
	}
}

// bear fills a book that has no record of this history: as any that was
// never used. Until the leases of a lost past have surely ended, all that it may
// hold counts as leased (law 13).
func (l *Ledger) bear(now Moment, b *book) {
	q := b.quota
	if q.terms.Windowed {
		b.start()
		return
	}
	l.mature(now.Mono, q)
	b.pool, b.rem, b.mark = q.newborn.pool, q.newborn.rem, q.newborn.mark
	if l.cluster.Distrust && now.Mono < l.settles {
		b.inherits = q.capacity // what is leased of it, nobody knows
	}
}

// inherit opens the record of an older leader: what it had set aside may have
// been granted, so it counts as outstanding until it is claimed or surely dead.
// Refill starts with this leader.
func (l *Ledger) inherit(b *book, r record) {
	b.window, b.used, b.pool = r.Window, r.Used, r.Pool
	b.inherits = r.Inherits + r.Chunk
	b.bounds = r.Holders
	if mutated("a takeover from full buckets") {
		b.pool = b.quota.capacity
	}
	b.mark = b.quota.meter.Mark(l.began)
}

// trim brings a book that has more than its capacity below it, as far as what
// is outstanding allows (law 12).
func (l *Ledger) trim(b *book) {
	if b.state != bookOpen {
		return
	}
	before := b.stock()
	if b.quota.terms.Windowed {
		chunk := min(b.chunk, max(0, b.used-b.quota.terms.Tokens)) // then its pool is empty
		b.chunk, b.used = b.chunk-chunk, b.used-chunk
		b.quota.books.Destroyed += chunk
	} else {
		b.shed()
	}
	b.publish(before)
}

// shed is trim within a change of which the stock is published by the caller.
func (b *book) shed() {
	over := max(0, b.held()-b.quota.capacity)
	pool := min(over, b.pool)
	chunk := min(over-pool, b.chunk)
	b.pool -= pool
	b.chunk -= chunk
	if pool+chunk > 0 {
		b.rem = 0
	}
	b.quota.books.Destroyed += pool + chunk
}
