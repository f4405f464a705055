package demo

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/policy"
)

// count sums up decisions. Failed ones are no decisions: the region was not
// ready, or is closing.
type count struct {
	Admitted, Denied, Failed     int64
	AdmittedTokens, DeniedTokens int64
}

func (c *count) add(o *count) {
	c.Admitted += o.Admitted
	c.Denied += o.Denied
	c.Failed += o.Failed
	c.AdmittedTokens += o.AdmittedTokens
	c.DeniedTokens += o.DeniedTokens
}

// requests is how many there were.
func (c *count) requests() int64 { return c.Admitted + c.Denied + c.Failed }

// score counts what the traffic was told, and judges every bucket by it: what it
// knows is what clients know, and no more.
type score struct {
	now    func() lease.Moment
	domain *policy.Domain
	drift  int64 // parts per million

	mu      sync.Mutex
	regions map[string]*count
	keys    map[string]*count
	buckets map[bucketName]*bucketJudge
	under   []batch // of requests under way; the last one is being filled
}

// batch is the requests that were sent from a moment on, until the next batch.
type batch struct {
	from time.Duration
	open int
	n    uint64
}

// bucketName is one quota for one key.
type bucketName struct{ quota, key string }

// newScore returns an empty score.
func newScore(now func() lease.Moment, domain *policy.Domain, drift int64, regions []string) *score {
	s := &score{
		now: now, domain: domain, drift: drift, regions: map[string]*count{}, keys: map[string]*count{},
		buckets: map[bucketName]*bucketJudge{}, under: []batch{{from: now().Mono}},
	}
	for _, r := range regions {
		s.regions[r] = &count{}
	}
	return s
}

// sending is a request under way.
type sending struct {
	at    lease.Moment
	batch uint64
}

// send notes that a request is sent now.
func (s *score) send() sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.under[len(s.under)-1]
	b.open++
	return sending{at: s.now(), batch: b.n} // read last: no earlier than its batch
}

// request is what was asked.
type request struct {
	region, key string
	descriptor  []policy.Pair
	cost        int64
}

// receive notes the answer to a request.
func (s *score) receive(q request, sent sending, d limiter.Decision, failure error) {
	at := s.now() // read first: nothing that happens here was a part of the decision
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.under {
		if s.under[i].n == sent.batch {
			s.under[i].open--
		}
	}
	c := &count{}
	switch {
	case failure != nil:
		c.Failed = 1
	case d.Allowed:
		c.Admitted, c.AdmittedTokens = 1, q.cost
		s.judge(q, sent.at, at)
	default:
		c.Denied, c.DeniedTokens = 1, q.cost
	}
	of(s.regions, q.region).add(c)
	of(s.keys, q.key).add(c)
}

// of returns the count of a name.
func of(m map[string]*count, name string) *count {
	c := m[name]
	if c == nil {
		c = &count{}
		m[name] = c
	}
	return c
}

// judge hands an admission to the judge of each bucket that it was charged to.
func (s *score) judge(q request, sent, received lease.Moment) {
	matched, err := s.domain.Match(q.descriptor, nil)
	if err != nil {
		return
	}
	for _, m := range matched {
		if m.Quota.Limit.Unbounded {
			continue
		}
		name := bucketName{m.Quota.ID, m.Key}
		b := s.buckets[name]
		if b == nil {
			b = newBucketJudge(m.Quota, s.drift)
			s.buckets[name] = b
		}
		b.add(sent, received, q.cost)
	}
}

// advance tells the judges that whatever was sent before some moment is known.
func (s *score) advance() {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.under[len(s.under)-1]
	s.under = append(s.under, batch{from: s.now().Mono, n: last.n + 1})
	for len(s.under) > 1 && s.under[0].open == 0 {
		s.under = s.under[1:]
	}
	for _, b := range s.buckets {
		b.advance(s.under[0].from)
	}
}

// over returns the worst finding of all buckets: by how many tokens a bucket
// exceeded its promise, or, below 0, the margin of the one that came closest.
// It returns false before anything was admitted.
func (s *score) over() (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var worst int64
	some := false
	for _, b := range s.buckets {
		if o := b.over(); !some || o > worst {
			worst, some = o, true
		}
	}
	return worst, some
}

// byRegion returns the counts so far, and their sum.
func (s *score) byRegion() (regions map[string]count, sum count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	regions = make(map[string]count, len(s.regions))
	for name, c := range s.regions {
		regions[name] = *c
		sum.add(c)
	}
	return regions, sum
}

// keyCount is one key's count.
type keyCount struct {
	Key string
	count
}

// byKey returns the counts of the keys with the most requests, and the sum and
// number of the others.
func (s *score) byKey(most int) (top []keyCount, rest count, others int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, c := range s.keys {
		top = append(top, keyCount{key, *c})
	}
	slices.SortFunc(top, func(a, b keyCount) int {
		return cmp.Or(cmp.Compare(b.requests(), a.requests()), cmp.Compare(a.Key, b.Key))
	})
	for len(top) > most {
		last := len(top) - 1
		rest.add(&top[last].count)
		others++
		top = top[:last]
	}
	return top, rest, others
}
