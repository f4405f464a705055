package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheExampleOfAServerLimits runs examples/httpserver beside a coordinator.
func TestTheExampleOfAServerLimits(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, os.WriteFile(c.policy, []byte(`apiVersion: leasehold/v1
domain: api
quotas: [{name: key, match: {api_key: "*"}, limit: {tokens: 25, per: 1h}, partition: {mode: fail_closed}}]
`), 0o600))
	coordinator := c.coordinator("", "--new-cluster")
	server := filepath.Join(t.TempDir(), "httpserver")
	said, err := exec.CommandContext(t.Context(), "go", "build", "-o", server, "../examples/httpserver").CombinedOutput()
	require.NoError(t, err, "%s", said)
	address := ports(t, 1)[0]
	p := &process{
		t: t, name: "httpserver", path: server, args: []string{"-coordinator", coordinator.grpc, "-region", "us", "-listen", address},
		log: &output{}, out: &output{},
	}
	p.launch()
	t.Cleanup(p.kill)
	ask := func(method, key string) (int, http.Header) {
		code, h, _ := through(t, address, method, "/x", map[string]string{"X-Api-Key": key}, "")
		return code, h
	}
	eventually(t, "the server serves", func() bool {
		code, _ := ask(http.MethodGet, "k")
		return code == http.StatusOK
	})
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		eventually(t, "what "+method+" costs is used up", func() bool {
			code, h := ask(method, method)
			require.Contains(t, []int{http.StatusOK, http.StatusTooManyRequests}, code)
			require.Equal(t, `"key";q=25;w=3600`, h.Get("RateLimit-Policy"))
			return code == http.StatusTooManyRequests
		})
	}
	code, _, body := through(t, address, http.MethodGet, "/x", nil, "")
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, body, "X-Api-Key")
	assert.Zero(t, p.terminate(), p.log.String())
	assert.Positive(t, coordinator.books().Quotas[0].Spent, "it told what it spent before it went")
}
