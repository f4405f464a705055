package lease

import (
	"maps"
	"slices"
)

// Clone returns a ledger that does from now on exactly what l would do, and
// shares nothing with it that either may change. Whatever l has in flight, the
// clone has in flight too. It is for explorations that try several futures of
// one present.
func (l *Ledger) Clone() *Ledger {
	c := *l
	k := ledgerCopier{books: make(map[*book]*book, len(l.order)), quotas: make(map[*quota]*quota, len(l.quotas))}
	c.buried, c.lapsed = maps.Clone(l.buried), maps.Clone(l.lapsed)
	c.quotas = eachOf(l.quotas, k.quota)
	c.order = eachOf(l.order, k.book)
	c.books = make(map[BucketID]*book, len(l.books))
	for id, b := range l.books {
		c.books[id] = k.book(b)
	}
	c.holders.index = maps.Clone(l.holders.index)
	c.holders.list = slices.Clone(l.holders.list)
	c.holders.unused = slices.Clone(l.holders.unused)
	c.sessions = make(map[uint64]*session, len(l.sessions))
	for n, s := range l.sessions {
		c.sessions[n] = s.clone()
	}
	c.queue, c.hungry = eachOf(l.queue, k.book), eachOf(l.hungry, k.book)
	c.absent, c.writes = eachOf(l.absent, k.book), eachOf(l.writes, k.book)
	c.loads, c.orphans, c.txns = slices.Clone(l.loads), slices.Clone(l.orphans), slices.Clone(l.txns)
	c.flying = eachOf(l.flying, k.flight)
	c.overs = maps.Clone(l.overs)
	for i := range c.holders.list {
		c.holders.list[i].over = maps.Clone(l.holders.list[i].over)
	}
	if l.next != nil {
		next := *l.next
		c.next = &next
	}
	c.ready.Closed = slices.Clone(l.ready.Closed)
	c.situation, c.targets = Situation{}, nil
	return &c
}

// eachOf copies a slice element by element; nil stays nil.
func eachOf[T any](in []T, copyOf func(T) T) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(in))
	for i := range in {
		out[i] = copyOf(in[i])
	}
	return out
}

// ledgerCopier keeps what each pointer of the original became.
type ledgerCopier struct {
	books  map[*book]*book
	quotas map[*quota]*quota
}

func (k *ledgerCopier) quota(q *quota) *quota {
	if q == nil {
		return nil
	}
	if c := k.quotas[q]; c != nil {
		return c
	}
	c := *q // terms are replaced, never changed in place
	c.slots = slices.Clone(q.slots)
	k.quotas[q] = &c
	return &c
}

func (k *ledgerCopier) book(b *book) *book {
	if c := k.books[b]; c != nil {
		return c
	}
	c := *b
	c.quota = k.quota(b.quota)
	c.accounts, c.bounds, c.closed = slices.Clone(b.accounts), slices.Clone(b.bounds), slices.Clone(b.closed)
	c.stash = eachOf(b.stash, stashed.clone)
	c.handbacks = slices.Clone(b.handbacks)
	if b.past != nil {
		past := *b.past
		c.past = &past
	}
	k.books[b] = &c
	return &c
}

func (k *ledgerCopier) flight(f flight) flight {
	f.books = eachOf(f.books, k.book)
	f.quota = k.quota(f.quota)
	return f
}

func (m stashed) clone() stashed {
	if m.claim != nil {
		c := *m.claim
		m.claim = &c
	}
	if m.report != nil {
		r := *m.report
		m.report = &r
	}
	return m
}

func (s *session) clone() *session {
	c := *s
	c.claimed = slices.Clone(s.claimed)
	c.out.Grants = slices.Clone(s.out.Grants)
	c.out.Recalls = slices.Clone(s.out.Recalls)
	c.out.Floors = slices.Clone(s.out.Floors)
	return &c
}
