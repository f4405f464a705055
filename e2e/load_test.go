package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/chaos/judge"
)

// client asks one region. An error is no decision.
type client interface {
	check(ctx context.Context, key string, cost int64) (bool, error)
}

// overHTTP asks by HTTP.
type overHTTP struct {
	address string
	http    *http.Client
}

func newHTTP(t *testing.T, address string) client {
	transport := &http.Transport{MaxIdleConnsPerHost: mostUnderWay}
	t.Cleanup(transport.CloseIdleConnections)
	return &overHTTP{address: address, http: &http.Client{Transport: transport}}
}

func (c *overHTTP) check(ctx context.Context, key string, cost int64) (bool, error) {
	body := fmt.Sprintf(`{"domain":"api","descriptor":{"api_key":%q},"cost":%d}`, key, cost)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.address+"/v1/check", strings.NewReader(body))
	if err != nil {
		return false, err
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := c.http.Do(q)
	if err != nil {
		return false, err
	}
	defer a.Body.Close()
	if _, err := io.Copy(io.Discard, a.Body); err != nil {
		return false, err
	}
	switch a.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusTooManyRequests:
		return false, nil
	default:
		return false, fmt.Errorf("status %s", a.Status)
	}
}

// overGRPC asks by gRPC.
type overGRPC struct{ stub pb.LimiterClient }

func newGRPC(t *testing.T, address string) client {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return overGRPC{pb.NewLimiterClient(conn)}
}

func (c overGRPC) check(ctx context.Context, key string, cost int64) (bool, error) {
	a, err := c.stub.Check(ctx, &pb.CheckRequest{
		Domain: "api", Descriptor_: []*pb.Entry{{Key: "api_key", Value: []byte(key)}}, Cost: &cost,
	})
	return a.GetAllowed(), err
}

// mostUnderWay bounds the requests of one client that wait for an answer.
const mostUnderWay = 64

// load is traffic of one key, sent to several regions in an open loop: what is
// sent depends on time alone.
type load struct {
	begin time.Time
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu       sync.Mutex
	admitted []judge.Admission // by all clients
	last     []time.Duration   // of each client's admissions, when it was received
	sums     []int64           // of their costs
	denied   int64
	failed   int64
	skipped  int64 // too many were under way
}

// hammer sends rate requests a second to each client, until the load is stopped.
func hammer(t *testing.T, key string, rate float64, clients ...client) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{begin: time.Now(), stop: stop, last: make([]time.Duration, len(clients)), sums: make([]int64, len(clients))}
	for i, c := range clients {
		l.ended.Go(func() { l.run(ctx, i, c, key, rate) })
	}
	t.Cleanup(func() { l.end() })
	return l
}

// run is one client.
func (l *load) run(ctx context.Context, i int, c client, key string, rate float64) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	room := make(chan struct{}, mostUnderWay)
	due, last := 0.0, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			due += min(now.Sub(last).Seconds(), 1) * rate
			last = now
		}
		for ; due >= 1; due-- {
			select {
			case room <- struct{}{}:
				l.ended.Go(func() {
					l.ask(i, c, key)
					<-room
				})
			default:
				l.count(&l.skipped)
			}
		}
	}
}

// ask sends one request. It outlives the load's end, so that every admission
// that a region gave is known.
func (l *load) ask(i int, c client, key string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	sent := time.Since(l.begin)
	ok, err := c.check(ctx, key, 1)
	received := time.Since(l.begin)
	switch {
	case err != nil:
		l.count(&l.failed)
	case !ok:
		l.count(&l.denied)
	default:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.admitted = append(l.admitted, judge.Admission{Sent: sent, Received: received, Cost: 1})
		l.last[i] = received
		l.sums[i]++
	}
}

func (l *load) count(n *int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*n++
}

// end stops the load and waits for the last answers.
func (l *load) end() {
	l.stop()
	l.ended.Wait()
}

// total returns how much was admitted so far, by one client or, below 0, by all.
func (l *load) total(i int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i >= 0 {
		return l.sums[i]
	}
	return int64(len(l.admitted))
}

// more waits until a client was admitted n more times than at the call.
func (l *load) more(t *testing.T, i int, n int64, what string) {
	t.Helper()
	before := l.total(i)
	eventually(t, what, func() bool { return l.total(i) >= before+n })
}

// judge ends the load and judges it. It returns the use of the budget.
func (l *load) judge(t *testing.T, p judge.TokenBucket) {
	t.Helper()
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	f := p.Overshoot(l.admitted)
	took := time.Since(l.begin)
	budget := float64(p.Burst) + float64(p.Tokens)*took.Seconds()/p.Per.Seconds()
	t.Logf("admitted %d, denied %d, failed %d, skipped %d in %v: %.1f%% of the budget; closest to the promise: %+v",
		len(l.admitted), l.denied, l.failed, l.skipped, took.Round(time.Millisecond), 100*float64(len(l.admitted))/budget, f)
	require.NotEmpty(t, l.admitted)
	require.LessOrEqual(t, f.Over, int64(0), "the promise is broken")
}
