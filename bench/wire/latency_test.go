package wire

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bench/world"
)

// BenchmarkLatency asks at fixed rates, whatever the answers take.
func BenchmarkLatency(b *testing.B) {
	for _, rate := range []int{1000, 4000} {
		for _, kind := range []string{"echo", "leasehold"} {
			b.Run(fmt.Sprintf("%s/rate=%d", kind, rate), func(b *testing.B) {
				_, c := ours(b, kind, "tcp")
				ask := func(call int) error { return allowed(c.Check(b.Context(), request(keys[call%100]))) }
				warm(b, batch, func(_ context.Context, call int) error { return ask(call) })
				calls := 3 * rate
				if testing.Short() {
					calls = rate / 10
				}
				h, err := world.OpenLoop(max(b.N, calls), rate, ask)
				require.NoError(b, err)
				for name, q := range map[string]float64{"p50-ns": 50, "p99-ns": 99, "p99.9-ns": 99.9} {
					b.ReportMetric(float64(h.ValueAtQuantile(q)), name)
				}
			})
		}
	}
}
