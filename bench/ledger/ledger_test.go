package ledger

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bench/world"
	"github.com/a1009580/leasehold/internal/etcdstore"
	"github.com/a1009580/leasehold/lease/memstore"
)

// inMemory is a store in memory, with a leader.
func inMemory(b *testing.B) Store {
	s := memstore.New(memstore.Options{Now: func() time.Duration { return 0 }, TTL: time.Hour})
	l, ok := s.Stand("bench").Elected()
	require.True(b, ok)
	return Store{Store: s, Key: l.Key(), Callers: 1}
}

// inEtcd is an embedded etcd, on the disk that has b's directory.
func inEtcd(b *testing.B) Store {
	e, err := etcdstore.Start(b.Context(), etcdstore.EmbeddedOptions{
		Dir: filepath.Join(b.TempDir(), "etcd"), ClientAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, e.Close()) })
	client, err := etcdstore.Dial(etcdstore.DialOptions{Endpoints: []string{e.ClientAddr()}})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, client.Close()) })
	s, err := etcdstore.NewStore(client, "bench")
	require.NoError(b, err)
	elector, err := etcdstore.NewElector(client, "bench", etcdstore.ElectorOptions{TTL: time.Hour})
	require.NoError(b, err)
	l, err := elector.Campaign(b.Context(), "bench")
	require.NoError(b, err)
	return Store{Store: s, Key: l.Key(), Callers: 8}
}

// few is how many there are when the benchmarks are only tried.
func few(n, tried int) int {
	if testing.Short() {
		return tried
	}
	return n
}

// rate is what each bucket has in the benchmarks of grants.
const rate = 3000

// grants has all holders report in turn until enough grants were made. Run it
// with -benchtime=1x: a book of a million buckets is opened but once.
func grants(b *testing.B, o Options) {
	b.Helper()
	d, err := New(o)
	require.NoError(b, err)
	for range 3 { // the books are opened and the first chunks set aside
		require.NoError(b, d.Report())
		require.NoError(b, d.Settle())
	}
	runtime.GC() // of what New left
	d.Grants, d.Tokens, d.Txns, d.Bytes = 0, 0, 0, 0
	began, cpu := time.Now(), world.CPUUsed(b)
	b.ResetTimer()
	for d.Grants < int64(max(b.N, few(500_000, 1))) {
		require.NoError(b, d.Report())
		require.NoError(b, d.Settle())
	}
	b.StopTimer()
	n := float64(d.Grants)
	b.ReportMetric(n/(world.CPUUsed(b)-cpu).Seconds(), "grants/core-s")
	b.ReportMetric(n/time.Since(began).Seconds(), "grants/s")
	b.ReportMetric(1e9*(world.CPUUsed(b)-cpu).Seconds()/n, "cpu-ns/grant")
	b.ReportMetric(float64(d.Txns)*1e6/float64(d.Tokens), "txns/Madmissions")
	b.ReportMetric(float64(d.Bytes)*1e6/float64(d.Tokens), "B/Madmissions")
	require.NoError(b, d.Ledger.Check())
}

func BenchmarkGrantsInMemory(b *testing.B) {
	grants(b, Options{Buckets: few(10_000, 10), Holders: 3, Rate: rate, Store: inMemory(b)})
}

func BenchmarkGrantsDurable(b *testing.B) {
	grants(b, Options{Buckets: few(10_000, 10), Holders: 3, Rate: rate, Store: inEtcd(b)})
}

// BenchmarkBuckets says what a grant costs as there are more buckets.
func BenchmarkBuckets(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("buckets=%d", n), func(b *testing.B) {
			grants(b, Options{Buckets: few(n, 10), Holders: 1, Rate: rate})
		})
	}
}

// BenchmarkRegions says what a grant costs as more regions share the buckets.
func BenchmarkRegions(b *testing.B) {
	for _, n := range []int{3, 10, 30, 100, 490} {
		b.Run(fmt.Sprintf("regions=%d", n), func(b *testing.B) {
			grants(b, Options{Buckets: few(1000, 10), Holders: few(n, 3), Rate: 1_000_000})
		})
	}
}

// BenchmarkTakeover says how long it takes until a new leader grants from one
// of a hundred thousand records in etcd, and until it has read them all.
func BenchmarkTakeover(b *testing.B) {
	o := Options{Buckets: few(100_000, 100), Holders: 1, Rate: rate, Store: inEtcd(b)}
	now := fill(b, o)
	var first, all time.Duration
	for b.Loop() {
		f, a, err := TakeOver(o, now)
		require.NoError(b, err)
		first, all = first+f, all+a
		now += time.Hour
	}
	b.ReportMetric(float64(first)/float64(b.N), "first-ns")
	b.ReportMetric(float64(all)/float64(b.N), "all-ns")
}

// fill has every bucket written once, and returns when that was.
func fill(b *testing.B, o Options) time.Duration {
	d, err := New(o)
	require.NoError(b, err)
	require.NoError(b, d.Report())
	require.NoError(b, d.Settle())
	return d.Now
}
