package etcdstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// BenchmarkCommit measures records a second in transactions of one size, from
// so many callers at once.
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct{ writes, callers int }{{1, 1}, {100, 1}, {100, 8}} {
		b.Run(fmt.Sprintf("writes=%d/callers=%d", c.writes, c.callers), func(b *testing.B) {
			client := dial(b, start(b, anyPort(b.TempDir())).ClientAddr())
			w := newWorld(b, client, "bench")
			w.elector.ttl = time.Hour // nobody proves it
			key := w.lead(b, "a").Key()
			errs := make([]error, c.callers)
			b.ResetTimer()
			var callers sync.WaitGroup
			for i := range c.callers {
				callers.Go(func() { errs[i] = commitLoop(b.Context(), w.store, key, i, c.writes, b.N/c.callers+1) })
			}
			callers.Wait()
			b.StopTimer()
			for _, err := range errs {
				require.NoError(b, err)
			}
			done := float64((b.N/c.callers + 1) * c.callers * c.writes)
			b.ReportMetric(done/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// commitLoop rewrites the same records n times.
func commitLoop(ctx context.Context, s *Store, leader lease.LeaderKey, caller, size, n int) error {
	writes := make([]lease.Write, size)
	value := make([]byte, 200)
	var revision int64
	for range n {
		for i := range writes {
			writes[i] = lease.Write{Key: fmt.Sprintf("bench/%d/%d", caller, i), Value: value, Expect: revision}
		}
		var err error
		if revision, err = s.Commit(ctx, leader, writes); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkStart measures how long an etcd takes to serve, on a new directory
// and on one that was used.
func BenchmarkStart(b *testing.B) {
	run := func(b *testing.B, dir func() string) {
		for b.Loop() {
			e, err := Start(b.Context(), anyPort(dir()))
			require.NoError(b, err)
			b.StopTimer()
			require.NoError(b, e.Close())
			b.StartTimer()
		}
	}
	b.Run("new", func(b *testing.B) { run(b, b.TempDir) })
	b.Run("used", func(b *testing.B) {
		dir := b.TempDir()
		run(b, func() string { return dir })
	})
}

// BenchmarkProve measures what a leader pays to know that it leads.
func BenchmarkProve(b *testing.B) {
	client := dial(b, start(b, anyPort(b.TempDir())).ClientAddr())
	l := newWorld(b, client, "bench").lead(b, "a")
	for b.Loop() {
		require.NoError(b, l.Prove(b.Context()))
	}
}
