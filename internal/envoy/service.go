package envoy

import (
	"context"
	"fmt"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/a1009580/leasehold/internal/respond"
	"github.com/a1009580/leasehold/limiter"
)

// Name is the name of the service as gRPC has it.
const Name = "envoy.service.ratelimit.v3.RateLimitService"

// Options is what a Service is told. All but the two settings are required.
type Options struct {
	Limiter *limiter.Limiter
	// Status turns an error of the limiter into one of gRPC.
	Status func(error) error
	// Form writes header fields.
	Form *respond.Form
	// Wall is the time of day.
	Wall func() time.Time
	// Observe is told how long each decision took.
	Observe func(time.Duration)
	// Headers says when answers carry header fields for the client, Metadata when
	// they carry metadata for other filters of the proxy.
	Headers, Metadata When
}

// Service answers ShouldRateLimit. It may be used concurrently.
type Service struct {
	rls.UnimplementedRateLimitServiceServer
	o      Options
	limits limitCache
}

// New returns a service.
func New(o Options) *Service { return &Service{o: o} }

// ShouldRateLimit decides about the descriptors of one request: all of them are
// charged, or none.
func (s *Service) ShouldRateLimit(ctx context.Context, r *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	began := time.Now()
	answer, err := s.decide(ctx, r)
	s.o.Observe(time.Since(began))
	return answer, err
}

func (s *Service) decide(ctx context.Context, r *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	var room [4]limiter.Part
	var pairs [8]limiter.Pair
	parts, err := readParts(r, room[:0], pairs[:0])
	if err != nil {
		return nil, err
	}
	var told [4]limiter.PartDecision
	allowed, all, err := s.o.Limiter.AllowParts(ctx, r.GetDomain(), parts, told[:0])
	if s.lenient(err) {
		return unlimited(len(parts)), nil
	}
	if err != nil {
		return nil, s.o.Status(err)
	}
	answer := s.statuses(r, allowed, all)
	if s.o.Headers.now(!allowed) {
		s.headers(answer, r.GetDomain(), allowed, all)
	}
	if s.o.Metadata.now(!allowed || violated(all)) {
		answer.DynamicMetadata = metadata(r, all)
	}
	return answer, nil
}

// When says when an answer carries something.
type When uint8

// Denied is the default: it is also the moment at which a rule in quota mode had
// too little.
const (
	Denied When = iota
	Always
	Never
)

var whens = []string{"denied", "always", "never"}

// String returns the word of the flag.
func (w When) String() string { return whens[min(int(w), len(whens)-1)] }

// Set reads the word of the flag.
func (w *When) Set(word string) error {
	for i, name := range whens {
		if name == word {
			*w = When(i)
			return nil
		}
	}
	return fmt.Errorf("must be denied, always or never, not %q", word)
}

// Type names what the flag takes.
func (*When) Type() string { return "when" }

func (w When) now(denied bool) bool { return w == Always || w == Denied && denied }
