package regional

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The example is what its comments say.
func TestEnvoy_TheExampleOfRateLimits(t *testing.T) {
	text, err := os.ReadFile("../../examples/ratelimit/edge.yaml")
	require.NoError(t, err)
	run(t, string(text), func(t *testing.T, r *rig) {
		a := r.should("edge", 1, desc("remote_address", "192.0.2.1"), desc("tenant", "acme", "method", "POST"), desc("tenant", "trial-7"), desc("search", ""))
		assert.Equal(t, fine, a.GetOverallCode())
		for i, want := range []uint32{600, 50, 10000, 1000} {
			assert.Equal(t, want, a.GetStatuses()[i].GetCurrentLimit().GetRequestsPerUnit())
		}
		assert.Equal(t, over, r.should("edge", 1, desc("remote_address", "203.0.113.9")).GetOverallCode())
		assert.Equal(t, fine, r.should("edge", 5000, desc("remote_address", "198.51.100.7"), desc("search", "")).GetOverallCode())
	})
}
