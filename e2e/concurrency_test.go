package e2e

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/chaos/judge"
	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/coordinator"
	"github.com/a1009580/leasehold/internal/demo/distance"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/memstore"
	"github.com/a1009580/leasehold/limiter"
)

// callsPolicy is the quota of TestManyCallersShareOneGrant: 1,500 a second.
const callsPolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: key
    match: {api_key: "*"}
    limit: {tokens: 1500, per: 1s, burst: 1500}
    regions: {us: {}, eu: {}, ap: {}}
`

const callsRate = 1500

// TestManyCallersShareOneGrant has 1 to 128 callers in each region at once, over
// connections of 2 to 200 ms, ask for three times the limit in an open loop. A
// grant that many callers waited for must be credited once (law 18): what each
// region credited is the sum of the distinct grants that came in. All of it runs
// in this process, so that the race detector sees it.
func TestManyCallersShareOneGrant(t *testing.T) {
	for _, c := range []struct {
		callers   int
		roundTrip time.Duration
	}{{1, 2 * time.Millisecond}, {8, 40 * time.Millisecond}, {32, 100 * time.Millisecond}, {128, 200 * time.Millisecond}} {
		t.Run(fmt.Sprintf("%d callers at %v", c.callers, c.roundTrip), func(t *testing.T) {
			address := inProcess(t)
			var callers sync.WaitGroup
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			var all []*limiter.Limiter
			var taps []*tap
			for _, region := range regions {
				tap := &tap{highest: map[string]int64{}}
				l, err := limiter.New(limiter.Options{
					Region: region, Node: "1", Coordinators: []string{address}, DialOptions: []grpc.DialOption{
						grpc.WithContextDialer(distance.Dialer(c.roundTrip)), grpc.WithStreamInterceptor(tap.intercept),
					},
				})
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, l.Close(context.Background())) })
				ready, cancel := context.WithTimeout(t.Context(), soon)
				require.NoError(t, l.Ready(ready))
				cancel()
				all, taps = append(all, l), append(taps, tap)
			}
			record := &admissions{begin: time.Now()}
			period := time.Second * time.Duration(len(regions)*c.callers) / (3 * callsRate)
			for _, l := range all {
				for range c.callers {
					callers.Go(func() { record.call(ctx, l, period) })
				}
			}
			eventually(t, "the burst and two seconds of the limit are admitted", func() bool { return record.total() >= 3*callsRate })
			stop()
			callers.Wait()

			p := judge.TokenBucket{Tokens: callsRate, Per: time.Second, Burst: callsRate, DriftPPM: 1000}
			took := time.Since(record.begin)
			t.Logf("%d of %d admitted in %v: %.1f%% of the budget", record.total(), record.asked.Load(), took.Round(time.Millisecond),
				100*float64(record.total())/(callsRate*(1+took.Seconds())))
			require.LessOrEqual(t, p.Overshoot(record.admitted).Over, int64(0))
			for i, l := range all {
				// Grants may still come in: both sides are looked at until they agree.
				var credited, granted int64
				assert.Eventually(t, func() bool {
					credited, granted = l.Status().Quotas[0].Credited, taps[i].sum()
					return credited == granted
				}, soon, 10*time.Millisecond)
				assert.Equal(t, granted, credited, "region %s", regions[i])
				assert.Positive(t, credited)
			}
		})
	}
}

// inProcess runs a coordinator on a store in memory, until the test ends, and
// returns its address.
func inProcess(t *testing.T) string {
	t.Helper()
	var listeners [2]net.Listener
	for i := range listeners {
		var err error
		listeners[i], err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
	}
	c := clock.New(1)
	store := memstore.New(memstore.Options{Now: c.Mono, TTL: 10 * time.Second})
	s, err := coordinator.New(coordinator.Options{
		Listener: listeners[0], HTTPListener: listeners[1], Backing: coordinator.Backing{Store: store, Elector: store},
		Clock: c, Policy: []byte(callsPolicy), NewCluster: true, Drift: lease.DefaultDrift,
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, s.Run(ctx)) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return listeners[0].Addr().String()
}

// admissions are what all callers were admitted.
type admissions struct {
	begin    time.Time
	asked    atomic.Int64
	mu       sync.Mutex
	admitted []judge.Admission
}

func (a *admissions) total() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(len(a.admitted))
}

// call is one caller: it asks once in each period. When it was held up it makes
// up for it, as an open loop does.
func (a *admissions) call(ctx context.Context, l *limiter.Limiter, period time.Duration) {
	request := limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: "api_key", Value: "hot"}}}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for next := time.Now(); ; next = next.Add(period) {
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		a.asked.Add(1)
		sent := time.Since(a.begin)
		d, err := l.Allow(context.WithoutCancel(ctx), request)
		received := time.Since(a.begin)
		if err == nil && d.Allowed {
			a.mu.Lock()
			a.admitted = append(a.admitted, judge.Admission{Sent: sent, Received: received, Cost: 1})
			a.mu.Unlock()
		}
	}
}

// tap listens to what a coordinator says to one region: the highest grant of each
// account.
type tap struct {
	mu      sync.Mutex
	highest map[string]int64
}

func (p *tap) intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := next(ctx, desc, cc, method, opts...)
	return &tappedStream{ClientStream: s, tap: p}, err
}

type tappedStream struct {
	grpc.ClientStream
	tap *tap
}

func (s *tappedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if response, ok := m.(*pb.LeaseResponse); ok && err == nil {
		s.tap.note(response.GetGrants())
	}
	return err
}

func (p *tap) note(b *pb.GrantBatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range b.GetGrants() {
		account := fmt.Sprintf("%d/%d/%s/%x/%d", b.GetSession().GetEpoch().GetRevision(), b.GetSession().GetNumber(),
			g.GetBucket().GetQuota(), g.GetBucket().GetKey(), g.GetAccount())
		p.highest[account] = max(p.highest[account], g.GetGranted())
	}
}

// sum is that of all distinct grants.
func (p *tap) sum() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var n int64
	for _, g := range p.highest {
		n += g
	}
	return n
}
