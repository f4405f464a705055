package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/a1009580/leasehold/lease"
)

// Hooks let a test fail what it likes. Each is called without a lock held, so
// that it may use the store; nil ones are not called. What a hook returns is
// returned to the caller as it is: a test gives the sentinels of package lease.
type Hooks struct {
	// BeforeRead is called before Get, Scan and Leader.
	BeforeRead func() error
	// BeforeCommit is called before a transaction that is then not made if it
	// fails: ErrUnavailable, ErrNoSpace, or an ErrUnknown that wrote nothing.
	BeforeCommit func(lease.LeaderKey, []lease.Write) error
	// AfterCommit is called after a transaction was made: an ErrUnknown that
	// wrote.
	AfterCommit func(leader lease.LeaderKey, writes []lease.Write, revision int64) error
	// BeforeProve is called before a leadership is renewed.
	BeforeProve func(lease.LeaderKey) error
	// BeforeResign is called before a leadership is given up.
	BeforeResign func(lease.LeaderKey) error
}

// SetHooks replaces all hooks.
func (s *Store) SetHooks(h Hooks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = h
}

func (s *Store) currentHooks() Hooks {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hooks
}

func (s *Store) beforeRead(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return unavailable(err)
	}
	if hook := s.currentHooks().BeforeRead; hook != nil {
		return hook()
	}
	return nil
}

// Snapshot is a copy of all that a store held at one moment: entries, revision
// and election keys. It does not change.
type Snapshot struct {
	revision int64
	entries  map[string]record
	queue    []ballot
}

// Revision returns the store's revision at the time of the copy.
func (s Snapshot) Revision() int64 { return s.revision }

// Snapshot copies the store.
func (s *Store) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Snapshot{revision: s.revision, entries: maps.Clone(s.entries)}
	for _, b := range s.queue {
		c.queue = append(c.queue, *b)
	}
	return c
}

// Restore puts a copy in the place of all that the store holds: what was
// written since is lost and the revision goes back, as when a backup is
// restored. Election keys that the copy lacks are gone; those that it has stand
// again for as long as their lease had left.
func (s *Store) Restore(c Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision = c.revision
	s.entries = maps.Clone(c.entries)
	s.queue = nil
	for _, b := range c.queue {
		if b.expires == forever {
			b.expires = s.now() + s.ttl // a Campaign that still waits renews it when it wakes
		}
		s.queue = append(s.queue, &b)
	}
	s.sorted = false
	s.wake()
}

// Wipe empties the store, as when its data directory was deleted.
func (s *Store) Wipe() {
	s.Restore(Snapshot{revision: firstRevision, entries: map[string]record{}})
}

// Force writes without asking for a leader or a revision, as an operator with
// the store's own tools could, and returns the revision.
func (s *Store) Force(writes []lease.Write) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apply(writes)
}

// DeleteLeader deletes the key of the present leader, as somebody with the
// store's own tools could, and reports whether there was one.
func (s *Store) DeleteLeader() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	return len(s.queue) > 0 && s.remove(s.queue[0].key)
}

// EndSession ends the lease of everybody who stands or leads by a name.
func (s *Store) EndSession(candidate string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := false
	for _, b := range slices.Clone(s.queue) {
		if b.candidate == candidate {
			ended = s.remove(b.key) || ended
		}
	}
	if !ended {
		return errNoSession
	}
	return nil
}

// Standing returns the names of those who stand, in the order in which they
// will lead; the first one leads.
func (s *Store) Standing() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	names := make([]string, 0, len(s.queue))
	for _, b := range s.queue {
		names = append(names, b.candidate)
	}
	return names
}

// Wake lets every waiting Campaign look at the clock again. Whoever moves the
// clock of a store that has no Options.After calls it.
func (s *Store) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	s.wake()
}
