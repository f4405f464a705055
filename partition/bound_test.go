package partition_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

func TestTheExactModesAddNothing(t *testing.T) {
	for _, m := range []policy.Mode{policy.FailClosed, policy.LocalFloor} {
		q := policy.Quota{Limit: policy.Limit{Tokens: 10, Per: time.Second, Burst: 10}, Partition: policy.Partition{Mode: m}}
		require.Equal(t, partition.Bound{}, partition.Of(&q))
	}
}

func TestWhatHasNoBoundIsNotCalledHarmless(t *testing.T) {
	for _, m := range []policy.Mode{policy.LocalFallback, policy.FailOpen, 99} {
		q := policy.Quota{Partition: policy.Partition{Mode: m}}
		require.True(t, partition.Of(&q).Unbounded)
	}
	q := policy.Quota{Limit: policy.Limit{Unbounded: true}}
	require.True(t, partition.Of(&q).Unbounded)
}

func TestPromise(t *testing.T) {
	l := policy.Limit{Tokens: 10_000, Per: time.Minute, Burst: 500}
	for _, tc := range []struct {
		d    time.Duration
		want int64
	}{
		{0, 500},
		{-time.Second, 500},
		{time.Minute, 500 + 10_010},
		{6 * time.Millisecond, 501}, // 1.001 tokens
		{5 * time.Millisecond, 500}, // 0.83
		{time.Hour, 500 + 600_600},
	} {
		require.Equal(t, tc.want, partition.Promise(l, lease.DefaultDrift, tc.d), tc.d)
	}
	l.Tokens, l.Per = 1<<53, time.Second
	require.Equal(t, int64(500+1<<53), partition.Promise(l, lease.DefaultDrift, time.Hour), "saturates")
	w := policy.Limit{Tokens: 7, Algorithm: policy.FixedWindow}
	require.Equal(t, int64(7), partition.Promise(w, lease.DefaultDrift, time.Hour))
}
