package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	rl "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// The directory of envoyproxy/ratelimit is all that is needed, and is read again
// when it changes.
func TestADirectoryOfRateLimitsIsServedAsItIs(t *testing.T) {
	dir := t.TempDir()
	config := func(requests string) {
		text := "domain: edge\ndescriptors:\n- key: ip\n  rate_limit:\n    unit: year\n    requests_per_unit: " + requests + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "edge.yaml"), []byte(text), 0o600))
	}
	config("3")
	args := coordinatorArgs(t, filepath.Join(t.TempDir(), "data"), soundPolicy)
	args[2], args[3] = "--ratelimit-config", dir
	coordinator := runCoordinator(t, append(args, "--new-cluster")...)
	coordinator.leads()

	proxies, listen, http := freeAddress(t), freeAddress(t), freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		var out lockedBuffer
		ended <- Run(ctx, NewRegional(), []string{
			"--region", "eu", "--coordinator", args[5], "--listen", listen, "--http", http,
			"--envoy-listen", proxies, "--envoy-socket", filepath.Join(dir, "s"), "--drain-delay", "0s",
		}, &out, &out)
	}()
	defer func() { stop(); assert.Equal(t, OK, <-ended) }()

	ask := func(target string) *rls.RateLimitResponse {
		conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer conn.Close()
		a, err := rls.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), &rls.RateLimitRequest{
			Domain: "edge", Descriptors: []*rl.RateLimitDescriptor{{Entries: []*rl.RateLimitDescriptor_Entry{{Key: "ip", Value: "10.0.0.1"}}}},
		}, grpc.WaitForReady(true))
		if err != nil {
			return nil // no policy yet
		}
		return a
	}
	socket := "unix:" + filepath.Join(dir, "s")
	require.Eventually(t, func() bool { return ask(proxies).GetOverallCode() == rls.RateLimitResponse_OK }, time.Minute, 20*time.Millisecond)
	var last *rls.RateLimitResponse
	require.Eventually(t, func() bool {
		last = ask(socket)
		return last.GetOverallCode() == rls.RateLimitResponse_OVER_LIMIT && last.GetStatuses()[0].GetDurationUntilReset().GetSeconds() > 60
	}, time.Minute, 20*time.Millisecond)
	assert.Equal(t, uint32(3), last.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit())

	config("5")
	require.Eventually(t, func() bool {
		last = ask(socket)
		return last.GetOverallCode() == rls.RateLimitResponse_OK && last.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit() == 5
	}, time.Minute, 20*time.Millisecond, "CFG-01: a raise counts at once")
}
