// Package world is what the benchmarks measure: limiters with leases that no
// benchmark uses up, from a coordinator in this process that is asked over a
// real gRPC connection which never leaves it.
package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/a1009580/leasehold/limiter"
)

// Domain is the one domain of a World's policy, Entry the one entry that its
// requests carry: a key.
const (
	Domain = "bench"
	Entry  = "api_key"
)

// Policy has one bucket for each key, which no benchmark empties.
const Policy = `
apiVersion: leasehold/v1
domain: bench
quotas:
  - name: per-key
    match: {api_key: "*"}
    limit: {tokens: 1000000000000000, per: 1s}
    lease: {ttl: 60s, size: 1000000000000000}
    max_keys: 10000000
`

// World is a limiter and its coordinator.
type World struct {
	*limiter.Limiter
	patron *patron
	close  func() error
}

// New returns a limiter of one region that has leases of the given number of
// keys: Key(0) and so on.
func New(keys int) (*World, error) {
	listener := bufconn.Listen(1 << 20)
	p, err := newPatron(listener)
	if err != nil {
		return nil, err
	}
	l, err := limiter.New(limiter.Options{
		Region: "here", Coordinators: []string{"passthrough:///patron"}, DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) })},
		ColdWait: -1,
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	w := &World{Limiter: l, patron: p}
	w.close = sync.OnceValue(w.end)
	if err := w.warm(keys); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Close ends both. It may be called more than once.
func (w *World) Close() error { return w.close() }

func (w *World) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(w.Limiter.Close(ctx), w.patron.close())
}

// Key is the i-th key, of 16 bytes.
func Key(i int) string {
	const digits = "key-000000000000"
	n := strconv.Itoa(i)
	return digits[:len(digits)-len(n)] + n
}

// Request asks for a key.
func Request(key string) limiter.Request {
	return limiter.Request{Domain: Domain, Descriptor: []limiter.Pair{{Key: Entry, Value: key}}}
}

// warm has every key lease its tokens. It does not wait for each: it asks for
// all, and again for those that had none.
func (w *World) warm(keys int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := w.Ready(ctx); err != nil {
		return err
	}
	items := make([]limiter.Item, keys)
	for i := range items {
		items[i] = limiter.Item{Request: Request(Key(i)), N: 1}
	}
	for {
		if items = denied(items, w.AllowBatch(ctx, items)); len(items) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("world: %d of %d keys have no lease: %w", len(items), keys, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// denied returns the items that have no lease yet, in the same room.
func denied(items []limiter.Item, results []limiter.Result) []limiter.Item {
	still := items[:0]
	for i := range results {
		if !results[i].Decision.Allowed {
			still = append(still, items[i])
		}
	}
	return still
}
