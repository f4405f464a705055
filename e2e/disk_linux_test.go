package e2e

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheDiskIsNearlyFull fills the disk of the embedded etcd below the watermark
// under load, and empties it again: grants stop before etcd would die of it, the
// log and readiness say why, regions go on with what they have, and nothing is
// forgotten.
func TestTheDiskIsNearlyFull(t *testing.T) {
	c := newCluster(t)
	v := newVolume(t, filepath.Join(c.dir, "coordinator-0"))
	k := c.coordinator("", "--new-cluster", "--min-free-disk", strconv.FormatUint(v.watermark, 10))
	c.allRegions()
	l := c.hammerAll()
	l.more(t, -1, burst+tokens, "the load is on")
	before := k.books()

	v.fill()
	eventually(t, "readiness says why", func() bool {
		code, body := k.get("/readyz?verbose")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "grants stopped, the store's disk is short of space") &&
			strings.Contains(body, "MiB free, watermark")
	})
	eventually(t, "the log says why", func() bool {
		return strings.Contains(k.log.String(), "grants stop: the store's disk is short of space")
	})
	for i := range c.regions {
		l.more(t, i, 1, "every region goes on with its tokens, or its floor")
	}
	// What was set aside for grants before is still given out, and then no more.
	last, same := int64(-1), time.Now()
	eventually(t, "grants stop", func() bool {
		if n := k.books().Quotas[0].Granted; n != last {
			last, same = n, time.Now()
		}
		return time.Since(same) > time.Second
	})
	require.Equal(t, 1.0, metric(k, "leasehold_store_disk_short"))
	require.Zero(t, metric(k, "leasehold_coordinator_granting"))
	require.Equal(t, 1.0, metric(k, "leasehold_coordinator_leader"))

	v.empty()
	l.more(t, -1, burst+tokens, "grants flow again")
	k.ready()
	after := k.books()
	require.Equal(t, before.Epoch, after.Epoch, "the leader stayed, and its books with it")
	require.GreaterOrEqual(t, after.Quotas[0].Spent, before.Quotas[0].Spent)
	require.Zero(t, after.Quotas[0].Imbalance)
	require.Zero(t, metric(k, "leasehold_store_disk_short"))

	k.restart() // what was granted meanwhile is in the store too
	l.more(t, -1, burst+tokens, "grants flow again after a restart")
	l.judge(t, promise())
}
