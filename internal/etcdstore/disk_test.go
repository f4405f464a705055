package etcdstore

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/memstore"
)

func TestDiskFree(t *testing.T) {
	free, total, err := DiskFree(t.TempDir())
	require.NoError(t, err)
	assert.Positive(t, free)
	assert.LessOrEqual(t, free, total)
	_, _, err = DiskFree("/nonexistent/directory")
	require.ErrorContains(t, err, "/nonexistent/directory")
}

// TestWatermark: writes stop below the mark and go on a tenth above it; reads
// and elections never stop.
func TestWatermark(t *testing.T) {
	m := memstore.New(memstore.Options{Now: func() time.Duration { return 0 }})
	l, err := m.Campaign(t.Context(), "a")
	require.NoError(t, err)
	var free uint64
	var broken error
	w := NewWatermark(m, 1000, func() (uint64, error) { return free, broken })
	var last int64
	for _, step := range []struct {
		free uint64
		want error
	}{
		{2000, nil},
		{1000, nil},
		{999, lease.ErrNoSpace},
		{1000, lease.ErrNoSpace},
		{1099, lease.ErrNoSpace},
		{1100, nil},
		{1000, nil},
		{0, lease.ErrNoSpace},
		{5000, nil},
	} {
		free = step.free
		revision, err := w.Commit(t.Context(), l.Key(), []lease.Write{put("k", "1", last)})
		require.ErrorIs(t, err, step.want, "%d free", step.free)
		require.Equal(t, step.want != nil, w.Short())
		if err == nil {
			last = revision
		}
		entries, _, err := w.Get(t.Context(), []string{"k"})
		require.NoError(t, err)
		require.Equal(t, last, entries[0].Revision)
	}
	broken = errors.New("no such device")
	_, err = w.Commit(t.Context(), l.Key(), nil)
	require.ErrorIs(t, err, lease.ErrUnavailable)
	require.ErrorIs(t, err, broken)
	assert.Equal(t, uint64(DefaultWatermark), NewWatermark(m, 0, nil).low, "0 is not unlimited")
}

// TestQuota fills an etcd from several callers: what it said is true, also of
// the transactions that it applies and calls refused.
func TestQuota(t *testing.T) {
	o := anyPort(t.TempDir())
	o.QuotaBytes = 4 << 20
	w := newWorld(t, dial(t, start(t, o).ClientAddr()), "c")
	w.elector.ttl = time.Minute
	leader := w.lead(t, "a").Key()
	const callers = 4
	said := make([][]answer, callers)
	var done sync.WaitGroup
	for caller := range callers {
		done.Go(func() {
			for i := 0; ; i++ {
				a := answer{key: fmt.Sprintf("%d/%d", caller, i)}
				a.revision, a.err = w.store.Commit(t.Context(), leader, []lease.Write{{Key: a.key, Value: make([]byte, 64<<10)}})
				said[caller] = append(said[caller], a)
				if a.err != nil {
					return
				}
			}
		})
	}
	done.Wait()
	for _, answers := range said {
		for _, a := range answers {
			entries, _, err := w.store.Get(soon(t), []string{a.key})
			require.NoError(t, err)
			switch {
			case a.err == nil:
				require.Len(t, entries, 1)
			case errors.Is(a.err, lease.ErrUnknown):
				t.Logf("in doubt, as it must be: %v", a.err)
			default:
				require.ErrorIs(t, a.err, lease.ErrNoSpace)
				require.Empty(t, entries, "%v", a.err)
			}
		}
	}
}
