package memstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// ballot is the key of one who stands for election, and the lease it hangs on.
type ballot struct {
	key       lease.LeaderKey
	candidate string
	expires   time.Duration
}

// forever is when the lease of a waiting Campaign ends: that process is alive.
const forever = time.Duration(math.MaxInt64)

// Campaign implements lease.Elector.
func (s *Store) Campaign(ctx context.Context, candidate string) (lease.Leadership, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := s.Stand(candidate)
	for {
		leadership, elected, changed, nap := c.await()
		if elected {
			return leadership, nil
		}
		var timer <-chan time.Time
		if s.after != nil {
			timer = s.after(nap)
		}
		select {
		case <-ctx.Done():
			c.Withdraw()
			return nil, ctx.Err()
		case <-changed:
		case <-timer:
		}
	}
}

// Leader implements lease.Elector.
func (s *Store) Leader(ctx context.Context) (string, bool, error) {
	if err := s.beforeRead(ctx); err != nil {
		return "", false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if len(s.queue) == 0 {
		return "", false, nil
	}
	return s.queue[0].candidate, true, nil
}

// Stand enters the election and returns at once, for those who may not wait,
// like a simulation. The candidacy lasts for the TTL of an election lease, and
// Elected renews it.
func (s *Store) Stand(candidate string) *Candidacy {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Candidacy{store: s, candidate: candidate}
	s.expire()
	s.stand(c, s.now()+s.ttl)
	return c
}

// Candidacy is one that stands for election.
type Candidacy struct {
	store     *Store
	candidate string
	key       lease.LeaderKey // belongs to store.mu; the latest one
}

// Elected renews the candidacy and returns the leadership when it leads. It
// stands again when its lease was lost in the meantime.
func (c *Candidacy) Elected() (lease.Leadership, bool) {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	leadership, elected := c.renew(s.now() + s.ttl)
	return leadership, elected
}

// Withdraw ends the candidacy, also when it leads by now.
func (c *Candidacy) Withdraw() {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.remove(c.key)
}

// await is Elected for one who waits inside a call: it also returns what is
// closed at the next change of the queue, and after how long to look again.
func (c *Candidacy) await() (l lease.Leadership, elected bool, changed <-chan struct{}, nap time.Duration) {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, elected = c.renew(forever); elected {
		s.queue[0].expires = s.now() + s.ttl
		return l, true, nil, 0
	}
	nap = s.ttl
	if e := s.queue[0].expires; e != forever {
		nap = max(e-s.now(), time.Millisecond)
	}
	return nil, false, s.changed, nap
}

// renew stands again if need be. The caller holds mu.
func (c *Candidacy) renew(expires time.Duration) (lease.Leadership, bool) {
	s := c.store
	s.expire()
	i := s.find(c.key)
	if i < 0 {
		i = s.stand(c, expires)
	}
	s.queue[i].expires = expires
	if i > 0 {
		return nil, false
	}
	return &leadership{store: s, key: c.key}, true
}

// stand gives c a new key and returns its place. The caller holds mu.
func (s *Store) stand(c *Candidacy, expires time.Duration) int {
	s.revision++
	s.ballots++
	c.key = lease.LeaderKey{Key: fmt.Sprintf("election/%d", s.ballots), Revision: s.revision}
	s.queue = append(s.queue, &ballot{key: c.key, candidate: c.candidate, expires: expires})
	return len(s.queue) - 1
}

// find returns the place of a key in the queue, or -1. The caller holds mu.
func (s *Store) find(key lease.LeaderKey) int {
	return slices.IndexFunc(s.queue, func(b *ballot) bool { return b.key == key })
}

// remove takes a key out of the queue, if it is there. The caller holds mu.
func (s *Store) remove(key lease.LeaderKey) bool {
	i := s.find(key)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	s.revision++
	s.wake()
	return true
}

// expire takes those out of the queue whose lease ended. The caller holds mu.
func (s *Store) expire() {
	if len(s.queue) == 0 {
		return
	}
	now := s.now()
	n := len(s.queue)
	s.queue = slices.DeleteFunc(s.queue, func(b *ballot) bool { return b.expires <= now })
	if gone := n - len(s.queue); gone > 0 {
		s.revision += int64(gone)
		s.wake()
	}
}

// wake lets every waiting Campaign look again. The caller holds mu.
func (s *Store) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// leadership is a lease.Leadership.
type leadership struct {
	store *Store
	key   lease.LeaderKey
}

// Key implements lease.Leadership.
func (l *leadership) Key() lease.LeaderKey { return l.key }

// TTL implements lease.Leadership.
func (l *leadership) TTL() time.Duration { return l.store.ttl }

// Prove implements lease.Leadership.
func (l *leadership) Prove(ctx context.Context) error {
	s := l.store
	if err := ctx.Err(); err != nil {
		return unavailable(err)
	}
	if hook := s.currentHooks().BeforeProve; hook != nil {
		if err := hook(l.key); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	i := s.find(l.key)
	if i < 0 {
		return fmt.Errorf("%w: %q of revision %d", lease.ErrFenced, l.key.Key, l.key.Revision)
	}
	s.queue[i].expires = s.now() + s.ttl
	return nil
}

// Resign implements lease.Leadership.
func (l *leadership) Resign(ctx context.Context) error {
	s := l.store
	if err := ctx.Err(); err != nil {
		return unavailable(err)
	}
	if hook := s.currentHooks().BeforeResign; hook != nil {
		if err := hook(l.key); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	s.remove(l.key)
	return nil
}

// errNoSession says that a candidate does not stand.
var errNoSession = errors.New("memstore: nobody stands by that name")
