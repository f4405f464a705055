package regional

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

func dialer(l *bufconn.Listener) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
}

func about(key string, cost ...int64) *pb.CheckRequest {
	r := &pb.CheckRequest{Domain: "api", Descriptor_: []*pb.Entry{{Key: "api_key", Value: []byte(key)}}}
	if len(cost) > 0 {
		r.Cost = proto.Int64(cost[0])
	}
	return r
}

func TestGRPCCheck(t *testing.T) {
	run(t, perKey("{tokens: 2, per: 1h}"), func(t *testing.T, r *rig) {
		client := pb.NewLimiterClient(r.conn)
		for range 2 {
			d, err := client.Check(t.Context(), about("\x00\xff"))
			require.NoError(t, err)
			assert.True(t, d.GetAllowed())
			assert.Equal(t, pb.Reason_REASON_WITHIN_QUOTA, d.GetReason())
			assert.Equal(t, "api/key", d.GetQuota())
			assert.Equal(t, int64(2), d.GetLimit())
		}
		d, err := client.Check(t.Context(), about("\x00\xff"))
		require.NoError(t, err)
		assert.False(t, d.GetAllowed())
		assert.Equal(t, pb.Reason_REASON_EXHAUSTED, d.GetReason())
		assert.Equal(t, 30*time.Minute, d.GetRetryAfter().AsDuration())
		assert.Equal(t, time.Hour, d.GetReset_().AsDuration())
		d, err = client.Check(t.Context(), about("k", 3))
		require.NoError(t, err)
		assert.Equal(t, pb.Reason_REASON_IMPOSSIBLE, d.GetReason())
		assert.Equal(t, int64(2), d.GetMost())
		d, err = client.Check(t.Context(), &pb.CheckRequest{Domain: "api"})
		require.NoError(t, err)
		assert.Equal(t, pb.Reason_REASON_NO_QUOTA, d.GetReason())

		for want, q := range map[codes.Code]*pb.CheckRequest{
			codes.NotFound:        {Domain: "apo"},
			codes.InvalidArgument: about("k", -1),
		} {
			_, err := client.Check(t.Context(), q)
			assert.Equal(t, want, status.Code(err), "%v", err)
		}
		_, err = client.Check(t.Context(), &pb.CheckRequest{Domain: "api", Descriptor_: []*pb.Entry{{Key: "a"}, {Key: "a"}}})
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
	})
}

func TestPEER07_ABatchAboveTheCapIsRefusedByName(t *testing.T) {
	run(t, perKey("{tokens: 1000, per: 1h}"), func(t *testing.T, r *rig) {
		client := pb.NewLimiterClient(r.conn)
		batch := &pb.CheckBatchRequest{}
		for i := range MaxBatch {
			batch.Requests = append(batch.Requests, about(string(rune('A'+i))))
		}
		batch.Requests[1], batch.Requests[2] = about("k", -1), &pb.CheckRequest{Domain: "apo"}
		began := time.Now()
		answer, err := client.CheckBatch(t.Context(), batch)
		require.NoError(t, err)
		assert.Less(t, time.Since(began), 200*time.Millisecond)
		require.Len(t, answer.GetResults(), MaxBatch)
		for i, result := range answer.GetResults() {
			if i == 1 || i == 2 {
				assert.NotEmpty(t, result.GetError())
				continue
			}
			assert.True(t, result.GetResponse().GetAllowed(), "%d: %v", i, result)
		}
		batch.Requests = append(batch.Requests, about("one more"))
		_, err = client.CheckBatch(t.Context(), batch)
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
		assert.ErrorContains(t, err, "1001 requests; the most is 1000")
	})
}

func TestHealthAndReflection(t *testing.T) {
	run(t, perKey("{tokens: 2, per: 1h}"), func(t *testing.T, r *rig) {
		for _, service := range []string{"", "leasehold.v1.Limiter"} {
			h, err := grpc_health_v1.NewHealthClient(r.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
			require.NoError(t, err)
			assert.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, h.GetStatus())
		}
		stream, err := reflectionpb.NewServerReflectionClient(r.conn).ServerReflectionInfo(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
		list, err := stream.Recv()
		require.NoError(t, err)
		var names []string
		for _, s := range list.GetListServicesResponse().GetService() {
			names = append(names, s.GetName())
		}
		assert.Contains(t, names, "leasehold.v1.Limiter")
		require.NoError(t, stream.CloseSend())
	})
}

func TestNotReadyIsUnavailable(t *testing.T) {
	run(t, perKey("{tokens: 2, per: 1h}"), func(t *testing.T, r *rig) {
		client := pb.NewLimiterClient(r.conn)
		_, err := client.Check(t.Context(), about("k"))
		assert.Equal(t, codes.Unavailable, status.Code(err))
		_, err = client.CheckBatch(t.Context(), &pb.CheckBatchRequest{Requests: []*pb.CheckRequest{about("k")}})
		assert.Equal(t, codes.Unavailable, status.Code(err))
		h, err := grpc_health_v1.NewHealthClient(r.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		require.NoError(t, err)
		assert.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, h.GetStatus())
	}, func(o *Options) { o.Limiter.Cluster = "another" })
}

func TestDrainTurnsUnreadyFirstAndReturnsTheLeases(t *testing.T) {
	var listener *bufconn.Listener
	run(t, perKey("{tokens: 1000, per: 1h}"), func(t *testing.T, r *rig) {
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.DialContext(ctx) }}
		defer transport.CloseIdleConnections()
		get := func(path string) (int, string, error) {
			answer, err := (&http.Client{Transport: transport}).Get("http://region" + path)
			if err != nil {
				return 0, "", err
			}
			return answer.StatusCode, readAll(t, answer.Body), nil
		}
		code, _, err := get("/v1/check?domain=api&api_key=k&cost=400")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code)
		r.end()
		time.Sleep(100 * time.Millisecond)
		code, text, err := get("/readyz")
		require.NoError(t, err)
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Equal(t, "draining\n", text)
		code, _, err = get("/v1/check?domain=api&api_key=k")
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, code, "what comes all the same is served")
		require.NoError(t, <-r.done)
		r.done <- nil
		_, _, err = get("/readyz")
		require.Error(t, err)
		assert.Equal(t, 1, r.c.Goodbyes())
		s := r.c.Stats()["api/key"]
		assert.Equal(t, int64(401), s.Books.Spent)
		assert.Zero(t, s.Stock.Outstanding)
	}, func(o *Options) { listener, _ = o.HTTP.(*bufconn.Listener) })
}

// TestDrainSaysWhatWasReturned is about regions that hold something and that do
// not.
func TestDrainSaysWhatWasReturned(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *rig)
		want string
	}{
		"a lease": {func(r *rig) { r.check("k") }, `level=INFO msg="leases are returned" tokens=`},
		"nothing": {func(*rig) {}, `level=INFO msg="there were no leases to return"`},
		"nothing, cut off": {func(r *rig) {
			r.c.SetFaults(limitertest.Faults{Frozen: true})
		}, `level=INFO msg="there were no leases to return"`},
		"a lease, cut off": {func(r *rig) {
			r.check("k")
			r.c.SetFaults(limitertest.Faults{Frozen: true})
		}, `level=WARN msg="leases were not returned; they run out by themselves" tokens=`},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			run(t, perKey("{tokens: 1000, per: 1h}"), func(t *testing.T, r *rig) {
				c.do(r)
				r.end()
				require.NoError(t, <-r.done)
				r.done <- nil
				assert.Contains(t, log.String(), c.want)
				assert.Equal(t, 1, strings.Count(log.String(), "return"), log.String())
			}, func(o *Options) {
				o.DrainTimeout = 2 * time.Second
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			})
		})
	}
}

func TestDrainWaitsNoLongerThanItsTimeout(t *testing.T) {
	run(t, perKey("{tokens: 1000, per: 1h}"), func(t *testing.T, r *rig) {
		r.check("k")
		r.c.SetFaults(limitertest.Faults{Frozen: true})
		began := time.Now()
		r.end()
		require.NoError(t, <-r.done, "an orderly end all the same")
		r.done <- nil
		assert.Equal(t, 500*time.Millisecond+2*time.Second, time.Since(began))
	}, func(o *Options) { o.DrainTimeout = 2 * time.Second })
}
