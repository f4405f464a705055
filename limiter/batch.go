package limiter

import (
	"context"
	"errors"
	"sync"

	"github.com/a1009580/leasehold/lease"
)

// Item is one request of a batch, and its cost: 0 is a peek.
type Item struct {
	Request Request
	N       int64
}

// Result is what became of an Item: a decision, or why there is none.
type Result struct {
	Decision Decision
	Err      error
}

// AllowBatch decides about many requests, each by itself as AllowN does. Those
// of buckets that are not known here yet wait for their first leases together,
// so that a batch waits no longer than a single request.
func (l *Limiter) AllowBatch(ctx context.Context, items []Item) []Result {
	results := make([]Result, len(items))
	var cold []int
	for i := range items {
		if l.allowWarm(ctx, &items[i], &results[i]) {
			continue
		}
		cold = append(cold, i)
	}
	var waiting sync.WaitGroup
	for _, i := range cold {
		waiting.Go(func() {
			results[i].Decision, results[i].Err = l.AllowN(ctx, items[i].Request, items[i].N)
		})
	}
	waiting.Wait()
	return results
}

// allowWarm decides about a request unless it would have to wait: then it
// returns false, and has asked for the first lease.
func (l *Limiter) allowWarm(ctx context.Context, item *Item, to *Result) bool {
	if to.Err = ctx.Err(); to.Err != nil {
		return true
	}
	if item.N < 0 {
		to.Err = ErrNegativeCost
		return true
	}
	s := l.scratch.Get().(*scratch) //nolint:errcheck // the pool holds nothing else
	defer l.release(s)
	if to.Err = l.match(item.Request.Domain, item.Request.Descriptor, s); to.Err != nil {
		return !errors.Is(to.Err, ErrHasRules)
	}
	if len(s.cells) == 0 {
		to.Decision = s.free()
		return true
	}
	v := lease.Decide(l.now, s.cells, item.N)
	if v.Outcome == lease.Forgotten || v.Outcome == lease.Cold && l.opts.ColdWait > 0 && l.reached() {
		return false
	}
	to.Decision = l.answer(&s.matched, &v, item.N)
	return true
}
