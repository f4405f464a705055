package reconcile_test

import (
	"testing"

	"github.com/a1009580/leasehold/reconcile"
)

// BenchmarkShares490 divides a bucket among 490 regions whose wishes fall with their
// rank, so that the filling takes several rounds. The goal is 50 µs.
func BenchmarkShares490(b *testing.B) {
	const regions = 490
	wishes, weights := make([]int64, regions), make([]int64, regions)
	for i := range wishes {
		wishes[i], weights[i] = 1_000_000/int64(i+1), 1<<20
	}
	b.ReportAllocs()
	for turn := uint64(0); b.Loop(); turn++ {
		reconcile.Shares(wishes, weights, 1_000_000, turn)
	}
}
