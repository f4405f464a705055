package lease

import (
	"errors"
	"slices"
)

// ErrLostHistory is why a leader steps down after it found that its store was
// wiped or restored from an older copy (law 13). The next one begins a new
// history.
var ErrLostHistory = errors.New("lease: the store lost its past; a new history begins")

// Ready is what a Ledger wants done. Its owner may do all of it concurrently,
// and gives every outcome back: Loaded for Loads, Committed or Failed for each
// of Txns. Batches are to be sent on their sessions in order. Nothing in them
// depends on a transaction of the same Ready.
type Ready struct {
	Loads   []BucketID // records to read with Store.Get
	Txns    []Txn
	Batches []GrantBatch
	Closed  []uint64 // sessions to be closed
	// Halt says that this leader must stop, and why.
	Halt error
}

// Ready looks at every bucket that changed and returns what is to be done. The
// slices are the caller's for good.
func (l *Ledger) Ready(now Moment) Ready {
	l.bearAbsent(now)
	for len(l.queue) > 0 {
		queue := l.queue
		l.queue = nil
		for _, b := range queue {
			b.queued = false
			l.serve(now, b)
		}
	}
	l.pack()
	r := l.ready
	l.ready = Ready{}
	r.Loads, l.loads = l.loads, nil
	r.Txns, l.txns = l.txns, nil
	r.Batches = l.batches(now)
	r.Halt = l.halted
	return r
}

// batches takes what is to be sent, in the order of the sessions.
func (l *Ledger) batches(now Moment) []GrantBatch {
	var numbers []uint64
	for n, s := range l.sessions {
		if s.answer || len(s.out.Grants)+len(s.out.Recalls)+len(s.out.Floors) > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	out := make([]GrantBatch, 0, len(numbers))
	for _, n := range numbers {
		s := l.sessions[n]
		if !s.ready {
			continue
		}
		b := s.out
		b.Session = Session{Epoch: l.epoch, N: n}
		b.Echo, b.PolicyRevision, b.StoreRevision = s.lastSent, l.policy.Revision, l.revision
		b.Wall, b.Made = now.Wall.UnixNano(), now.Mono
		s.out, s.answer = GrantBatch{}, false
		out = append(out, b)
	}
	return out
}

// Tick does what only time brings: it looks again at unmet wishes, opens
// windows, frees floors whose lease has ended, and sweeps some of the books.
// Its owner calls it about every ten milliseconds.
func (l *Ledger) Tick(now Moment) {
	hungry := l.hungry
	l.hungry = nil
	for _, b := range hungry {
		b.hungry = false
		l.enqueue(b)
	}
	if !l.booted || l.halted != nil {
		return
	}
	for _, q := range l.quotas {
		l.openWindow(now, q)
		l.expireFloors(now, q)
	}
	l.tidyCluster(now)
	l.dropOrphans(now)
	l.sweep(now, sweepStep)
	l.forgetHolders(16)
}

// sweepStep is how many books one Tick sweeps.
const sweepStep = 256

// sweep settles some books in turn, and deletes the records of those that are
// as if they had never been used.
func (l *Ledger) sweep(now Moment, n int) {
	if len(l.order) == 0 {
		l.publishStranded()
	}
	for n = min(n, len(l.order)); n > 0; n-- {
		if l.cursor >= len(l.order) {
			l.cursor = 0
			l.publishStranded()
		}
		b := l.order[l.cursor]
		l.cursor++
		if b.state != bookOpen || b.inFlight {
			continue
		}
		l.settle(now, b)
		l.closeEmpty(b)
		b.quota.strands += l.stranded(b)
		if !l.born(now, b) && !l.overdue(now, b) {
			// Refill makes up for what a crash forgets of a token bucket, but in
			// a window nothing does.
			if b.quota.terms.Windowed && b.idle() && b.unsaved() && l.granting(now) {
				l.save(b)
			}
			continue
		}
		if b.revision == 0 {
			if l.pinned(b) {
				continue
			}
			l.forget(b)
			l.cursor--
			continue
		}
		if l.granting(now) {
			b.dying = true
			l.store(b)
		}
	}
}

// closeEmpty closes the empty accounts of holders that are not connected: those
// of a window quota would otherwise stay until their window ends.
func (l *Ledger) closeEmpty(b *book) {
	for i := len(b.accounts) - 1; i >= 0; i-- {
		if a := &b.accounts[i]; a.outstanding() == 0 && l.sessions[a.session] == nil {
			l.closeAccount(b, i)
		}
	}
}

// overdue says that the record of a removed quota has outlived its longest
// lease (law 12): of a window quota that is its window, or the quota could come
// back in it and be spent again.
func (l *Ledger) overdue(now Moment, b *book) bool {
	if t := &b.quota.terms; t.Windowed && t.Windows.Index(now.Wall) <= b.window {
		return false
	}
	return b.quota.removed && now.Mono >= b.quota.removedAt && !b.queued && !b.hungry
}

// Retire stops granting for an orderly end. The chunks, and what came back since
// the records were written, are written by the transactions of the next Ready;
// when they are committed, the leader resigns.
func (l *Ledger) Retire(now Moment) {
	l.retiring = true
	for _, b := range l.order {
		if b.state == bookOpen && !b.inFlight && b.unsaved() {
			l.settle(now, b)
			l.save(b)
		}
	}
}

// unsaved says that a leader who began with the record would know of less than
// there is: of what was set aside and not granted, or of what came back.
func (b *book) unsaved() bool { return b.chunk > 0 || b.stale }

// save puts the chunk back into the pool and has the record written.
func (l *Ledger) save(b *book) {
	before := b.stock()
	chunk := b.chunk
	b.chunk = 0
	l.credit(b, chunk)
	b.publish(before)
	l.store(b)
}

// idle says that nobody has anything of a book that is not as if it had never
// been used.
func (b *book) idle() bool {
	return b.revision != 0 && len(b.accounts) == 0 && !b.queued && !b.hungry
}

// Idle says that no transaction is in flight or waiting.
func (l *Ledger) Idle() bool { return len(l.flying)+len(l.writes)+len(l.txns) == 0 }
