package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/judge"
)

// The quota that most tests are about, and its promise. Leases are short, so that
// tests need not wait long for one to end.
const (
	tokens = 300 // a second
	burst  = 600
	ttl    = 2 * time.Second
)

func promise() judge.TokenBucket {
	return judge.TokenBucket{Tokens: tokens, Per: time.Second, Burst: burst, DriftPPM: 1000}
}

const thePolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: key
    match: {api_key: "*"}
    limit: {tokens: 300, per: 1s, burst: 600}
    lease: {ttl: 2s}
    partition: {mode: local_floor, floor: 5%, floor_lease: 10s}
    regions: {us: {}, eu: {}, ap: {}}
`

var regions = []string{"us", "eu", "ap"}

// cluster is coordinators and regions, as processes.
type cluster struct {
	t            *testing.T
	dir          string
	policy       string
	coordinators []*node
	regions      []*node
}

// node is a process with a gRPC and an HTTP address.
type node struct {
	*process
	grpc, http string
	dir        string
}

// newCluster makes the place of a cluster, with its policy.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	c.policy = filepath.Join(c.dir, "policy.yaml")
	require.NoError(t, os.WriteFile(c.policy, []byte(thePolicy), 0o600))
	return c
}

// coordinator starts a coordinator with an embedded etcd, or on the etcd that is
// named, and does not wait for it.
func (c *cluster) coordinator(etcd string, extra ...string) *node {
	c.t.Helper()
	n := len(c.coordinators)
	addresses := ports(c.t, 4)
	node := &node{grpc: addresses[0], http: addresses[1], dir: filepath.Join(c.dir, fmt.Sprintf("coordinator-%d", n))}
	args := []string{"coordinator", "--policy", c.policy, "--listen", node.grpc, "--http", node.http}
	if etcd != "" {
		args = append(args, "--etcd-endpoints", etcd)
	} else {
		args = append(args, "--data-dir", node.dir, "--etcd-listen-client", addresses[2], "--etcd-listen-peer", addresses[3])
	}
	node.process = start(c.t, fmt.Sprintf("coordinator %d", n), append(args, extra...)...)
	c.coordinators = append(c.coordinators, node)
	return node
}

// region starts a region that knows all coordinators so far.
func (c *cluster) region(name string, extra ...string) *node {
	c.t.Helper()
	var coordinators []string
	for _, k := range c.coordinators {
		coordinators = append(coordinators, k.grpc)
	}
	return c.regionVia(coordinators, name, extra...)
}

// regionVia starts a region that knows these addresses of coordinators.
func (c *cluster) regionVia(coordinators []string, name string, extra ...string) *node {
	c.t.Helper()
	addresses := ports(c.t, 2)
	node := &node{grpc: addresses[0], http: addresses[1]}
	args := []string{
		"regional", "--region", name, "--node", name, "--coordinator", strings.Join(coordinators, ","),
		"--listen", node.grpc, "--http", node.http, "--drain-delay", "200ms",
	}
	node.process = start(c.t, "region "+name, append(args, extra...)...)
	c.regions = append(c.regions, node)
	return node
}

// small starts one coordinator and three regions, and waits until all lease.
func small(t *testing.T, extra ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.coordinator("", append([]string{"--new-cluster"}, extra...)...)
	c.allRegions()
	return c
}

// allRegions starts the three regions and waits until all lease.
func (c *cluster) allRegions() {
	c.t.Helper()
	for _, name := range regions {
		c.region(name)
	}
	for _, r := range c.regions {
		r.ready()
	}
}

// clients are one client for each region: one of them by gRPC.
func (c *cluster) clients() []client {
	var all []client
	for i, r := range c.regions {
		if i == 0 {
			all = append(all, newGRPC(c.t, r.grpc))
		} else {
			all = append(all, newHTTP(c.t, r.http))
		}
	}
	return all
}

// hammerAll sends three times the limit, spread over all regions.
func (c *cluster) hammerAll() *load {
	return hammer(c.t, "hot", 3*tokens/float64(len(c.regions)), c.clients()...)
}

// ready waits until a region or a coordinator serves and, a region, leases.
func (n *node) ready() {
	n.t.Helper()
	eventually(n.t, n.name+" is ready", func() bool {
		code, body := n.get("/readyz")
		return code == http.StatusOK && !strings.HasPrefix(body, "degraded")
	})
}

// get asks by HTTP; the code is 0 when nobody answers.
func (n *node) get(path string) (code int, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.http+path, http.NoBody)
	require.NoError(n.t, err)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, err.Error()
	}
	return a.StatusCode, string(text)
}

// books are what a leader says of its quotas.
type books struct {
	Epoch  string `json:"epoch"`
	Quotas []struct {
		Granted   int64 `json:"granted_tokens"`
		Spent     int64 `json:"spent_tokens"`
		Imbalance int64 `json:"imbalance_tokens"`
	} `json:"quotas"`
}

// books asks for them, and expects those of one quota.
func (n *node) books() (b books) {
	n.t.Helper()
	code, body := n.get("/v1/status")
	require.Equal(n.t, http.StatusOK, code, body)
	require.NoError(n.t, json.Unmarshal([]byte(body), &b))
	require.Len(n.t, b.Quotas, 1, body)
	return b
}
