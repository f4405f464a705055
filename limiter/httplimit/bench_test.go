package httplimit_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/httplimit"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// discarded is a ResponseWriter that is used again and again.
type discarded struct{ header http.Header }

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d *discarded) WriteHeader(int)             {}

// BenchmarkMiddleware is what a request costs without the middleware, what it
// adds, and what of that is the decision.
func BenchmarkMiddleware(b *testing.B) {
	c := limitertest.New(b, limitertest.Options{Policy: strings.Replace(policy, "tokens: 3, per: 1m", "tokens: 1000000000000, per: 1s", 1)})
	l := region(b, c)
	request := limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: "api_key", Value: "k"}}}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		d, err := l.AllowN(b.Context(), request, 1_000_000_000)
		require.NoError(b, err)
		if d.Allowed && d.Remaining > 1_000_000_000 {
			break
		}
		require.True(b, time.Now().Before(deadline), "%+v", d)
	}
	o := byKey(limiter.FailClosed)
	o.Limiter = l
	wrap, err := httplimit.New(o)
	require.NoError(b, err)
	plain := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	limited := wrap(plain)
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/", http.NoBody)
	require.NoError(b, err)
	r.Header.Set("X-Api-Key", "k")
	w := &discarded{http.Header{}}
	b.Run("decision", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = l.AllowN(b.Context(), request, 1)
		}
	})
	b.Run("handler", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			plain.ServeHTTP(w, r)
		}
	})
	b.Run("limited", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			limited.ServeHTTP(w, r)
		}
	})
}
