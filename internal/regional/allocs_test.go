package regional

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
)

// TestAllocations: an answer is one allocation, and a batch makes a few of them
// however many requests it holds. What the transport allocates is not ours.
func TestAllocations(t *testing.T) {
	run(t, perKey("{tokens: 1000000, per: 1s}"), func(t *testing.T, r *rig) {
		v := &service{s: r.s}
		one := &pb.CheckRequest{Domain: "api", Descriptor_: []*pb.Entry{{Key: "api_key", Value: []byte("a")}}}
		many := &pb.CheckBatchRequest{}
		for i := range MaxBatch {
			value := []byte(strconv.Itoa(i % 10))
			many.Requests = append(many.Requests, &pb.CheckRequest{Domain: "api", Descriptor_: []*pb.Entry{{Key: "api_key", Value: value}}})
		}
		_, err := v.CheckBatch(t.Context(), many)
		require.NoError(t, err)
		single := testing.AllocsPerRun(100, func() { _, err = v.Check(t.Context(), one) })
		require.NoError(t, err)
		batch := testing.AllocsPerRun(10, func() { _, err = v.CheckBatch(t.Context(), many) })
		require.NoError(t, err)
		if !raceEnabled { // else pools forget what they are given
			require.Less(t, single, 1.5)
			require.Less(t, batch, 10.0)
		}
	})
}
