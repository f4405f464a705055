package local

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	"github.com/a1009580/leasehold/bench/world"
	"github.com/a1009580/leasehold/limiter"
)

// one is a world with one key. It is made once, by whoever first needs it.
var one = sync.OnceValues(func() (*world.World, error) { return world.New(1) })

func TestMain(m *testing.M) {
	status := m.Run()
	for _, made := range closers {
		if err := made(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// closers end the worlds that were made.
var closers []func() error

// open returns a world that lives as long as the process.
func open(b *testing.B, made func() (*world.World, error)) *world.World {
	b.Helper()
	w, err := made()
	if err != nil {
		b.Fatal(err)
	}
	closers = append(closers, w.Close)
	return w
}

// everywhere runs decide on all cores. It must admit: a benchmark of denials
// would be one of something else.
func everywhere(b *testing.B, decide func() bool) {
	b.Helper()
	b.ReportAllocs()
	defer world.CPUTime(b)()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		denied := 0
		for pb.Next() {
			if !decide() {
				denied++
			}
		}
		if denied > 0 {
			b.Errorf("%d decisions were denials", denied)
		}
	})
}

// BenchmarkHotFloor is what the least of counters costs: one reading of the monotonic
// clock and one atomic addition to what all cores share.
func BenchmarkHotFloor(b *testing.B) {
	start := time.Now()
	var count atomic.Int64
	everywhere(b, func() bool {
		return count.Add(1) > 0 && time.Since(start) >= 0
	})
}

func BenchmarkHotHandle(b *testing.B) {
	h, err := open(b, one).Handle(world.Request(world.Key(0)))
	if err != nil {
		b.Fatal(err)
	}
	everywhere(b, h.Allow)
}

func BenchmarkHotAllow(b *testing.B) {
	w, ctx, req := open(b, one), context.Background(), world.Request(world.Key(0))
	everywhere(b, func() bool {
		d, err := w.Allow(ctx, req)
		return err == nil && d.Allowed
	})
}

func BenchmarkHotAllowN(b *testing.B) {
	w, ctx, req := open(b, one), context.Background(), world.Request(world.Key(0))
	everywhere(b, func() bool {
		d, err := w.AllowN(ctx, req, 3)
		return err == nil && d.Allowed
	})
}

// batch is how many requests one AllowBatch holds. A round of these benchmarks
// is one decision all the same.
const batch = 100

func BenchmarkHotBatch(b *testing.B) {
	w, ctx := open(b, one), context.Background()
	items := make([]limiter.Item, batch)
	for i := range items {
		items[i] = limiter.Item{Request: world.Request(world.Key(0)), N: 1}
	}
	batches(b, func() bool { return allAllowed(w.AllowBatch(ctx, items)) })
}

// batches is everywhere for a decide that decides about batch requests.
func batches(b *testing.B, decide func() bool) {
	b.Helper()
	b.ReportAllocs()
	defer world.CPUTime(b)()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if !decide() {
				b.Error("a batch has a denial")
			}
			for others := batch - 1; others > 0 && pb.Next(); {
				others-- // decided with the first
			}
		}
	})
}

func allAllowed(results []limiter.Result) bool {
	for i := range results {
		if results[i].Err != nil || !results[i].Decision.Allowed {
			return false
		}
	}
	return true
}

func BenchmarkHotRate(b *testing.B) {
	l := rate.NewLimiter(1e12, 1e12)
	everywhere(b, l.Allow)
}

func BenchmarkHotSethvargo(b *testing.B) {
	store, err := memorystore.New(&memorystore.Config{Tokens: 1e15, Interval: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	ctx, key := context.Background(), world.Key(0)
	defer store.Close(ctx)
	everywhere(b, func() bool {
		_, _, _, ok, err := store.Take(ctx, key)
		return ok && err == nil
	})
}

// Uber's limiter never denies, it sleeps: at this rate it never does either.
func BenchmarkHotUber(b *testing.B) {
	l := ratelimit.New(1_000_000_000, ratelimit.WithSlack(1_000_000_000))
	everywhere(b, func() bool { return !l.Take().IsZero() })
}
