package limiter_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

const vast = "{tokens: 1000000000000, per: 1s}"

// warm returns a limiter with a lease that a benchmark does not use up.
func warm(t testing.TB, policy string) *limiter.Limiter {
	c := limitertest.New(t, limitertest.Options{Policy: policy})
	l := region(t, c)
	ready(t, l)
	warmKey(t, l, "a")
	return l
}

func warmKey(t testing.TB, l *limiter.Limiter, k string) {
	for deadline := time.Now().Add(10 * time.Second); ; {
		d := allow(t, l, key(k), 1_000_000_000)
		if d.Allowed && d.Remaining > 1_000_000_000 {
			return
		}
		require.True(t, time.Now().Before(deadline), "%+v", d)
		time.Sleep(time.Millisecond)
	}
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector allocates: only the calls are tried")
	}
	l := warm(t, perKey(vast))
	h, err := l.Handle(key("a"))
	require.NoError(t, err)
	req, ctx := key("a"), t.Context()
	items := make([]limiter.Item, 100)
	for i := range items {
		items[i] = limiter.Item{Request: req, N: 1}
	}
	if n := testing.AllocsPerRun(100, func() { l.AllowBatch(ctx, items) }); !raceEnabled {
		assert.Less(t, n, 2.5, "AllowBatch allocates nothing for each request")
	}
	for name, decide := range map[string]func(){
		"AllowN":       func() { _, _ = l.AllowN(ctx, req, 1) },
		"Handle.Allow": func() { h.Allow() },
	} {
		if n := testing.AllocsPerRun(1000, decide); !raceEnabled {
			assert.Less(t, n, 0.5, name) // a pool may be emptied in between
		}
	}
}

func BenchmarkHandleAllow(b *testing.B) {
	l := warm(b, perKey(vast))
	h, err := l.Handle(key("a"))
	require.NoError(b, err)
	b.ReportAllocs()
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			h.Allow()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				h.Allow()
			}
		})
	})
}

func BenchmarkAllowN(b *testing.B) {
	for _, keys := range []int{1, 100} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			l := warm(b, perKey(vast))
			requests := make([]limiter.Request, keys)
			var warming sync.WaitGroup
			for i := range requests {
				requests[i] = key(fmt.Sprint("key-number-", i))
				warming.Go(func() { warmKey(b, l, fmt.Sprint("key-number-", i)) })
			}
			warming.Wait()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				_, _ = l.AllowN(b.Context(), requests[i%keys], 1)
				i++
			}
		})
	}
}
