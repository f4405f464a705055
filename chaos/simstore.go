package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// simstore is the store and the election: one sorted list that is read and
// written at moments of simulated time. It shares no code with lease/memstore.
type simstore struct {
	w        *World
	process  // its machine
	entries  []lease.Entry
	revision int64
	leader   string // name of the key's owner
	key      int64  // create revision of the leader's key, 0: nobody leads
	expires  time.Duration
	snapshot *simstore
	downTill time.Duration
}

func (s *simstore) find(key string) (int, bool) {
	return slices.BinarySearchFunc(s.entries, key, func(e lease.Entry, k string) int { return strings.Compare(e.Key, k) })
}

// expire ends the election lease by the store's clock.
func (s *simstore) expire() {
	if s.key != 0 && s.clock() >= s.expires {
		s.dropKey()
	}
}

func (s *simstore) dropKey() {
	s.key, s.leader = 0, ""
	s.revision++
}

// campaign gives the key to name if nobody has it.
func (s *simstore) campaign(name string) int64 {
	s.expire()
	if s.key != 0 {
		return 0
	}
	s.revision++
	s.key, s.leader, s.expires = s.revision, name, s.clock()+s.w.cfg.ElectionTTL
	return s.key
}

// prove renews the election lease.
func (s *simstore) prove(key int64) bool {
	s.expire()
	if key == 0 || key != s.key {
		return false
	}
	s.expires = s.clock() + s.w.cfg.ElectionTTL
	return true
}

func (s *simstore) resign(key int64) {
	if s.expire(); key == s.key && key != 0 {
		s.dropKey()
	}
}

func (s *simstore) get(keys []string) (out []lease.Entry) {
	for _, k := range keys {
		if i, ok := s.find(k); ok {
			out = append(out, s.entries[i])
		}
	}
	return out
}

func (s *simstore) scan(prefix string) (out []lease.Entry) {
	i, _ := s.find(prefix)
	for ; i < len(s.entries) && strings.HasPrefix(s.entries[i].Key, prefix); i++ {
		out = append(out, s.entries[i])
	}
	return out
}

// commit writes all or nothing, guarded by the leader's key and the revisions.
func (s *simstore) commit(key int64, writes []lease.Write) (int64, error) {
	s.expire()
	if key != s.key && !mutated("no fence at the store") {
		return 0, lease.ErrFenced
	}
	for i := range writes {
		var have int64
		if j, ok := s.find(writes[i].Key); ok {
			have = s.entries[j].Revision
		}
		if have != writes[i].Expect && !mutated("no fence at the store") {
			return 0, fmt.Errorf("%w: %q", lease.ErrConflict, writes[i].Key)
		}
	}
	s.revision++
	for i := range writes {
		j, ok := s.find(writes[i].Key)
		e := lease.Entry{Key: writes[i].Key, Value: slices.Clone(writes[i].Value), Revision: s.revision}
		switch {
		case writes[i].Value == nil && ok:
			s.entries = slices.Delete(s.entries, j, j+1)
		case writes[i].Value == nil:
		case ok:
			s.entries[j] = e
		default:
			s.entries = slices.Insert(s.entries, j, e)
		}
	}
	return s.revision, nil
}

// take copies all that the store holds.
func (s *simstore) take() {
	s.snapshot = &simstore{entries: slices.Clone(s.entries), revision: s.revision}
}

// restore puts the copy in the place of what the store holds. The election key
// hangs on a lease that the copy does not have.
func (s *simstore) restore() bool {
	if s.snapshot == nil {
		return false
	}
	s.entries, s.revision = slices.Clone(s.snapshot.entries), s.snapshot.revision
	s.key, s.leader = 0, ""
	return true
}

func (s *simstore) wipe() { s.entries, s.revision, s.key, s.leader = nil, 1, 0, "" }
