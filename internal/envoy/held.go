package envoy

import (
	"slices"
	"sync"
	"time"
)

// grace is how long after its lifetime an assignment still counts as held: it may
// have been on its way, and a proxy counts from when it came.
const grace = time.Second

// book keeps what proxies may still admit by their assignments, and what they
// want. Its methods may be called concurrently.
type book struct {
	mu    sync.Mutex
	held  []holding
	wants map[string]map[*proxy]int64 // by bucket
}

// holding is one assignment.
type holding struct {
	quota, bucket string
	by            *proxy
	tokens        int64
	until         time.Time
}

// assign notes an assignment.
func (b *book) assign(quota, bucket string, p *proxy, tokens int64, now time.Time, lives time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prune(now)
	b.held = append(b.held, holding{quota, bucket, p, tokens, now.Add(lives + grace)})
}

func (b *book) prune(now time.Time) {
	b.held = slices.DeleteFunc(b.held, func(h holding) bool { return !now.Before(h.until) })
}

// sums returns the tokens held by quota.
func (b *book) sums(now time.Time) map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prune(now)
	sums := make(map[string]int64)
	for _, h := range b.held {
		sums[h.quota] += h.tokens
	}
	return sums
}

// want notes what a proxy wants of a bucket, and returns what all do, and what the
// others hold of it.
func (b *book) want(bucket string, p *proxy, tokens int64, now time.Time) (all, others int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wants == nil {
		b.wants = make(map[string]map[*proxy]int64)
	}
	if b.wants[bucket] == nil {
		b.wants[bucket] = make(map[*proxy]int64)
	}
	b.wants[bucket][p] = tokens
	for _, n := range b.wants[bucket] {
		all += n
	}
	for _, h := range b.held {
		if h.bucket == bucket && h.by != p && now.Before(h.until.Add(-grace)) {
			others += h.tokens
		}
	}
	return all, others
}

// leave forgets what a proxy wants of a bucket.
func (b *book) leave(bucket string, p *proxy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.wants[bucket], p)
	if len(b.wants[bucket]) == 0 {
		delete(b.wants, bucket)
	}
}
