package e2e

import (
	"bufio"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestABadPolicyIsRefusedAtTheStart with the place of the problem.
func TestABadPolicyIsRefusedAtTheStart(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, os.WriteFile(c.policy, []byte(strings.Replace(thePolicy, "burst: 600", "brust: 600", 1)), 0o600))
	k := c.coordinator("", "--new-cluster")
	require.Equal(t, 2, k.exit())
	require.Contains(t, k.log.String(), c.policy+":6:35: ")
	_, err := os.Stat(k.dir)
	require.ErrorIs(t, err, os.ErrNotExist, "nothing was made")
}

// TestAnEmptyStoreNeedsAWord: without --new-cluster nothing is granted.
func TestAnEmptyStoreNeedsAWord(t *testing.T) {
	c := newCluster(t)
	k := c.coordinator("")
	require.NotEqual(t, 0, k.exit())
	require.Contains(t, k.log.String(), "--new-cluster")
}

// TestARegionEndsInGoodOrder: it turns unready, returns its leases and exits with
// 0.
func TestARegionEndsInGoodOrder(t *testing.T) {
	c := newCluster(t)
	k := c.coordinator("", "--new-cluster")
	r := c.region("us")
	r.ready()
	l := hammer(t, "hot", tokens/3, newHTTP(t, r.http))
	l.more(t, 0, tokens/3, "the load is on")
	eventually(t, "tokens are leased", func() bool { return metric(k, "leasehold_lease_outstanding_tokens") > 0 })
	l.end()

	r.signal(syscall.SIGTERM)
	eventually(t, "it says that it is not ready", func() bool {
		code, _ := r.get("/readyz")
		return code == http.StatusServiceUnavailable
	})
	require.Equal(t, 0, r.exit())
	eventually(t, "nothing is leased any more", func() bool { return metric(k, "leasehold_lease_outstanding_tokens") == 0 })
	require.Zero(t, metric(k, "leasehold_ledger_imbalance_tokens"))
	require.Equal(t, 0, k.terminate())
}

// metric sums a metric up over its labels; below 0 it is not there.
func metric(n *node, name string) float64 {
	_, text := n.get("/metrics")
	sum := -1.0
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err == nil {
			sum = max(sum, 0) + v
		}
	}
	return sum
}
