package result_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

func TestBucketNamesTellBucketsApart(t *testing.T) {
	r := &result.Result{Overshoots: []result.Overshoot{
		{Quota: "api/a", Key: "k", Limit: "9 per 1s"},
		{Quota: "api/a", Key: "k", Limit: "5 per 1s"},
		{Quota: "api/a", Key: "k", Limit: "5 per 1s"},
		{Quota: "api/a", Key: "l", Limit: "5 per 1s"},
		{Quota: "api/b", Limit: "5 per 1s"},
	}}
	require.Equal(t, []string{
		"api/a of k under 9 per 1s", "api/a of k under 5 per 1s", "api/a of k under 5 per 1s (2)", "api/a of l", "api/b",
	}, r.BucketNames())
	require.Empty(t, (&result.Result{}).BucketNames())
}
