package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// withStandby starts an etcd, two coordinators on it, of which the first leads,
// and three regions.
func withStandby(t *testing.T) (c *cluster, etcd *process) {
	t.Helper()
	c = newCluster(t)
	addresses := ports(t, 2)
	etcd = start(t, "etcd", "etcd", "--data-dir", filepath.Join(c.dir, "etcd"), "--listen-client", addresses[0], "--listen-peer", addresses[1])
	eventually(t, "etcd serves", func() bool { return strings.Contains(etcd.log.String(), "etcd serves") })
	c.coordinator(addresses[0], "--new-cluster")
	c.coordinators[0].ready()
	second := c.coordinator(addresses[0])
	eventually(t, "the standby lives", func() bool {
		code, _ := second.get("/healthz")
		return code == http.StatusOK
	})
	c.allRegions()
	return c, etcd
}

// TestAStandbyTakesOver kills the leader, and then ends the next one in good
// order.
func TestAStandbyTakesOver(t *testing.T) {
	c, _ := withStandby(t)
	l := c.hammerAll()
	l.more(t, -1, tokens, "the load is on")

	began := time.Now()
	c.coordinators[0].kill()
	l.more(t, -1, 1, "regions with tokens, or a floor, go on admitting while nobody leads")
	l.more(t, -1, burst+tokens, "the standby grants")
	t.Logf("a second of the limit and the burst were admitted %v after the leader was killed", time.Since(began).Round(time.Millisecond))

	c.coordinators[0].launch()
	eventually(t, "the killed one stands by", func() bool {
		code, _ := c.coordinators[0].get("/healthz")
		return code == http.StatusOK
	})
	began = time.Now()
	require.Equal(t, 0, c.coordinators[1].terminate())
	t.Logf("the leader ended in good order within %v", time.Since(began).Round(time.Millisecond))
	l.more(t, -1, burst+tokens, "the other one grants")
	t.Logf("a second of the limit and the burst were admitted %v after it was told to end", time.Since(began).Round(time.Millisecond))
	l.judge(t, promise())
}

// TestEtcdStandsStill for longer than the election lease lasts, and goes on.
func TestEtcdStandsStill(t *testing.T) {
	c, etcd := withStandby(t)
	l := c.hammerAll()
	l.more(t, -1, tokens, "the load is on")
	etcd.signal(syscall.SIGSTOP)
	pause(4 * time.Second)
	etcd.signal(syscall.SIGCONT)
	l.more(t, -1, burst+2*tokens, "grants flow again")
	l.judge(t, promise())
}
