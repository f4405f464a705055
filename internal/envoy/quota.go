package envoy

import (
	"errors"
	"io"
	"sync"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a1009580/leasehold/limiter"
)

// QuotaName is the name of the quota service as gRPC has it.
const QuotaName = "envoy.service.rate_limit_quota.v3.RateLimitQuotaService"

// QuotaService divides what the region is leased among proxies that limit by
// themselves, as rates for a few seconds. What a proxy could admit by an assignment
// is spent here before it is told, and nothing of it comes back: so the quota's
// promise holds of what is assigned, and what proxies may still admit of it is all
// that comes on top (docs/envoy.md). It is experimental, as the protocol is.
type QuotaService struct {
	rlqs.UnimplementedRateLimitQuotaServiceServer
	limiter *limiter.Limiter
	status  func(error) error
	book    book
	closing chan struct{}
	closed  sync.Once
}

// NewQuota returns a service for a limiter. Status turns the limiter's errors into
// those of gRPC.
func NewQuota(l *limiter.Limiter, status func(error) error) *QuotaService {
	return &QuotaService{limiter: l, status: status, closing: make(chan struct{})}
}

// Register registers the service.
func (s *QuotaService) Register(g *grpc.Server) { rlqs.RegisterRateLimitQuotaServiceServer(g, s) }

// Close ends all streams, so that an orderly end does not wait for them. What was
// assigned lives on until it expires.
func (s *QuotaService) Close() { s.closed.Do(func() { close(s.closing) }) }

// Held returns the most tokens that proxies may still admit by their assignments,
// by quota.
func (s *QuotaService) Held() map[string]int64 { return s.book.sums(time.Now()) }

// Longest is how long an assignment of a quota counts as held at most.
func Longest(ttl time.Duration) time.Duration { return ttl.Truncate(time.Second) + grace }

// beat is how often a stream looks for assignments that end, are to change or are
// not used.
const beat = 250 * time.Millisecond

// StreamRateLimitQuotas serves one proxy.
func (s *QuotaService) StreamRateLimitQuotas(stream rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer) error {
	p := &proxy{s: s, buckets: make(map[string]*subscription)}
	defer p.leave()
	reports := make(chan *rlqs.RateLimitQuotaUsageReports)
	ended := make(chan error, 1)
	go func() { // it ends with the stream, which ends when this method does
		for {
			r, err := stream.Recv()
			if err != nil {
				ended <- err
				return
			}
			select {
			case reports <- r:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		var actions []*action
		var err error
		select {
		case <-s.closing:
			return status.Error(codes.Unavailable, "the region is ending")
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case r := <-reports:
			actions, err = p.reported(stream.Context(), r)
		case <-ticker.C:
			actions, err = p.review(stream.Context())
		}
		if err != nil {
			return err
		}
		if len(actions) > 0 {
			if err := stream.Send(&rlqs.RateLimitQuotaResponse{BucketAction: actions}); err != nil {
				return err
			}
		}
	}
}
