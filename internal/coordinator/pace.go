package coordinator

import (
	"context"
	"time"
)

// Messages are taken in turn, but what one of them makes the ledger write stands
// in one queue for all. While that queue is long, a holder that filled it waits.
const (
	longBacklog = 4 * maxCommits
	longLoading = 16 * loadBatch
	// allowance is how many reports a holder may bring meanwhile: those of one
	// that is not to blame are few.
	allowance = 512
	// longestPace bounds the wait: renewals need no writing, and must not stop
	// because a store does.
	longestPace = time.Second
	paceStep    = 2 * time.Millisecond
)

// busy says that the store is behind with what the ledger wants of it.
func (t *term) busy() bool {
	return t.backlog.Load() > longBacklog || t.loading.Load() > longLoading
}

// pace holds a holder back that brought many reports while the store was behind.
// The goroutine that receives calls it.
func (c *talk) pace(ctx context.Context, reports int) {
	if !c.t.busy() {
		c.brought = 0
	}
	c.brought += reports
	if c.brought <= allowance {
		return
	}
	for until := time.Now().Add(longestPace); c.t.busy() && time.Now().Before(until) && ctx.Err() == nil; {
		sleep(ctx, paceStep)
	}
	c.brought = reports
}
