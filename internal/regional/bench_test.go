package regional

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// BenchmarkHTTP is what a check costs over HTTP, in both forms and over a
// connection of loopback, beside the decision alone and beside a handler that
// decides nothing on the same connection.
func BenchmarkHTTP(b *testing.B) {
	c := limitertest.New(b, limitertest.Options{Policy: perKey("{tokens: 1000000000000, per: 1s}")})
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		return l
	}
	o := Options{GRPC: listen(), HTTP: listen(), Limiter: limiter.Options{
		Region: "eu", Coordinators: []string{limitertest.Address}, DialOptions: []grpc.DialOption{c.Dial()},
	}}
	s, err := New(o)
	require.NoError(b, err)
	mux, ok := s.http.Handler.(*http.ServeMux)
	require.True(b, ok)
	mux.HandleFunc("/bare", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			writeJSON(w, allowed{Allowed: true})
		}
	})
	ctx, end := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.Cleanup(func() {
		end()
		require.NoError(b, <-done)
	})
	request := limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: "api_key", Value: "k"}}}

	base := "http://" + o.HTTP.Addr().String()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	b.Run("decision", func(b *testing.B) {
		warm(b, s.limiter, request)
		for b.Loop() {
			_, _ = s.limiter.AllowN(b.Context(), request, 1)
		}
	})
	for _, form := range []struct{ name, method, path, body string }{
		{"bare-get", http.MethodGet, "/bare?domain=api&api_key=k", ""},
		{"get", http.MethodGet, "/v1/check?domain=api&api_key=k", ""},
		{"bare-post", http.MethodPost, "/bare", `{"domain": "api", "descriptor": {"api_key": "k"}}`},
		{"post", http.MethodPost, "/v1/check", `{"domain": "api", "descriptor": {"api_key": "k"}}`},
	} {
		b.Run(form.name, func(b *testing.B) {
			warm(b, s.limiter, request)
			for b.Loop() {
				exchange(b, client, form.method, base+form.path, form.body)
			}
		})
	}
}

// warm waits until there is a lease that a benchmark does not use up.
func warm(b *testing.B, l *limiter.Limiter, r limiter.Request) {
	b.Helper()
	require.NoError(b, l.Ready(b.Context()))
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		d, err := l.AllowN(b.Context(), r, 1_000_000_000)
		require.NoError(b, err)
		if d.Allowed && d.Remaining > 1_000_000_000 {
			return
		}
		require.True(b, time.Now().Before(deadline), "%+v", d)
	}
}

func exchange(b *testing.B, client *http.Client, method, url, body string) {
	b.Helper()
	q, err := http.NewRequestWithContext(b.Context(), method, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	a, err := client.Do(q)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	a.Body.Close()
	if err != nil || a.StatusCode != http.StatusOK {
		b.Fatal(a.StatusCode, string(text), err)
	}
}
