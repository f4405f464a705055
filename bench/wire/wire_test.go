package wire

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/bench/world"
)

// gubernatorEnv names the program; without it Gubernator is not measured.
const gubernatorEnv = "LEASEHOLD_BENCH_GUBERNATOR"

func TestMain(m *testing.M) {
	if kind := os.Getenv(kindEnv); kind != "" {
		if err := Serve(kind, os.Getenv(addressEnv), os.Getenv(leaderEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// batch is how many decisions one message asks for, where it asks for many.
const batch = 1000

// keys are who asks: as many as in a batch.
var keys = func() []string {
	k := make([]string, batch)
	for i := range k {
		k[i] = world.Key(i)
	}
	return k
}()

// ours starts a server of ours for a benchmark, and connects to it.
func ours(b *testing.B, kind, network string) (*process, pb.LimiterClient) {
	b.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = "unix:" + filepath.Join(b.TempDir(), "s")
	}
	coordinator := ""
	if kind == "leasehold" {
		coordinator = begin(b, "coordinator", "127.0.0.1:0", "").address
	}
	p := begin(b, kind, address, coordinator)
	return p, pb.NewLimiterClient(connect(b, p.address))
}

// begin starts a process of ours, which ends with the benchmark.
func begin(b *testing.B, kind, address, coordinator string) *process {
	b.Helper()
	p, err := startOurs(kind, address, coordinator)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, p.stop()) })
	return p
}

func connect(b *testing.B, address string) *grpc.ClientConn {
	b.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, conn.Close()) })
	return conn
}

// request asks for one key.
func request(key string) *pb.CheckRequest {
	return &pb.CheckRequest{Domain: world.Domain, Descriptor_: []*pb.Entry{{Key: world.Entry, Value: []byte(key)}}}
}

// requests asks for all keys.
func requests() *pb.CheckBatchRequest {
	r := &pb.CheckBatchRequest{}
	for _, k := range keys {
		r.Requests = append(r.Requests, request(k))
	}
	return r
}

// warm asks for every key once, and again where there is no lease yet.
func warm(b *testing.B, calls int, ask func(ctx context.Context, call int) error) {
	b.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for call := range calls {
		for err := ask(b.Context(), call); err != nil; err = ask(b.Context(), call) {
			require.True(b, time.Now().Before(deadline), "%v", err)
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// load has as many callers as in flight ask again and again, of which each call
// decides n times, and reports what one decision took of all processors: here
// and in the server.
func load(b *testing.B, p *process, inFlight, n int, ask func(ctx context.Context, call int) error) {
	b.Helper()
	ctx := b.Context()
	warm(b, batch/n, ask)
	served, err := p.cpu()
	require.NoError(b, err)
	used := world.CPUUsed(b)
	// A batch decides all of its requests, also when fewer were asked for.
	calls := int64(max(1, b.N/n))
	if n > 1 && !testing.Short() {
		calls = max(calls, 100)
	}
	b.ResetTimer()
	require.NoError(b, callAll(ctx, calls, inFlight*runtime.GOMAXPROCS(0), ask))
	b.StopTimer()
	now, err := p.cpu()
	require.NoError(b, err)
	decisions := float64(calls) * float64(n)
	b.ReportMetric(float64(world.CPUUsed(b)-used+now-served)/decisions, "cpu-ns/op")
	b.ReportMetric(decisions/b.Elapsed().Seconds(), "decisions/s")
}

// callAll makes so many calls, some at once.
func callAll(ctx context.Context, calls int64, inFlight int, ask func(ctx context.Context, call int) error) error {
	var begun atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	for range inFlight {
		all.Go(func() error {
			for call := begun.Add(1); call <= calls; call = begun.Add(1) {
				if err := ask(ctx, int(call)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

const (
	singles = 32 // in flight, for each processor
	batches = 4
)

func BenchmarkCheck(b *testing.B) {
	for _, kind := range []string{"echo", "leasehold"} {
		for _, network := range []string{"tcp", "unix"} {
			b.Run(kind+"/"+network, func(b *testing.B) {
				p, c := ours(b, kind, network)
				load(b, p, singles, 1, func(ctx context.Context, call int) error {
					return allowed(c.Check(ctx, request(keys[call%batch])))
				})
			})
			b.Run("batch-"+kind+"/"+network, func(b *testing.B) {
				p, c := ours(b, kind, network)
				r := requests()
				load(b, p, batches, batch, func(ctx context.Context, _ int) error { return allAllowed(c.CheckBatch(ctx, r)) })
			})
		}
	}
}

func allowed(r *pb.CheckResponse, err error) error {
	if err == nil && !r.GetAllowed() {
		return fmt.Errorf("denied: %v", r)
	}
	return err
}

func allAllowed(r *pb.CheckBatchResponse, err error) error {
	for _, q := range r.GetResults() {
		if !q.GetResponse().GetAllowed() {
			return fmt.Errorf("denied: %v", q)
		}
	}
	return err
}

func BenchmarkRedis(b *testing.B) {
	name, err := exec.LookPath("redis-server")
	if err != nil {
		b.Log("redis-server is not installed")
		return
	}
	address, err := freeAddress()
	require.NoError(b, err)
	port := address[len("127.0.0.1:"):]
	p, err := startPeer(name, nil, address, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", b.TempDir())
	require.NoError(b, err)
	defer func() { require.NoError(b, p.stop()) }()
	c := redis.NewClient(&redis.Options{Addr: address, PoolSize: 2 * singles})
	defer func() { require.NoError(b, c.Close()) }()
	require.NoError(b, tokenBucket.Load(b.Context(), c).Err())
	b.Run("single", func(b *testing.B) {
		load(b, p, singles, 1, func(ctx context.Context, call int) error { return askRedis(ctx, c, keys[call%batch]) })
	})
	b.Run("pipeline", func(b *testing.B) {
		load(b, p, batches, batch, func(ctx context.Context, _ int) error { return askRedisAll(ctx, c, keys) })
	})
}

func BenchmarkGubernator(b *testing.B) {
	name := os.Getenv(gubernatorEnv)
	if name == "" {
		b.Log(gubernatorEnv + " does not name a program")
		return
	}
	address, err := freeAddress()
	require.NoError(b, err)
	web, err := freeAddress()
	require.NoError(b, err)
	p, err := startPeer(name, []string{
		"GUBER_GRPC_ADDRESS=" + address, "GUBER_HTTP_ADDRESS=" + web, "GUBER_PEER_DISCOVERY_TYPE=none", "GUBER_LOG_LEVEL=error",
	}, address)
	require.NoError(b, err)
	defer func() { require.NoError(b, p.stop()) }()
	conn := connect(b, address)
	run := func(name string, inFlight, n int) {
		b.Run(name, func(b *testing.B) {
			r := gubernatorRequest(keys[:n])
			load(b, p, inFlight, n, func(ctx context.Context, _ int) error {
				got, err := askGubernator(ctx, conn, r)
				if err == nil && got != n {
					err = fmt.Errorf("%d decisions of %d", got, n)
				}
				return err
			})
		})
	}
	run("single", singles, 1)
	run("batch", batches, batch)
}
