package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Options are what New is told. All but Log must be given.
type Options struct {
	// Listener is where connections come in. The proxy closes it.
	Listener net.Listener
	// Dial connects to the other side.
	Dial func(ctx context.Context) (net.Conn, error)
	// Seed decides which segments are lost.
	Seed uint64
	// Log hears of connections that could not be made, as debug messages.
	Log *slog.Logger
}

// Proxy passes connections on. Make one with New and end it with Close; its
// methods may be used concurrently.
type Proxy struct {
	opts   Options
	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu      sync.Mutex
	random  *rand.Rand
	quality Quality
	cut     [2]int        // how many cuts there are of a direction
	changed chan struct{} // closed when a cut is made or healed
	stats   Stats
}

// New starts a proxy of a perfect way.
func New(o Options) *Proxy {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{opts: o, random: rand.New(rand.NewPCG(o.Seed, 0)), changed: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.ended.Go(p.accept)
	return p
}

// Close ends all connections and waits until nothing of the proxy runs.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.opts.Listener.Close()
	p.ended.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// SetQuality changes what is sent from now on. It returns an error for a quality
// that Validate refuses.
func (p *Proxy) SetQuality(q Quality) error {
	if err := q.Validate(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quality = q
	return nil
}

// Cut lets nothing through in one direction, until heal is called. Cuts add up.
// It needs to be called once.
func (p *Proxy) Cut(d Direction) (heal func()) {
	p.bar(d, 1)
	return sync.OnceFunc(func() { p.bar(d, -1) })
}

func (p *Proxy) bar(d Direction, by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut[d] += by
	close(p.changed)
	p.changed = make(chan struct{})
}

// Stats returns what was done so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// accept takes connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		c, err := p.opts.Listener.Accept()
		if err != nil {
			if p.ctx.Err() == nil {
				p.opts.Log.Error("a proxy accepts nothing any more", "error", err)
			}
			return
		}
		p.mu.Lock()
		p.stats.Connections++
		p.mu.Unlock()
		p.ended.Go(func() {
			if err := p.serve(c); err != nil && p.ctx.Err() == nil {
				p.opts.Log.Debug("a connection was not passed on", "error", err)
			}
		})
	}
}

// serve passes one connection on until both directions ended.
func (p *Proxy) serve(near net.Conn) error {
	defer near.Close()
	gone := context.AfterFunc(p.ctx, func() { _ = near.Close() })
	defer gone()
	from := p.newReader(near) // from now on: it notices when the one that dialed gives up
	defer close(from.stop)
	if !p.pass(Forth, from.broken) {
		return errors.New("it was given up during a cut")
	}
	p.wait(p.roundTrip(), from.broken)
	ctx, cancel := context.WithTimeout(p.ctx, dialTimeout)
	defer cancel()
	far, err := p.opts.Dial(ctx)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer far.Close()
	late := context.AfterFunc(p.ctx, func() { _ = far.Close() })
	defer late()

	back := p.newReader(far)
	defer close(back.stop)
	var both sync.WaitGroup
	both.Go(func() { p.pump(Forth, from, far, near) })
	both.Go(func() { p.pump(Back, back, near, far) })
	both.Wait()
	return nil
}

// dialTimeout is how long a connection may take. Whoever dialed the proxy gives
// up sooner.
const dialTimeout = 30 * time.Second

func (p *Proxy) roundTrip() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quality.RoundTrip
}

// wait lets time pass; it ends early when the proxy or the sender does.
func (p *Proxy) wait(d time.Duration, broken <-chan struct{}) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-broken:
	case <-p.ctx.Done():
	}
}

// pass waits until a direction is not cut. It returns false when the proxy ends
// first, or broken is closed.
func (p *Proxy) pass(d Direction, broken <-chan struct{}) bool {
	held := false
	for {
		p.mu.Lock()
		barred, changed := p.cut[d] > 0, p.changed
		if barred && !held {
			held = true
			p.stats.Held++
		}
		p.mu.Unlock()
		if !barred {
			return p.ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-broken:
			return false
		case <-p.ctx.Done():
			return false
		}
	}
}
