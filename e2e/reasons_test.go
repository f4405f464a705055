package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/a1009580/leasehold/chaos/judge"
)

// reasons asks a region about some quotas, again and again, and remembers what it said of each and why. The requests
// of a quota carry its name as their kind.
type reasons struct {
	begin time.Time
	stop  func()

	mu       sync.Mutex
	counts   map[string]map[string]int64 // by kind and reason
	admitted map[string][]judge.Admission
}

// every is how long one waits between two requests of a quota.
const every = 10 * time.Millisecond

func (r *reasons) add(kind string, d decision, sent, received time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts[kind] == nil {
		r.counts[kind] = map[string]int64{}
	}
	r.counts[kind][d.Reason]++
	if d.Allowed {
		r.admitted[kind] = append(r.admitted[kind], judge.Admission{Sent: sent, Received: received, Cost: 1})
	}
}

// askAll begins to ask all regions about all kinds, and counts what each region says.
func askAll(t *testing.T, regions []*node, kinds ...string) []*reasons {
	t.Helper()
	ended := make(chan struct{})
	var running sync.WaitGroup
	begin := time.Now()
	stop := sync.OnceFunc(func() {
		close(ended)
		running.Wait()
	})
	t.Cleanup(stop)
	all := make([]*reasons, len(regions))
	for i, region := range regions {
		r := &reasons{begin: begin, stop: stop, counts: map[string]map[string]int64{}, admitted: map[string][]judge.Admission{}}
		all[i] = r
		for _, kind := range kinds {
			running.Go(func() { r.run(region, kind, ended) })
		}
	}
	return all
}

func (r *reasons) run(region *node, kind string, ended <-chan struct{}) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	url := fmt.Sprintf("http://%s/v1/check?domain=api&kind=%s", region.http, kind)
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		sent := time.Since(r.begin)
		a, err := client.Get(url)
		if !assert.NoError(region.t, err) {
			return
		}
		var d decision
		err = json.NewDecoder(a.Body).Decode(&d)
		_ = a.Body.Close()
		if !assert.NoError(region.t, err) {
			return
		}
		r.add(kind, d, sent, time.Since(r.begin))
	}
}

// of returns how often a reason was given for a kind.
func (r *reasons) of(kind, reason string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[kind][reason]
}

// more waits until a reason was given n more times than at the call.
func (r *reasons) more(t *testing.T, kind, reason string, n int64) {
	t.Helper()
	before := r.of(kind, reason)
	eventually(t, fmt.Sprintf("%s %s %d times", kind, reason, n), func() bool { return r.of(kind, reason) >= before+n })
}

// last waits until a reason was not given for a second, and returns how often it was.
func (r *reasons) last(t *testing.T, kind, reason string) int64 {
	t.Helper()
	last, since := r.of(kind, reason), time.Now()
	eventually(t, kind+" is not "+reason+" any more", func() bool {
		if n := r.of(kind, reason); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > time.Second
	})
	return last
}

// said returns all that was said of a kind.
func (r *reasons) said(kind string) map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts[kind])
}

// exceeded stops the asking, and returns by how much what all of them were admitted of a kind exceeds a promise.
func exceeded(all []*reasons, kind string, p judge.TokenBucket) int64 {
	all[0].stop()
	var admitted []judge.Admission
	for _, r := range all {
		admitted = append(admitted, r.admitted[kind]...)
	}
	return p.Overshoot(admitted).Over
}
