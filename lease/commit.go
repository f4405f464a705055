package lease

import "errors"

// Txn is a transaction that a ledger decided. Its owner gives it to
// Store.Commit and the outcome back to Committed or Failed.
type Txn struct {
	ID     uint64
	Writes []Write
}

// flight is what a ledger applies when a transaction is committed.
type flight struct {
	id      uint64
	kind    flightKind
	books   []*book // debits, write-backs and deletions
	quota   *quota  // of a window or a floor
	window  windowRecord
	slot    int32
	cluster clusterRecord
}

type flightKind uint8

const (
	flightBoot flightKind = iota
	flightBooks
	flightWindow
	flightFloor
	flightCluster
	flightHistory
	flightPolicy
	flightOrphans
)

// send gives a transaction to the next Ready.
func (l *Ledger) send(f flight, writes []Write) {
	l.lastID++
	f.id = l.lastID
	l.flying = append(l.flying, f)
	l.txns = append(l.txns, Txn{ID: f.id, Writes: writes})
}

// debit moves tokens from the pool towards the chunk: what is decided here may
// be granted once it is committed (law 2).
func (l *Ledger) debit(b *book, tokens int64) {
	before := b.stock()
	if b.quota.terms.Windowed {
		b.used += tokens
	} else {
		b.pool -= tokens
	}
	b.pending = tokens
	if mutated("a grant before its commit") {
		b.chunk, b.pending = b.chunk+tokens, 0
	}
	b.publish(before)
	l.store(b)
}

// store has the record of b written, together with those of other books.
func (l *Ledger) store(b *book) {
	b.inFlight = true
	l.writes = append(l.writes, b)
}

// record is what the store must know if this leader ended now and the
// transaction had been committed. What is granted from the chunk while the
// transaction is in flight is covered by the chunk that is written.
func (l *Ledger) record(b *book) record {
	r := record{
		Epoch: l.epoch, Policy: l.policy.Revision, Window: b.window, Used: b.used, Pool: b.pool,
		Chunk: b.chunk + b.pending, Inherits: b.inherits,
	}
	if mutated("an inherited chunk forgotten") {
		r.Inherits = 0
	}
	places := make(map[HolderID]int, len(b.bounds)+len(b.accounts))
	add := func(h HolderID, tokens int64) {
		if i, ok := places[h]; ok {
			r.Holders[i].Tokens += tokens
			return
		}
		places[h] = len(r.Holders)
		r.Holders = append(r.Holders, bound{Holder: h, Tokens: tokens})
	}
	for _, o := range b.bounds {
		add(o.Holder, o.Tokens)
	}
	for i := range b.accounts {
		if o := b.accounts[i].outstanding(); o > 0 {
			add(l.holders.list[b.accounts[i].holder].id, o)
		}
	}
	return r
}

// born says that b is as if it had never been used, so that its record may be
// deleted (law 12).
func (l *Ledger) born(now Moment, b *book) bool {
	if b.pending > 0 || b.outstanding() > 0 || len(b.accounts) > 0 || b.queued || b.hungry {
		return false
	}
	if b.quota.terms.Windowed {
		return b.used-b.chunk == b.quota.reserved(b.window) && b.window > b.quota.window.Spoiled
	}
	l.mature(now.Mono, b.quota)
	if mutated("a record collected too early") {
		return true
	}
	return b.pool+b.chunk >= b.quota.newborn.pool
}

// txnBytes bounds a transaction, since records of many holders are long.
const txnBytes = 256 << 10

// pack puts the books that wait to be written into transactions.
func (l *Ledger) pack() {
	waiting := l.writes
	l.writes = nil
	for len(waiting) > 0 {
		var writes []Write
		size := 0
		for _, b := range waiting[:min(len(waiting), MaxTxnWrites)] {
			w := Write{Key: bucketKey(b.id()), Expect: b.revision}
			if !b.dying {
				r := l.record(b)
				w.Value = r.encode()
				b.stale = false
			}
			if size += len(w.Key) + len(w.Value); size > txnBytes && len(writes) > 0 {
				break
			}
			writes = append(writes, w)
		}
		books := append([]*book(nil), waiting[:len(writes)]...)
		waiting = waiting[len(writes):]
		l.send(flight{kind: flightBooks, books: books}, writes)
	}
}

// Committed applies a transaction that the store committed at a revision.
func (l *Ledger) Committed(now Moment, id uint64, revision int64) {
	f, ok := l.land(id)
	if !ok {
		return
	}
	l.revision = max(l.revision, revision)
	switch f.kind {
	case flightBoot:
		l.booted = true
		l.clusRev, l.cluster = revision, f.cluster
		l.polRev = revision
	case flightBooks:
		for _, b := range f.books {
			l.landed(b, revision)
		}
	case flightWindow:
		f.quota.window, f.quota.windowRev, f.quota.rolling = f.window, revision, false
		l.wakeQuota(f.quota)
	case flightFloor:
		l.floorLanded(now, f.quota, f.slot, revision)
	case flightCluster:
		l.clusRev, l.cluster = revision, f.cluster
	case flightHistory:
		l.halted = ErrLostHistory
	case flightPolicy:
		l.clusRev, l.cluster = revision, f.cluster
		l.polRev = revision
		l.adopt(now)
	case flightOrphans:
	}
}

// landed applies the write of one book: what was pending may now be granted.
func (l *Ledger) landed(b *book, revision int64) {
	b.inFlight = false
	if b.dying {
		l.bury(b)
		return
	}
	b.revision = revision
	b.chunk += b.pending // adds: the chunk was granted from meanwhile
	b.pending = 0
	l.trim(b) // the policy may have changed meanwhile
	l.enqueue(b)
}

// bury goes on with a book whose record was deleted: it is forgotten, unless
// somebody asked for it meanwhile. Nothing was granted from it since.
func (l *Ledger) bury(b *book) {
	before := b.stock()
	chunk := b.chunk
	b.dying, b.revision, b.chunk = false, 0, 0
	l.credit(b, chunk)
	b.publish(before)
	if len(b.accounts) > 0 || b.queued || b.hungry {
		l.enqueue(b)
		return
	}
	if l.pinned(b) {
		return
	}
	if l.buried != nil {
		l.buried[b.id()] = struct{}{} // a page of the scan may still tell of it
	}
	l.forget(b)
}

// Failed takes the outcome of a transaction that was not, or may not have
// been, committed. When debits surely were not written, they are taken back
// and decided again later; in every other case, the leader stops granting and
// steps down (law 2).
func (l *Ledger) Failed(id uint64, err error) {
	f, ok := l.land(id)
	if !ok {
		return
	}
	unwritten := errors.Is(err, ErrNoSpace) || errors.Is(err, ErrUnavailable)
	if f.kind == flightOrphans && (unwritten || errors.Is(err, ErrConflict)) {
		return // the next leader finds them again
	}
	if f.kind != flightBooks || !unwritten {
		l.halted = err
		return
	}
	l.stats.NotWritten++
	for _, b := range f.books {
		l.undo(b)
	}
}

// undo takes back the decision of a transaction that surely wrote nothing.
func (l *Ledger) undo(b *book) {
	before := b.stock()
	pending := b.pending
	b.pending, b.inFlight, b.dying, b.stale = 0, false, false, true
	l.credit(b, pending) // as far as a policy that came meanwhile allows
	b.publish(before)
}

// land takes a transaction out of those in flight.
func (l *Ledger) land(id uint64) (flight, bool) {
	for i, f := range l.flying {
		if f.id == id {
			l.flying = append(l.flying[:i], l.flying[i+1:]...)
			return f, true
		}
	}
	return flight{}, false
}
