package coordinator

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/etcdstore"
	"github.com/a1009580/leasehold/lease"
)

// TestADiskThatIsShort stops grants before the store dies, forgets nothing, and
// goes on when there is space again.
func TestADiskThatIsShort(t *testing.T) {
	r := newRig(t, time.Second)
	var free atomic.Uint64
	free.Store(1 << 30)
	n := r.start(func(o *Options) {
		w := etcdstore.NewWatermark(r.store, 1<<20, func() (uint64, error) { return free.Load(), nil })
		o.Backing.Store = w
		o.Backing.Disk = func() Disk { return Disk{FreeBytes: free.Load(), WatermarkBytes: 1 << 20, Short: free.Load() < 2<<20} }
	}).leads()
	h := n.join(identity("us", 1)).hello()
	h.want("k", 10)
	epoch := n.status().Epoch

	free.Store(1000)
	began := time.Now()
	h.report(lease.Report{Bucket: bucket("other"), Ask: lease.Ask{Demand: 1, Want: 500}})
	eventually(t, "readiness says why", func() bool {
		s, code := n.get("/readyz?verbose")
		return code == 503 && strings.Contains(s, "short of space") && strings.Contains(s, "disk: 0 MiB free, watermark 1 MiB")
	})
	eventually(t, "the log says why", func() bool {
		return strings.Contains(n.log.String(), "grants stop: the store's disk is short of space")
	})
	eventually(t, "debits are refused and counted", func() bool {
		return n.metric("leasehold_store_transactions_not_written_total") != "0"
	})
	assert.Equal(t, "1", n.metric("leasehold_store_disk_short"))
	assert.Equal(t, int64(10), n.status().Quotas[0].Granted)
	for i := range 20 {
		h.report(lease.Report{Bucket: bucket("more" + strconv.Itoa(i)), Ask: lease.Ask{Demand: 1, Want: 5}})
	}
	sleep(t.Context(), time.Second) // many ticks
	tries, err := strconv.Atoi(n.metric(`leasehold_store_calls_total{call="commit",outcome="no_space"}`))
	require.NoError(t, err)
	assert.LessOrEqual(t, tries, maxCommits+int(time.Since(began)/decideAgain), "a store without space is not tried at every tick")

	free.Store(1 << 30)
	eventually(t, "grants flow again", func() bool { return n.status().Quotas[0].Granted >= 610 })
	n.leads()
	st := n.status()
	assert.Equal(t, epoch, st.Epoch, "the leader stayed and forgot nothing")
	assert.Zero(t, st.Quotas[0].Imbalance)
	assert.Less(t, strings.Count(n.log.String(), "short of space"), 3, "it is said once, not with every try")
}

// TestADiskThatIsShortAtTheStart waits with its first transaction.
func TestADiskThatIsShortAtTheStart(t *testing.T) {
	r := newRig(t, time.Second)
	var short atomic.Bool
	short.Store(true)
	n := r.start(func(o *Options) {
		o.Backing.Store = etcdstore.NewWatermark(r.store, 1<<20, func() (uint64, error) {
			if short.Load() {
				return 0, nil
			}
			return 1 << 30, nil
		})
	})
	eventually(t, "readiness says why", func() bool {
		s, code := n.get("/readyz")
		return code == 503 && strings.Contains(s, "short of disk space")
	})
	_, err := n.dial().Recv()
	require.ErrorContains(t, err, "not ready yet")
	short.Store(false)
	n.leads()
	assert.NotContains(t, n.log.String(), "stepped down")
}

func TestOutcomeNamesEveryError(t *testing.T) {
	for err, want := range map[error]string{
		nil:                  "ok",
		lease.ErrFenced:      "fenced",
		lease.ErrConflict:    "conflict",
		lease.ErrUnknown:     "unknown",
		lease.ErrNoSpace:     "no_space",
		lease.ErrTooLarge:    "too_large",
		lease.ErrUnavailable: "unavailable",
	} {
		assert.Equal(t, want, outcome(err))
	}
	assert.Equal(t, "failed", outcome(fmt.Errorf("?")))
}
