package local

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sethvargolimiter "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	"github.com/a1009580/leasehold/bench/world"
	"github.com/a1009580/leasehold/limiter"
)

// keys is how many keys there are, fewer when the benchmarks are only tried.
func keys() int {
	if testing.Short() {
		return 10_000
	}
	return 1_000_000
}

// many is a world with as many keys.
var many = sync.OnceValues(func() (*world.World, error) { return world.New(keys()) })

// drawn are the keys that are asked for, in the order in which they are: some
// much more often than others, like the customers of a service.
var drawn = sync.OnceValue(func() []string {
	r := rand.New(rand.NewPCG(1, 2)) // the same draw in every run
	zipf := rand.NewZipf(r, 1.1, 1, uint64(keys()-1))
	names := make([]string, keys())
	for i := range names {
		names[i] = world.Key(i)
	}
	out := make([]string, 1<<20)
	for i := range out {
		out[i] = names[zipf.Uint64()]
	}
	return out
})

// each runs decide on all cores, with keys as they are drawn.
func each(b *testing.B, decide func(key string) bool) {
	b.Helper()
	keys := drawn()
	var begun atomic.Uint32
	b.ReportAllocs()
	defer world.CPUTime(b)()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		denied := 0
		for i := begun.Add(1) * 7919; pb.Next(); i++ {
			if !decide(keys[i%(1<<20)]) {
				denied++
			}
		}
		if denied > 0 {
			b.Errorf("%d decisions were denials", denied)
		}
	})
}

func BenchmarkZipfAllowN(b *testing.B) {
	w, ctx := open(b, many), context.Background()
	each(b, func(key string) bool {
		d, err := w.AllowN(ctx, world.Request(key), 1)
		return err == nil && d.Allowed
	})
}

func BenchmarkZipfBatch(b *testing.B) {
	w, ctx, keys := open(b, many), context.Background(), drawn()
	var begun atomic.Uint32
	items := sync.Pool{New: func() any { return new([batch]limiter.Item) }}
	batches(b, func() bool {
		room := items.Get().(*[batch]limiter.Item) //nolint:errcheck // the pool holds nothing else
		defer items.Put(room)
		from := begun.Add(batch)
		for i := range room {
			room[i] = limiter.Item{Request: world.Request(keys[(from+uint32(i))%(1<<20)]), N: 1}
		}
		return allAllowed(w.AllowBatch(ctx, room[:]))
	})
}

// limiters is a map of limiters that know no keys themselves, as their users
// keep one.
func limiters[L any](made func() L) func() *sync.Map {
	return sync.OnceValue(func() *sync.Map {
		var m sync.Map
		for i := range keys() {
			m.Store(world.Key(i), made())
		}
		return &m
	})
}

var rates = limiters(func() *rate.Limiter { return rate.NewLimiter(1e12, 1e12) })

func BenchmarkZipfRate(b *testing.B) {
	limiters := rates()
	each(b, func(key string) bool {
		l, ok := limiters.Load(key)
		return ok && l.(*rate.Limiter).Allow() //nolint:errcheck // the map holds nothing else
	})
}

var sethvargo = sync.OnceValues(func() (sethvargolimiter.Store, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: 1e9, Interval: time.Second, InitialAlloc: keys()})
	if err != nil {
		return nil, err
	}
	closers = append(closers, func() error { return store.Close(context.Background()) })
	for i := range keys() {
		if _, _, _, _, err := store.Take(context.Background(), world.Key(i)); err != nil {
			return nil, err
		}
	}
	return store, nil
})

func BenchmarkZipfSethvargo(b *testing.B) {
	store, err := sethvargo()
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	each(b, func(key string) bool {
		_, _, _, ok, err := store.Take(ctx, key)
		return ok && err == nil
	})
}

var ubers = limiters(func() ratelimit.Limiter {
	return ratelimit.New(1_000_000_000, ratelimit.WithSlack(1_000_000_000))
})

func BenchmarkZipfUber(b *testing.B) {
	limiters := ubers()
	each(b, func(key string) bool {
		l, ok := limiters.Load(key)
		return ok && !l.(ratelimit.Limiter).Take().IsZero() //nolint:errcheck // the map holds nothing else
	})
}
