package lease_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

func TestAtMost(t *testing.T) {
	second := bucket.Rate{Tokens: 50, Per: time.Second}
	require.Equal(t, int64(30030), lease.DefaultDrift.AtMost(second, 10*time.Minute))
	require.Equal(t, int64(30000), lease.Drift(0).AtMost(second, 10*time.Minute))
	require.Equal(t, int64(1), lease.Drift(0).AtMost(second, 1), "rounded up")
	require.Zero(t, lease.DefaultDrift.AtMost(second, 0))
	require.Zero(t, lease.DefaultDrift.AtMost(second, -time.Second))
	require.Zero(t, lease.DefaultDrift.AtMost(bucket.Rate{Tokens: 5}, time.Second))
	require.Zero(t, lease.DefaultDrift.AtMost(bucket.Rate{Per: 5}, time.Second))
	require.Equal(t, int64(math.MaxInt64), lease.DefaultDrift.AtMost(bucket.Rate{Tokens: bucket.MaxTokens, Per: 1}, bucket.Forever))
}

// TestAtMostIsTheFraction compares with rational numbers.
func TestAtMostIsTheFraction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens, per := rapid.Int64Range(0, bucket.MaxTokens).Draw(t, "tokens"), rapid.Int64Range(1, math.MaxInt64).Draw(t, "per")
		d, ρ := rapid.Int64().Draw(t, "d"), rapid.Int64Range(0, 100_000).Draw(t, "drift")
		want := new(big.Rat).SetFrac64(tokens, per)
		want.Mul(want, new(big.Rat).SetInt64(max(0, d))).Mul(want, big.NewRat(1_000_000+ρ, 1_000_000))
		got := new(big.Rat).SetInt64(lease.Drift(ρ).AtMost(bucket.Rate{Tokens: tokens, Per: time.Duration(per)}, time.Duration(d)))
		if most := new(big.Rat).SetInt64(math.MaxInt64); want.Cmp(most) > 0 {
			want = most
		}
		if below := new(big.Rat).Sub(got, big.NewRat(1, 1)); got.Cmp(want) < 0 || below.Cmp(want) >= 0 {
			t.Fatalf("got %v, want %v rounded up", got, want)
		}
	})
}
