// Package memory measures how many bytes a key takes, beside the bytes of the
// key itself, and whether they are given back.
package memory

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/a1009580/leasehold/bench/ledger"
	"github.com/a1009580/leasehold/bench/world"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// few is how many there are when the benchmarks are only tried.
func few(n, tried int) int {
	if testing.Short() {
		return tried
	}
	return n
}

// heap is how many bytes are in use when all garbage is gone.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers let go of
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// weigh reports what is freed when it is let go of, for each of n.
func weigh(b *testing.B, n int, unit string, letGo func()) {
	b.Helper()
	with := heap()
	letGo()
	b.ReportMetric((with-heap())/float64(n), unit)
}

// names are n keys, which are not weighed.
func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = world.Key(i)
	}
	return all
}

// region is a holder and the coordinator that it has its leases from, in time
// that it is told.
type region struct {
	holder  *lease.Holder
	session lease.Session
	now     time.Duration
	account uint64
}

const (
	ttl  = 5 * time.Second
	tick = 100 * time.Millisecond
)

func newRegion(b *testing.B, keys int) *region {
	b.Helper()
	r := &region{now: time.Hour, session: lease.Session{Epoch: lease.Epoch{History: 1, Revision: 1}, N: 1}, account: 1 << 32}
	r.holder = lease.NewHolder(lease.HolderConfig{ID: lease.HolderID{Region: "here"}, Plan: reconcile.Plan}, lease.State{})
	r.holder.Adopt(1, []lease.QuotaLimits{{
		Terms:   lease.Terms{Quota: ledger.Quota, Tokens: 1000, Per: time.Second, Burst: 1000, TTL: ttl, FloorTTL: 10 * time.Minute},
		MaxKeys: int64(keys),
	}})
	_, err := r.holder.Welcome(r.now, lease.Welcome{Session: r.session, ReportInterval: tick, PolicyRevision: 1})
	require.NoError(b, err)
	return r
}

func (r *region) clock() time.Duration { return r.now }

// use has every key ask, be granted a lease, and admit a request.
func (r *region) use(b *testing.B, keys []string) {
	b.Helper()
	for range 3 {
		for _, k := range keys {
			lease.Decide(r.clock, []*lease.Cell{r.holder.Cell(ledger.Quota, k)}, 1)
		}
		r.step(b)
	}
	v := lease.Decide(r.clock, []*lease.Cell{r.holder.Cell(ledger.Quota, keys[0])}, 1)
	require.Equal(b, lease.Admitted, v.Outcome)
}

// step has a tick pass, and grants what is asked for.
func (r *region) step(b *testing.B) {
	b.Helper()
	r.pass(b, tick)
}

// pass has some time pass, and a tick at its end.
func (r *region) pass(b *testing.B, d time.Duration) {
	b.Helper()
	r.now += d
	batch, _ := r.holder.Tick(r.now)
	out := lease.GrantBatch{Session: r.session, Echo: r.now, PolicyRevision: 1}
	for i := range batch.Reports {
		q := &batch.Reports[i]
		g := lease.Grant{Bucket: q.Bucket, Account: q.Account, Granted: q.GrantSeen, TTL: ttl, Echo: r.now, Pool: 500}
		switch {
		case q.Close:
			g.Closed = true
		case q.Account == 0:
			r.account++
			g.Account, g.Granted = r.account, 10
		default:
			g.Granted += q.Ask.Want
		}
		out.Grants = append(out.Grants, g)
	}
	require.NoError(b, r.holder.Grants(r.now, out))
}

func BenchmarkRegion(b *testing.B) {
	n := few(1_000_000, 1000)
	keys := names(n)
	for b.Loop() {
		r := newRegion(b, n)
		r.use(b, keys)
		weigh(b, n, "B/key", func() { r.holder = nil })
		runtime.KeepAlive(keys)
	}
}

// BenchmarkCoordinator weighs a bucket with one holder, and what a second adds.
func BenchmarkCoordinator(b *testing.B) {
	n := few(500_000, 1000)
	for b.Loop() {
		var weight [3]float64
		for holders := 1; holders <= 2; holders++ {
			d, err := ledger.New(ledger.Options{Buckets: n, Holders: holders, Rate: 1000})
			require.NoError(b, err)
			for range 2 {
				require.NoError(b, d.Report())
				require.NoError(b, d.Settle())
			}
			with := heap()
			d.Ledger = nil
			weight[holders] = (with - heap()) / float64(n)
			runtime.KeepAlive(d)
		}
		b.ReportMetric(weight[1], "B/bucket")
		b.ReportMetric(weight[2]-weight[1], "B/holder")
	}
}

// BenchmarkRate weighs a map of x/time/rate.
func BenchmarkRate(b *testing.B) {
	n := few(1_000_000, 1000)
	keys := names(n)
	for b.Loop() {
		limiters := make(map[string]*rate.Limiter)
		for _, k := range keys {
			limiters[k] = rate.NewLimiter(100, 100)
		}
		weigh(b, n, "B/key", func() { clear(limiters); limiters = nil })
		runtime.KeepAlive(keys)
	}
}

// BenchmarkSoak has ten million keys come and fall idle in waves, beside some
// that stay in use, and reports what the heap then is to what it was before.
func BenchmarkSoak(b *testing.B) {
	wave, waves := few(1_000_000, 1000), few(10, 2)
	stay := names(wave / 10)
	for b.Loop() {
		r := newRegion(b, 10_000_000)
		idle := func() {
			for range 40 { // every cell is visited in eight ticks
				r.pass(b, time.Second)
			}
		}
		settled := func() float64 {
			idle()
			r.use(b, stay)
			return heap()
		}
		before := settled()
		for w := range waves {
			passing := make([]string, wave)
			for i := range passing {
				passing[i] = world.Key((w+1)*wave + i)
			}
			r.use(b, passing)
			idle()
		}
		b.ReportMetric(settled()/before, "ratio")
		runtime.KeepAlive(stay)
	}
}
