package explore

import (
	"maps"
	"slices"
	"strings"

	"github.com/a1009580/leasehold/lease"
)

// store is a linearizable map that knows who leads.
type store struct {
	entries  map[string]lease.Entry
	revision int64
	leader   int64 // the key of who may write
	sum      sum
}

func newStore() *store { return &store{entries: map[string]lease.Entry{}} }

// own returns a store that may be changed.
func (w *World) own() *store {
	if !w.ownStore {
		s := &store{entries: maps.Clone(w.store.entries), revision: w.store.revision, leader: w.store.leader}
		w.store, w.ownStore = s, true
	}
	return w.store
}

// commit does all writes or none.
func (s *store) commit(key int64, writes []lease.Write) (int64, error) {
	if key != s.leader {
		return 0, lease.ErrFenced
	}
	for _, x := range writes {
		if s.entries[x.Key].Revision != x.Expect {
			return 0, lease.ErrConflict
		}
	}
	s.revision++
	for _, x := range writes {
		if x.Value == nil {
			delete(s.entries, x.Key)
			continue
		}
		s.entries[x.Key] = lease.Entry{Key: x.Key, Value: x.Value, Revision: s.revision}
	}
	return s.revision, nil
}

// with returns the entries below a prefix, in the order of their keys.
func (s *store) with(prefix string) (out []lease.Entry) {
	for _, k := range slices.Sorted(maps.Keys(s.entries)) {
		if strings.HasPrefix(k, prefix) {
			out = append(out, s.entries[k])
		}
	}
	return out
}

// get returns the records of some buckets.
func (s *store) get(ids []lease.BucketID) (out []lease.Entry) {
	for _, id := range ids {
		if e, ok := s.entries[id.StoreKey()]; ok {
			out = append(out, e)
		}
	}
	return out
}
