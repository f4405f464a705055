package regional

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/envoy"
	"github.com/a1009580/leasehold/internal/respond"
	"github.com/a1009580/leasehold/limiter"
)

// Options is what a Server is told. All but Limiter, GRPC and HTTP have
// defaults.
type Options struct {
	// Limiter is what the embedded limiter is told. Its Registerer is the
	// server's, its Logger the server's unless it has its own.
	Limiter limiter.Options
	// GRPC and HTTP are where the server listens. The server closes them.
	GRPC, HTTP net.Listener
	// Proxies are further places where gRPC listens, such as a unix socket. The
	// server closes them.
	Proxies []net.Listener
	// DrainDelay is how long the server goes on serving after it said that it is
	// not ready, so that load balancers notice.
	DrainDelay time.Duration
	// DrainTimeout is how long the requests in flight, and then the goodbye to
	// the coordinator, may take. The default is 5 seconds.
	DrainTimeout time.Duration
	Logger       *slog.Logger
	// Registry holds the metrics that are served; by default it is a new one.
	Registry *prometheus.Registry
	// Random returns numbers from 0 to less than 1, for the jitter of
	// Retry-After. By default they are random.
	Random func() float64
	// LegacyHeaders adds X-RateLimit-Limit, -Remaining and -Reset to the answers
	// over HTTP.
	LegacyHeaders bool
	// EnvoyHeaders and EnvoyMetadata say when answers to Envoy carry header fields
	// for the client and metadata for other filters.
	EnvoyHeaders, EnvoyMetadata envoy.When
	// EnvoyQuota serves Envoy's quota protocol, which is experimental.
	EnvoyQuota bool
}

const defaultDrainTimeout = 5 * time.Second

// Server is a regional process. Make one with New, and run it.
type Server struct {
	opts     Options
	log      *slog.Logger
	clock    *clock.Clock
	limiter  *limiter.Limiter
	grpc     *grpc.Server
	http     *http.Server
	health   *health.Server
	metrics  *metrics
	form     respond.Form
	envoy    *envoy.Service
	quotas   *envoy.QuotaService // nil unless it is served
	began    time.Time
	draining atomic.Bool
}

// New starts the limiter and prepares the servers; Run serves. When it fails,
// the listeners are the caller's to close.
func New(o Options) (*Server, error) {
	if o.GRPC == nil || o.HTTP == nil {
		return nil, errors.New("regional: GRPC and HTTP need a listener")
	}
	if o.DrainTimeout < 0 || o.DrainDelay < 0 {
		return nil, fmt.Errorf("regional: DrainTimeout %v, DrainDelay %v: must not be below 0", o.DrainTimeout, o.DrainDelay)
	}
	o = o.withDefaults()
	s := &Server{opts: o, log: o.Logger, clock: o.Limiter.Clock, health: health.NewServer(), began: time.Now()}
	s.form = respond.Form{Legacy: o.LegacyHeaders, Random: o.Random}
	if s.clock == nil {
		s.clock = clock.New(1) // for the time of day alone
	}
	var err error
	if s.metrics, err = newMetrics(o.Registry); err != nil {
		return nil, err
	}
	if s.limiter, err = limiter.New(o.Limiter); err != nil {
		return nil, err
	}
	s.envoy = envoy.New(envoy.Options{
		Limiter: s.limiter, Status: grpcError, Form: &s.form, Wall: s.clock.Wall, Headers: o.EnvoyHeaders, Metadata: o.EnvoyMetadata,
		Observe: func(d time.Duration) { s.metrics.envoy.Observe(d.Seconds()) },
	})
	if o.EnvoyQuota {
		s.quotas = envoy.NewQuota(s.limiter, grpcError)
		if err := o.Registry.Register(heldByProxies{s.quotas}); err != nil {
			return nil, errors.Join(fmt.Errorf("regional: metrics: %w", err), s.limiter.Close(context.Background()))
		}
	}
	s.grpc = s.newGRPC()
	s.http = s.newHTTP()
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.DrainTimeout == 0 {
		o.DrainTimeout = defaultDrainTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
		o.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Limiter.Logger == nil {
		o.Limiter.Logger = o.Logger
	}
	o.Limiter.Registerer = o.Registry
	return o
}

// Limiter returns the embedded limiter.
func (s *Server) Limiter() *limiter.Limiter { return s.limiter }

// Run serves until ctx ends, and then drains: readiness turns first, then the
// servers stop when their requests are done, then the leases are returned. An
// orderly end returns nil, also when the coordinator could not be told: the log
// says so, and the leases run out by themselves.
func (s *Server) Run(ctx context.Context) error {
	var serving sync.WaitGroup
	failed := make(chan error, 2+len(s.opts.Proxies))
	for _, l := range append([]net.Listener{s.opts.GRPC}, s.opts.Proxies...) {
		serving.Go(func() {
			if err := s.grpc.Serve(l); err != nil {
				failed <- fmt.Errorf("regional: gRPC: %w", err)
			}
		})
	}
	serving.Go(func() {
		if err := s.http.Serve(s.opts.HTTP); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("regional: HTTP: %w", err)
		}
	})
	watching, stop := context.WithCancel(ctx)
	serving.Go(func() { s.watch(watching) })
	s.log.Info("serving", "grpc", s.opts.GRPC.Addr().String(), "http", s.opts.HTTP.Addr().String())
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop()
	s.drain(ctx, err == nil)
	serving.Wait()
	return err
}

// drain ends the server in good order.
func (s *Server) drain(ctx context.Context, linger bool) {
	ctx = context.WithoutCancel(ctx) // it has ended, which is why we drain
	s.log.Info("draining", "delay", s.opts.DrainDelay, "timeout", s.opts.DrainTimeout)
	s.draining.Store(true)
	s.health.Shutdown()
	if linger {
		time.Sleep(s.opts.DrainDelay)
	}
	requests, cancel := context.WithTimeout(ctx, s.opts.DrainTimeout)
	defer cancel()
	var stopping sync.WaitGroup
	if s.quotas != nil {
		s.quotas.Close()
	}
	stopping.Go(func() {
		done := context.AfterFunc(requests, s.grpc.Stop)
		defer done()
		s.grpc.GracefulStop()
	})
	if err := s.http.Shutdown(requests); err != nil {
		s.log.Warn("requests were cut off", "error", err)
		s.http.Close()
	}
	stopping.Wait()
	goodbye, cancel := context.WithTimeout(ctx, s.opts.DrainTimeout)
	defer cancel()
	tokens, floors := s.held()
	held := s.log.With("tokens", tokens, "floors", floors)
	switch err := s.limiter.Close(goodbye); {
	case tokens == 0 && floors == 0:
		s.log.Info("there were no leases to return")
	case err != nil:
		held.Warn("leases were not returned; they run out by themselves", "error", err)
	default:
		held.Info("leases are returned")
	}
}

// held is what the limiter holds: unspent tokens of all quotas, and floors.
func (s *Server) held() (tokens int64, floors int) {
	st := s.limiter.Status()
	for i := range st.Quotas {
		tokens += st.Quotas[i].Unspent
		if st.Quotas[i].FloorOwned {
			floors++
		}
	}
	return tokens, floors
}
