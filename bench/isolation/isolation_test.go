// Package isolation measures whether decisions notice what happens to the
// coordinator, or a limiter's own housekeeping: their slowest, at a fixed rate,
// while it does and while all is quiet.
package isolation

import (
	"context"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/bench/world"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// policy leases enough for the whole benchmark, and has tokens move about.
const policy = `
apiVersion: leasehold/v1
domain: bench
quotas:
  - name: per-key
    match: {api_key: "*"}
    limit: {tokens: 1000000000, per: 1s}
    lease: {ttl: 60s, size: 10000000}
    max_keys: 2000000
`

const (
	keys  = 16
	pause = time.Millisecond
)

// region is a limiter that has leases.
func region(b *testing.B, c *limitertest.Coordinator, name string) *limiter.Limiter {
	b.Helper()
	l, err := limiter.New(limiter.Options{
		Region: name, Coordinators: []string{limitertest.Address}, DialOptions: []grpc.DialOption{c.Dial()},
	})
	require.NoError(b, err)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.Close(ctx) // the coordinator may be gone
	})
	require.NoError(b, l.Ready(b.Context()))
	for i := range keys {
		d, err := l.Allow(b.Context(), world.Request(world.Key(i)))
		require.NoError(b, err)
		require.True(b, d.Allowed, "%+v", d)
	}
	return l
}

// measure reports the slowest of many decisions, each timed by itself: a timer of
// the system is a thousand times slower than a decision, so that one that is due
// at a moment would tell of the timer. A decision that took longer than the time
// between two counts for those that it held up, too.
func measure(b *testing.B, l *limiter.Limiter) {
	b.Helper()
	groups := 2000
	if testing.Short() {
		groups = 50
	}
	h := hdrhistogram.New(1, int64(time.Minute), 3)
	for range max(b.N, groups) {
		for i := range keys {
			began := time.Now()
			d, err := l.Allow(b.Context(), world.Request(world.Key(i)))
			took := time.Since(began)
			require.NoError(b, err)
			require.True(b, d.Allowed, "%+v", d)
			require.NoError(b, h.RecordCorrectedValue(int64(took), int64(pause)/keys))
		}
		time.Sleep(pause)
	}
	b.ReportMetric(float64(h.ValueAtQuantile(99)), "p99-ns")
	b.ReportMetric(float64(h.ValueAtQuantile(99.9)), "p99.9-ns")
}

// meanwhile runs f again and again until the benchmark ends.
func meanwhile(b *testing.B, f func()) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			f()
		}
	}()
	b.Cleanup(func() { stop(); <-done })
}

func BenchmarkIsolation(b *testing.B) {
	for name, trouble := range map[string]func(b *testing.B, c *limitertest.Coordinator, l *limiter.Limiter){
		"quiet": func(*testing.B, *limitertest.Coordinator, *limiter.Limiter) {},
		"down":  func(_ *testing.B, c *limitertest.Coordinator, _ *limiter.Limiter) { c.Stop() },
		"hanging": func(_ *testing.B, c *limitertest.Coordinator, _ *limiter.Limiter) {
			c.SetFaults(limitertest.Faults{Frozen: true})
		},
		"rebalancing": rebalance,
		"sweeping":    sweep,
	} {
		b.Run(name, func(b *testing.B) {
			c := limitertest.New(b, limitertest.Options{Policy: policy, MayHalt: true})
			l := region(b, c, "here")
			trouble(b, c, l)
			measure(b, l)
		})
	}
}

// rebalance has another region want all of the same keys.
func rebalance(b *testing.B, c *limitertest.Coordinator, _ *limiter.Limiter) {
	other := region(b, c, "there")
	meanwhile(b, func() {
		for i := range keys {
			_, err := other.AllowN(b.Context(), world.Request(world.Key(i)), 50_000_000)
			if err != nil {
				return // it ends
			}
		}
		time.Sleep(10 * time.Millisecond)
	})
}

// sweep has the limiter keep a great many keys that nobody asks for any more.
func sweep(b *testing.B, _ *limitertest.Coordinator, l *limiter.Limiter) {
	n := 1_000_000
	if testing.Short() {
		n = 10_000
	}
	for i := range n {
		_, err := l.Handle(world.Request(world.Key(keys + i))) // makes the bucket, and asks for nothing
		require.NoError(b, err)
	}
}
