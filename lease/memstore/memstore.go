// Package memstore is the store and the election of a cluster in the memory of
// one process: what tests and the simulation run on, and what a demo may use.
//
// It is pure: it starts no goroutine, reads no clock and rolls no dice, so that
// a replayed schedule finds it in the same states. Its border is the process:
// nothing it holds is durable, whatever Commit says. It behaves like etcd where
// that can be seen: one revision for entries and election keys alike, a guard
// that asks only whether the key exists, leases that end by the store's clock.
package memstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// DefaultTTL is the length of election leases unless Options says otherwise.
const DefaultTTL = 2 * time.Second

// Options are the choices of New.
type Options struct {
	// Now is the store's clock, counted from any fixed moment; required.
	Now func() time.Duration
	// After is like time.After on the same clock as Now: it lets a waiting
	// Campaign notice that a leader's lease ended. Without it, whoever moves
	// the clock calls Wake.
	After func(time.Duration) <-chan time.Time
	// TTL is the length of election leases; 0 means DefaultTTL.
	TTL time.Duration
}

// Store is a lease.Store and a lease.Elector. Its methods may be called
// concurrently.
type Store struct {
	now   func() time.Duration
	after func(time.Duration) <-chan time.Time
	ttl   time.Duration

	mu sync.Mutex
	// All below belong to mu.

	revision int64
	entries  map[string]record
	// keys are those of entries in order, while sorted; a key that comes or
	// goes only clears sorted, so that a burst of them costs one sort.
	keys   []string
	sorted bool
	// queue holds the candidates who stand, in the order of their keys'
	// revisions: the first one leads.
	queue []*ballot
	// ballots counts the keys ever made. It survives Wipe and Restore, as the
	// random lease in the name of an etcd key does.
	ballots int64
	// changed is closed, and replaced, when the queue may look different.
	changed chan struct{}
	hooks   Hooks
}

var (
	_ lease.Store   = (*Store)(nil)
	_ lease.Elector = (*Store)(nil)
)

// record is an entry without its key. Its value is never changed in place, so
// that snapshots may share it.
type record struct {
	value    []byte
	revision int64
}

// New returns an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		panic("memstore: Options.Now is nil")
	}
	if o.TTL <= 0 {
		o.TTL = DefaultTTL
	}
	return &Store{
		now: o.Now, after: o.After, ttl: o.TTL,
		revision: firstRevision,
		entries:  map[string]record{},
		changed:  make(chan struct{}),
	}
}

// firstRevision is that of an empty store, as in etcd.
const firstRevision = 1

// Get implements lease.Store.
func (s *Store) Get(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
	if err := s.beforeRead(ctx); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	entries := make([]lease.Entry, 0, len(keys))
	for _, key := range keys {
		if r, ok := s.entries[key]; ok {
			entries = append(entries, r.entry(key))
		}
	}
	return entries, s.revision, nil
}

// Scan implements lease.Store.
func (s *Store) Scan(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error) {
	if err := s.beforeRead(ctx); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	s.sort()
	from, _ := slices.BinarySearch(s.keys, prefix)
	if next, found := slices.BinarySearch(s.keys, after); found {
		from = max(from, next+1)
	} else {
		from = max(from, next)
	}
	var entries []lease.Entry
	for _, key := range s.keys[from:] {
		if len(entries) >= limit || !strings.HasPrefix(key, prefix) {
			break
		}
		entries = append(entries, s.entries[key].entry(key))
	}
	return entries, s.revision, nil
}

// Commit implements lease.Store.
func (s *Store) Commit(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, unavailable(err)
	}
	if len(writes) > lease.MaxTxnWrites {
		return 0, fmt.Errorf("%w: %d", lease.ErrTooLarge, len(writes))
	}
	hooks := s.currentHooks()
	if hooks.BeforeCommit != nil {
		if err := hooks.BeforeCommit(leader, writes); err != nil {
			return 0, err
		}
	}
	revision, err := s.commit(leader, writes)
	if err == nil && hooks.AfterCommit != nil {
		err = hooks.AfterCommit(leader, writes, revision)
	}
	if err != nil {
		return 0, err
	}
	return revision, nil
}

func (s *Store) commit(leader lease.LeaderKey, writes []lease.Write) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if s.find(leader) < 0 {
		return 0, fmt.Errorf("%w: %q of revision %d", lease.ErrFenced, leader.Key, leader.Revision)
	}
	for _, w := range writes {
		if have := s.entries[w.Key].revision; have != w.Expect {
			return 0, fmt.Errorf("%w: %q has %d, expected %d", lease.ErrConflict, w.Key, have, w.Expect)
		}
	}
	if key, ok := repeated(writes); ok {
		return 0, fmt.Errorf("%w: %q is written twice", lease.ErrConflict, key)
	}
	return s.apply(writes), nil
}

// apply writes without a question. The caller holds mu.
func (s *Store) apply(writes []lease.Write) int64 {
	next := s.revision + 1
	for _, w := range writes {
		_, exists := s.entries[w.Key]
		switch {
		case w.Value != nil:
			s.entries[w.Key] = record{value: own(w.Value), revision: next}
		case exists:
			delete(s.entries, w.Key)
		default:
			continue
		}
		s.revision = next
		s.sorted = s.sorted && exists == (w.Value != nil)
	}
	return s.revision
}

// sort brings keys up to date. The caller holds mu.
func (s *Store) sort() {
	if s.sorted {
		return
	}
	s.keys = slices.AppendSeq(s.keys[:0], maps.Keys(s.entries))
	slices.Sort(s.keys)
	s.sorted = true
}

func (r record) entry(key string) lease.Entry {
	return lease.Entry{Key: key, Value: own(r.value), Revision: r.revision}
}

// own returns a copy that is not nil.
func own(value []byte) []byte {
	if len(value) == 0 {
		return []byte{}
	}
	return bytes.Clone(value)
}

// repeated returns a key that two writes share.
func repeated(writes []lease.Write) (string, bool) {
	if len(writes) < 2 {
		return "", false
	}
	seen := make(map[string]struct{}, len(writes))
	for _, w := range writes {
		if _, ok := seen[w.Key]; ok {
			return w.Key, true
		}
		seen[w.Key] = struct{}{}
	}
	return "", false
}

func unavailable(cause error) error {
	return fmt.Errorf("%w: %w", lease.ErrUnavailable, cause)
}
