package demo

import (
	"context"
	"math"
	"time"

	"github.com/a1009580/leasehold/internal/clock"
)

const (
	// move is how long the peak of the traffic stays in one region.
	move = 10 * time.Second
	// step is how often, in real time, a source looks what is due.
	step = 10 * time.Millisecond
	// mostRequests is how many requests a second of real time all sources make
	// together; a larger demand is made of larger requests.
	mostRequests = 4000
	// catchUp is the most that a source makes up for when it was held up.
	catchUp = time.Second
)

// appetite is how much of a key the traffic wants, as a multiple of the limit's
// rate, and in which order its peak moves through the regions.
type appetite struct {
	key    string
	times  float64
	stride int
	peak   float64 // share of the region that has the peak
}

// appetites are the demo's keys. The first wants so much more than its limit that
// a burst of a minute is used up in some seconds.
func appetites() []appetite {
	return []appetite{
		{key: "acme", times: 8, stride: 1, peak: 0.8},
		{key: "globex", times: 0.8, stride: 2, peak: 0.8},
		{key: "initech", times: 0.3, stride: 0, peak: 0},
	}
}

// source makes requests of one key in one region, at a rate that changes.
type source struct {
	request request
	rate    func(since time.Duration) float64 // tokens a second
}

// sources are the demo's own traffic for a target.
func sources(t *target, regions []string, speed float64) []source {
	var all []source
	rate := max(t.rate(), 5.0/8) // something must happen, however small the limit
	var total float64
	for _, a := range appetites() {
		total += a.times * rate * speed
	}
	cost := int64(max(1, math.Ceil(total/mostRequests)))
	for _, a := range appetites() {
		descriptor := t.descriptor(a.key)
		for i, region := range regions {
			all = append(all, source{
				request: request{region: region, key: a.key, descriptor: descriptor, cost: cost},
				rate:    func(since time.Duration) float64 { return rate * a.times * a.share(since, i, len(regions)) },
			})
		}
	}
	return all
}

// share is the part of the appetite that region i of k has at a time.
func (a *appetite) share(since time.Duration, i, k int) float64 {
	if k == 1 || a.stride == 0 {
		return 1 / float64(k)
	}
	if turn := int(since / move); (turn*a.stride)%k == i {
		return a.peak
	}
	return (1 - a.peak) / float64(k-1)
}

// run makes requests until ctx ends. It is an open loop: what it asks for depends
// on time alone, not on the answers.
func (s *source) run(ctx context.Context, c *clock.Clock, decide func(context.Context, request)) {
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	begin := c.Mono()
	last, due := begin, 0.0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := c.Mono()
		passed := min(now-last, time.Duration(float64(catchUp)*c.Speed()))
		last = now
		due += passed.Seconds() * s.rate(now-begin) / float64(s.request.cost)
		for ; due >= 1 && ctx.Err() == nil; due-- {
			decide(ctx, s.request)
		}
	}
}
