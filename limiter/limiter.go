package limiter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/reconcile"
)

// Limiter is the regional limiter of one process. Its methods may be called
// concurrently. Make one with New, and end it with Close.
type Limiter struct {
	opts    Options
	log     *slog.Logger
	clock   *clock.Clock
	now     func() time.Duration // of clock
	holder  *lease.Holder
	metrics *metrics
	keep    *keeper // nil without a data directory

	// What decisions look at.
	rules         atomic.Pointer[rules] // nil until a policy is known, and after Close
	roundTrip     atomic.Int64
	welcomed      atomic.Bool                   // by a coordinator, ever
	cutOff        atomic.Bool                   // as the link says
	cutNews       atomic.Pointer[chan struct{}] // closed while it is cut off
	scratch       sync.Pool
	joint         sync.Pool
	unknownDomain atomic.Int64
	ready         chan struct{} // closed when a policy is known
	closing       chan struct{} // closed by Close

	// speaking orders what is said: it is held from the making of a message
	// until it is sent. It guards out, and is locked before mu.
	speaking sync.Mutex
	out      *stream // of the open session; nil if there is none

	// mu stands for the holder's owner: its owner's methods are called under
	// it. No decision takes it.
	mu       sync.Mutex
	state    connection
	link     partition.Link
	history  *partition.History // of its cuts
	began    time.Time          // by the wall clock
	id       lease.HolderID
	policy   []byte // in force, in its canonical form, and its revision
	revision uint64

	hurry    chan struct{} // of one place
	draining atomic.Bool
	done     chan struct{} // closed when all actors have ended
	stop     context.CancelFunc
	closed   sync.Once
}

// connection is what is known of the connection, for Status.
type connection struct {
	session     lease.Session
	coordinator string
	since       time.Duration
	heard       time.Duration // when something last came
	echo        time.Duration // the newest report that was answered
	interval    time.Duration // between reports
	lastError   error
	said        time.Duration // when it was last said that there is none; 0: not since a session
}

// New returns a limiter, which connects in the background. It can decide as
// soon as it knows a policy: see Ready. An error is about an option, the data
// directory, or the metrics.
func New(opts Options) (*Limiter, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	l := &Limiter{
		opts: opts, clock: opts.Clock, ready: make(chan struct{}), closing: make(chan struct{}),
		hurry: make(chan struct{}, 1), done: make(chan struct{}),
		log: opts.Logger.With("region", opts.Region, "node", opts.Node),
	}
	own := l.clock == nil
	if own {
		l.clock = clock.New(1)
	}
	l.now = l.clock.Mono
	news := make(chan struct{})
	l.cutNews.Store(&news)
	l.scratch.New = func() any { return new(scratch) }
	l.joint.New = func() any { return new(joint) }
	l.state.interval = firstInterval
	var err error
	if l.link, err = partition.NewLink(partition.DefaultTiming(), l.now()); err != nil {
		return nil, err
	}
	kept, err := l.openKeeper()
	if err != nil {
		return nil, err
	}
	id := lease.HolderID{Region: opts.Region, Node: opts.Node}
	if _, err := rand.Read(id.Incarnation[:]); err != nil {
		return nil, fmt.Errorf("limiter: incarnation: %w", err)
	}
	l.id, l.began, l.history = id, l.clock.Wall(), partition.NewHistory(lease.DefaultDrift, nil)
	l.holder = lease.NewHolder(lease.HolderConfig{ID: id, Plan: reconcile.Plan, Hurry: l.wantBeat}, kept.state)
	if kept.policy != nil {
		if err := l.adopt(kept.revision, kept.policy); err != nil {
			return nil, fmt.Errorf("limiter: DataDir %q: %w", opts.DataDir, err)
		}
		l.announce()
	}
	if l.metrics, err = newMetrics(l, opts.Registerer); err != nil {
		return nil, err
	}
	l.start(own)
	return l, nil
}

// start sets the actors going.
func (l *Limiter) start(ownClock bool) {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	actors := []func(context.Context){l.connect, l.beat}
	if l.keep != nil {
		actors = append(actors, l.keep.run)
	}
	if ownClock {
		actors = append(actors, l.clock.Run)
	}
	var running sync.WaitGroup
	for _, actor := range actors {
		running.Go(func() { actor(ctx) })
	}
	go func() {
		running.Wait()
		close(l.done)
	}()
}

// adopt brings a policy into force. Its caller is the holder's owner.
func (l *Limiter) adopt(revision uint64, text []byte) error {
	before := l.rules.Load()
	r, limits, err := readRules(revision, text, before)
	if err != nil {
		return err
	}
	l.holder.Adopt(revision, limits)
	l.policy, l.revision = text, revision
	l.history.Adopt(l.now(), l.id, r.set)
	if l.draining.Load() {
		return nil
	}
	l.rules.Store(r)
	return nil
}

// announce lets those go who wait for a policy, once there is one. Its caller is
// the holder's owner.
func (l *Limiter) announce() {
	if l.rules.Load() == nil {
		return
	}
	select {
	case <-l.ready:
	default:
		close(l.ready)
	}
}

// unready says why there are no rules.
func (l *Limiter) unready() error {
	if l.draining.Load() {
		return ErrClosed
	}
	return ErrNotReady
}

// Ready waits until a policy is known, so that requests can be decided. It
// returns ctx's error when ctx ends first, and ErrClosed after Close.
func (l *Limiter) Ready(ctx context.Context) error {
	select {
	case <-l.ready:
	case <-l.closing:
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.draining.Load() {
		return ErrClosed
	}
	return nil
}

// Close stops deciding, gives every lease and floor back, says goodbye, and waits
// until the coordinator has taken it or ctx ends; then it ends everything that New
// began. It returns an error when the goodbye was not acknowledged in time: what
// was leased then stays charged until it runs out. Only the first call does
// anything.
func (l *Limiter) Close(ctx context.Context) error {
	var err error
	l.closed.Do(func() { err = l.drain(ctx) })
	return err
}

// errNoGoodbye is about Close.
var errNoGoodbye = errors.New("limiter: closed without an acknowledged goodbye")

func (l *Limiter) drain(ctx context.Context) error {
	l.draining.Store(true)
	l.rules.Store(nil)
	close(l.closing)
	err := l.goodbye(ctx)
	l.stop()
	<-l.done
	l.metrics.unregister()
	if e := l.keep.save(l.snapshot()); e != nil {
		err = errors.Join(err, e)
	}
	return err
}

// goodbye gives everything back on the open session.
func (l *Limiter) goodbye(ctx context.Context) error {
	// A report that nobody reads holds speaking until its stream is given up.
	for !l.speaking.TryLock() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errNoGoodbye, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	l.mu.Lock()
	batch := l.holder.Drain(l.now())
	l.mu.Unlock()
	out := l.out
	l.out = nil
	if out == nil {
		l.speaking.Unlock()
		if !l.welcomed.Load() {
			return nil
		}
		return fmt.Errorf("%w: no coordinator is reached", errNoGoodbye)
	}
	// Whoever does not read cannot hold us up for longer than ctx.
	sent := make(chan error, 1)
	go func() {
		defer l.speaking.Unlock()
		sent <- out.goodbye(batch)
	}()
	select {
	case err := <-sent:
		if err != nil {
			out.cancel()
			return fmt.Errorf("%w: %w", errNoGoodbye, err)
		}
	case <-ctx.Done():
		out.cancel()
		<-sent //nolint:errcheck // ctx has ended, which says it all
		return fmt.Errorf("%w: %w", errNoGoodbye, ctx.Err())
	}
	select {
	case <-out.ended:
		return nil
	case <-ctx.Done():
		out.cancel()
		return fmt.Errorf("%w: %w", errNoGoodbye, ctx.Err())
	}
}
