package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/coordinator"
	"github.com/a1009580/leasehold/internal/etcdstore"
	"github.com/a1009580/leasehold/lease"
)

const (
	// cluster is the name of every demo's cluster.
	cluster = "demo"
	// leastInterval is how often regions report at most, in real time: a report
	// costs the machine as much at any speed.
	leastInterval = 2 * time.Millisecond
	// readyTimeout is how long all of it may take to get ready.
	readyTimeout = 60 * time.Second
)

// world is the servers of a demo.
type world struct {
	clock       *clock.Clock
	dir         string
	temporary   bool
	backing     *coordinator.Backing
	coordinator *coordinator.Server
	grpc, http  string // of the coordinator
	etcd        string
	interval    time.Duration
	places      []*place

	// Actors end in the order in which they are told to: clock last.
	running              sync.WaitGroup
	stopPlaces           context.CancelFunc
	stopCoordinator      context.CancelFunc
	stopClock            context.CancelFunc
	placesDone, coreDone sync.WaitGroup
	failed               chan error
}

// open starts all servers of a plan. When it fails, nothing is left behind.
func open(ctx context.Context, p *plan, log *slog.Logger) (_ *world, err error) {
	w := &world{clock: clock.New(p.Speed), dir: p.DataDir, failed: make(chan error, 1+len(p.regions))}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	clockCtx, stop := context.WithCancel(context.Background())
	w.stopClock = stop
	w.running.Go(func() { w.clock.Run(clockCtx) })
	if w.dir == "" {
		w.temporary, w.dir = true, p.Scratch
	}
	if w.dir == "" {
		if w.dir, err = os.MkdirTemp("", "leasehold-demo-"); err != nil {
			return nil, err
		}
	}
	w.interval = max(coordinator.DefaultReportInterval, time.Duration(float64(leastInterval)*p.Speed))
	for _, start := range []func(context.Context, *plan, *slog.Logger) error{w.openStore, w.openCoordinator, w.openPlaces} {
		if err := start(ctx, p, log); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// openStore starts the embedded etcd.
func (w *world) openStore(ctx context.Context, _ *plan, log *slog.Logger) error {
	client, err := freePort(ctx, 7402)
	if err != nil {
		return err
	}
	peer, err := freePort(ctx, 7403)
	if err != nil {
		return err
	}
	w.etcd = client
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	w.backing, err = coordinator.OpenEtcd(ctx, coordinator.EtcdOptions{
		DataDir: filepath.Join(w.dir, "etcd"), ClientAddr: client, PeerAddr: peer, Cluster: cluster, Log: log,
	})
	if errors.Is(err, etcdstore.ErrLocked) {
		return fmt.Errorf("--data-dir %s: another demo uses it: %w", w.dir, err)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another process took a port at the same moment: start again: %w", err)
	}
	return err
}

// openCoordinator starts the coordinator.
func (w *world) openCoordinator(ctx context.Context, p *plan, log *slog.Logger) error {
	var listeners [2]net.Listener
	for i := range listeners {
		l, err := listen(ctx, 7400+i)
		if err != nil {
			closeAll(listeners[:i])
			return err
		}
		listeners[i] = l
	}
	w.grpc, w.http = listeners[0].Addr().String(), listeners[1].Addr().String()
	var err error
	w.coordinator, err = coordinator.New(coordinator.Options{
		Cluster: cluster, Listener: listeners[0], HTTPListener: listeners[1], Backing: *w.backing, Clock: w.clock,
		Policy: p.Policy, PolicyName: p.PolicyName, ReportInterval: w.interval, Drift: lease.DefaultDrift,
		NewCluster: true, Log: log,
	})
	if err != nil {
		closeAll(listeners[:])
		return err
	}
	run, stop := context.WithCancel(context.Background())
	w.stopCoordinator = stop
	w.coreDone.Go(func() {
		if err := w.coordinator.Run(run); err != nil {
			w.failed <- fmt.Errorf("coordinator: %w", err)
		}
	})
	return w.awaitLeader(ctx)
}

// awaitLeader waits until the coordinator leads, so that no region finds it
// before and has something to say about that.
func (w *world) awaitLeader(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, leads := w.coordinator.Totals(); leads {
			return nil
		}
		select {
		case <-ticker.C:
		case err := <-w.failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("the coordinator does not get ready: %w", ctx.Err())
		}
	}
}

// openPlaces starts the regions and waits until every one knows the policy.
func (w *world) openPlaces(ctx context.Context, p *plan, log *slog.Logger) error {
	run, stop := context.WithCancel(context.Background())
	w.stopPlaces = stop
	for i, name := range p.regions {
		place, err := settle(ctx, w.clock, name, i, w.grpc, log)
		if err != nil {
			return fmt.Errorf("region %s: %w", name, err)
		}
		w.places = append(w.places, place)
		w.placesDone.Go(func() {
			if err := place.server.Run(run); err != nil {
				w.failed <- fmt.Errorf("region %s: %w", name, err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ready := make(chan error, 1)
	go func() {
		for _, place := range w.places {
			if err := place.limiter.Ready(ctx); err != nil {
				ready <- fmt.Errorf("region %s does not get ready: %w", place.name, err)
				return
			}
		}
		ready <- nil
	}()
	select {
	case err := <-ready:
		return err
	case err := <-w.failed:
		cancel()
		return errors.Join(err, <-ready)
	}
}

// close ends everything in good order: the regions return their leases, the
// coordinator writes back what is set aside, the store closes, and a temporary
// directory goes.
func (w *world) close() error {
	if w.stopPlaces != nil {
		w.stopPlaces()
	}
	w.placesDone.Wait()
	if w.stopCoordinator != nil {
		w.stopCoordinator()
	}
	w.coreDone.Wait()
	var err error
	if w.backing != nil {
		err = w.backing.Close()
	}
	if w.stopClock != nil {
		w.stopClock()
	}
	w.running.Wait()
	if w.temporary && w.dir != "" {
		err = errors.Join(err, os.RemoveAll(w.dir))
	}
	for {
		select {
		case e := <-w.failed:
			err = errors.Join(err, e)
		default:
			return err
		}
	}
}
