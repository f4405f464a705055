package regional

import (
	"testing"
	"time"

	rl "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
)

// warmed is a region on real sockets whose one key never runs dry.
func warmed(b *testing.B) *rig {
	r := realTime(b, perKey("{tokens: 1000000000000, per: 1s}"), func(*Options) {})
	require.NoError(b, r.s.Limiter().Ready(b.Context()))
	client := pb.NewLimiterClient(r.conn)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		d, err := client.Check(b.Context(), about("k", 1_000_000_000))
		require.NoError(b, err)
		if d.GetAllowed() && d.GetRemaining() > 1_000_000_000 {
			return r
		}
		require.True(b, time.Now().Before(deadline), "%v", d)
	}
}

// What the native check costs, and the same question in Envoy's words: on the
// wire, and in the handler alone.
func BenchmarkSurface(b *testing.B) {
	envoyRequest := &rls.RateLimitRequest{Domain: "api", Descriptors: []*rl.RateLimitDescriptor{desc("api_key", "k")}, HitsAddend: 1}
	b.Run("wire/native", func(b *testing.B) {
		client := pb.NewLimiterClient(warmed(b).conn)
		b.ReportAllocs()
		for b.Loop() {
			d, err := client.Check(b.Context(), about("k"))
			if err != nil || !d.GetAllowed() {
				b.Fatal(d, err)
			}
		}
	})
	b.Run("wire/envoy", func(b *testing.B) {
		client := rls.NewRateLimitServiceClient(warmed(b).conn)
		b.ReportAllocs()
		for b.Loop() {
			d, err := client.ShouldRateLimit(b.Context(), envoyRequest)
			if err != nil || d.GetOverallCode() != fine {
				b.Fatal(d, err)
			}
		}
	})
	b.Run("handler/native", func(b *testing.B) {
		s := &service{s: warmed(b).s}
		q := about("k")
		b.ReportAllocs()
		for b.Loop() {
			if d, err := s.Check(b.Context(), q); err != nil || !d.GetAllowed() {
				b.Fatal(d, err)
			}
		}
	})
	b.Run("handler/envoy", func(b *testing.B) {
		s := warmed(b).s.envoy
		b.ReportAllocs()
		for b.Loop() {
			if d, err := s.ShouldRateLimit(b.Context(), envoyRequest); err != nil || d.GetOverallCode() != fine {
				b.Fatal(d, err)
			}
		}
	})
}
