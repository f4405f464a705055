package partition_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
