package demo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/demo/trace"
)

// mostUnderWay bounds the requests of a trace that wait for an answer at a time.
const mostUnderWay = 4096

// errStopped ends the reading of a trace.
var errStopped = errors.New("stopped")

// replay plays a trace: each request at its time, whether those before it are
// answered or not. It returns when all are answered or ctx ends, and by how much
// it fell behind the trace, in clock time.
func replay(ctx context.Context, c *clock.Clock, file string, t *target, decide func(context.Context, request)) (behind time.Duration, err error) {
	begin := c.Mono()
	room := make(chan struct{}, mostUnderWay)
	var under sync.WaitGroup
	defer under.Wait()
	err = trace.Each(file, func(r trace.Request) error {
		if !sleepUntil(ctx, c, begin+r.At) {
			return errStopped
		}
		behind = max(behind, c.Mono()-begin-r.At)
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return errStopped
		}
		under.Go(func() {
			decide(ctx, request{region: r.Region, key: r.Key, descriptor: t.descriptor(r.Key), cost: r.Cost})
			<-room
		})
		return nil
	})
	if errors.Is(err, errStopped) {
		err = nil
	}
	return behind, err
}

// sleepUntil waits until the clock shows at, and returns false when ctx ended
// first.
func sleepUntil(ctx context.Context, c *clock.Clock, at time.Duration) bool {
	for {
		left := at - c.Mono()
		if left <= 0 {
			return ctx.Err() == nil
		}
		select {
		case <-c.After(left):
		case <-ctx.Done():
			return false
		}
	}
}
