package regional

import (
	"context"
	"time"
	"unsafe"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/envoy"
	"github.com/a1009580/leasehold/limiter"
)

// MaxBatch is how many requests one CheckBatch may hold.
const MaxBatch = 1000

// service implements leasehold.v1.Limiter.
type service struct {
	pb.UnimplementedLimiterServer
	s *Server
}

// newGRPC returns the gRPC server with all its services.
func (s *Server) newGRPC() *grpc.Server {
	g := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}))
	pb.RegisterLimiterServer(g, &service{s: s})
	grpc_health_v1.RegisterHealthServer(g, s.health)
	s.envoy.Register(g)
	if s.quotas != nil {
		s.quotas.Register(g)
	}
	reflection.Register(g)
	s.setServing(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	return g
}

// envoyHealth is the service whose health envoyproxy/ratelimit tells, and that its
// users' probes ask for.
const envoyHealth = "ratelimit"

func (s *Server) setServing(is grpc_health_v1.HealthCheckResponse_ServingStatus) {
	for _, name := range []string{"", pb.Limiter_ServiceDesc.ServiceName, envoy.Name, envoyHealth} {
		s.health.SetServingStatus(name, is)
	}
	if s.quotas != nil {
		s.health.SetServingStatus(envoy.QuotaName, is)
	}
}

// watch turns the health to serving as soon as requests can be decided.
func (s *Server) watch(ctx context.Context) {
	if s.limiter.Ready(ctx) == nil {
		s.setServing(grpc_health_v1.HealthCheckResponse_SERVING)
		s.log.Info("ready")
	}
}

// Check implements the service.
func (v *service) Check(ctx context.Context, r *pb.CheckRequest) (*pb.CheckResponse, error) {
	began := time.Now()
	var room [8]limiter.Pair
	d, err := v.s.limiter.AllowN(ctx, request(r, room[:0]), cost(r))
	v.s.metrics.grpc.Observe(time.Since(began).Seconds())
	if err != nil {
		return nil, grpcError(err)
	}
	return response(&d), nil
}

// CheckBatch implements the service.
func (v *service) CheckBatch(ctx context.Context, r *pb.CheckBatchRequest) (*pb.CheckBatchResponse, error) {
	began := time.Now()
	if n := len(r.GetRequests()); n > MaxBatch {
		return nil, status.Errorf(codes.InvalidArgument, "a batch of %d requests; the most is %d", n, MaxBatch)
	}
	results := v.s.limiter.AllowBatch(ctx, items(r.GetRequests()))
	answers, out := make([]batchAnswer, len(results)), make([]*pb.CheckBatchResult, len(results))
	for i := range results {
		if err := results[i].Err; err != nil {
			if code, _ := codesOf(err); code != codes.InvalidArgument && code != codes.NotFound {
				return nil, grpcError(err) // it is about all of them
			}
			answers[i].result.Result = &pb.CheckBatchResult_Error{Error: err.Error()}
		} else {
			a := &answers[i]
			a.is.Response = a.response.set(&results[i].Decision)
			a.result.Result = &a.is
		}
		out[i] = &answers[i].result
	}
	v.s.metrics.batch.Observe(time.Since(began).Seconds())
	return &pb.CheckBatchResponse{Results: out}, nil
}

// batchAnswer is everything that one result of a batch is made of, so that a batch
// allocates once and not for every part of every answer.
type batchAnswer struct {
	result   pb.CheckBatchResult
	is       pb.CheckBatchResult_Response
	response room
}

// items translates the requests of a batch, with one allocation for all their
// entries.
func items(requests []*pb.CheckRequest) []limiter.Item {
	entries := 0
	for _, q := range requests {
		entries += len(q.GetDescriptor_())
	}
	pairs, all := make([]limiter.Pair, entries), make([]limiter.Item, len(requests))
	for i, q := range requests {
		n := len(q.GetDescriptor_())
		all[i] = limiter.Item{Request: request(q, pairs[:0:n]), N: cost(q)}
		pairs = pairs[n:]
	}
	return all
}

// request translates a request without copying its values: a decision keeps
// none of them, and a message is not changed once it is decoded.
func request(r *pb.CheckRequest, room []limiter.Pair) limiter.Request {
	for _, e := range r.GetDescriptor_() {
		room = append(room, limiter.Pair{Key: e.GetKey(), Value: unsafe.String(unsafe.SliceData(e.GetValue()), len(e.GetValue()))})
	}
	return limiter.Request{Domain: r.GetDomain(), Descriptor: room}
}

func cost(r *pb.CheckRequest) int64 {
	if r.Cost == nil {
		return 1
	}
	return r.GetCost()
}

// reason translates the closed set of reasons. What is not in it would be
// REASON_UNSPECIFIED, which a client must take for a denial.
func reason(r limiter.Reason) pb.Reason {
	switch r {
	case limiter.WithinQuota:
		return pb.Reason_REASON_WITHIN_QUOTA
	case limiter.NoQuota:
		return pb.Reason_REASON_NO_QUOTA
	case limiter.Unbounded:
		return pb.Reason_REASON_UNBOUNDED
	case limiter.Exhausted:
		return pb.Reason_REASON_EXHAUSTED
	case limiter.NoLease:
		return pb.Reason_REASON_NO_LEASE
	case limiter.CutOff:
		return pb.Reason_REASON_CUT_OFF
	case limiter.Impossible:
		return pb.Reason_REASON_IMPOSSIBLE
	case limiter.Unmatched:
		return pb.Reason_REASON_UNMATCHED
	case limiter.Unreserved:
		return pb.Reason_REASON_UNRESERVED
	case limiter.Advised:
		return pb.Reason_REASON_ADVISED
	default:
		return pb.Reason_REASON_UNSPECIFIED
	}
}

// room is what a response is made of.
type room struct {
	response   pb.CheckResponse
	retryAfter durationpb.Duration
	reset      durationpb.Duration
}

// set makes the response of a decision.
func (m *room) set(d *limiter.Decision) *pb.CheckResponse {
	r := &m.response
	r.Allowed, r.Reason, r.Quota, r.Remaining, r.Limit, r.Most = d.Allowed, reason(d.Reason), d.Quota, d.Remaining, d.Limit, d.Most
	if d.RetryAfter > 0 {
		r.RetryAfter = &m.retryAfter
		setDuration(r.RetryAfter, d.RetryAfter)
	}
	if d.Reset > 0 {
		r.Reset_ = &m.reset
		setDuration(r.Reset_, d.Reset)
	}
	return r
}

func setDuration(to *durationpb.Duration, d time.Duration) {
	to.Seconds, to.Nanos = int64(d/time.Second), int32(d%time.Second)
}

func response(d *limiter.Decision) *pb.CheckResponse { return new(room).set(d) }
