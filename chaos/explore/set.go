package explore

import "sync"

// set is the states that were seen. It may be used concurrently.
type set struct {
	shards [64]struct {
		mu   sync.Mutex
		seen map[Hash]struct{}
	}
}

func newSet() *set {
	s := &set{}
	for i := range s.shards {
		s.shards[i].seen = map[Hash]struct{}{}
	}
	return s
}

// add says whether h is new.
func (s *set) add(h Hash) bool {
	shard := &s.shards[h[0]%64]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if _, old := shard.seen[h]; old {
		return false
	}
	shard.seen[h] = struct{}{}
	return true
}
