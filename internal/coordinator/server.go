package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/a1009580/leasehold/internal/clock"
)

// Server is one coordinator. Make one with New and call Run once.
type Server struct {
	opts    Options
	log     *slog.Logger
	clock   *clock.Clock
	metrics *metrics
	health  *health.Server

	rules atomic.Pointer[rules] // what the policy file says
	// refused is why the file's last content was not taken, overruled why this
	// leader began with the stored policy instead; nil if that is not so.
	refused   atomic.Pointer[fileTrouble]
	overruled atomic.Pointer[fileTrouble]

	term        atomic.Pointer[term] // nil: this process does not lead
	campaigning atomic.Bool          // waits for its election
	draining    atomic.Bool
	trouble     atomic.Pointer[string] // why the last leadership did not come about
	streams     atomic.Int64           // open ones
	leader      leaderCache

	// workers are the calls of the store that outlive a leadership.
	workers sync.WaitGroup
}

// New checks the options. The error of a policy that is refused is of type
// policy.Errors.
func New(o Options) (*Server, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	r, err := parseRules(o.PolicyName, o.Policy)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, log: o.Log, clock: o.Clock, health: health.NewServer()}
	s.rules.Store(r)
	s.metrics = newMetrics(o.Registry, s)
	s.leader.elector = o.Backing.Elector
	s.setServing(false)
	r.warn(s.log, o.ReportInterval)
	return s, nil
}

// stopTimeout is how long open calls may take when the servers stop.
const stopTimeout = 2 * time.Second

// Run serves until ctx ends, and then ends in good order: it stops granting,
// writes back what is set aside, resigns and closes the streams. It returns nil
// then. It fails when it cannot go on: the store died, a server broke, or the
// store is not of this cluster.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	rpc, web := s.newGRPC(), s.newHTTP()

	var servers errgroup.Group
	serve := func(name string, run func() error) {
		servers.Go(func() error {
			if err := run(); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
				cancel(err)
				return err
			}
			return nil
		})
	}
	serve("gRPC server", func() error { return rpc.Serve(s.opts.Listener) })
	serve("HTTP server", func() error {
		err := web.Serve(s.opts.HTTPListener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		return err
	})
	serve("store", func() error { return s.outlive(ctx) })
	serve("namesake", func() error { s.watchNamesake(ctx); return nil })
	serve("policy", func() error { s.watchPolicy(ctx); return nil })
	s.log.Info("coordinator serves", "cluster", s.opts.Cluster, "grpc", s.opts.Listener.Addr().String(),
		"http", s.opts.HTTPListener.Addr().String(), "advertise", s.opts.Advertise)

	err := s.lead(ctx)
	cancel(err)
	s.stop(rpc, web)
	failed := servers.Wait()
	s.workers.Wait()
	return errors.Join(err, failed)
}

// outlive waits for the end of ctx, and fails when the store ends before.
func (s *Server) outlive(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err, ok := <-s.opts.Backing.Died:
		if ok && ctx.Err() == nil {
			return err
		}
		return nil
	}
}

// stop ends the servers: the health service says so first.
func (s *Server) stop(rpc *grpc.Server, web *http.Server) {
	s.health.Shutdown()
	forced := time.AfterFunc(stopTimeout, rpc.Stop)
	rpc.GracefulStop()
	forced.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil {
		s.log.Warn("open HTTP requests are cut off", "error", err)
		if err := web.Close(); err != nil {
			s.log.Warn("closing the HTTP server", "error", err)
		}
	}
}
