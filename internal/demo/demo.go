package demo

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/limiter"
)

const (
	// refresh is how often figures are shown, in real time.
	refresh = time.Second
	// judging is how often the judge is told how far it may go.
	judging = 100 * time.Millisecond
)

// demo is one run.
type demo struct {
	*plan
	world  *world
	clock  *clock.Clock
	score  *score
	byName map[string]*place
	screen *screen
	began  time.Duration
}

// Run runs a demo until the trace or the duration is over, or ctx ends, and sums
// it up. Everything that it started has ended when it returns. An *OptionError is
// about the options, and nothing was started.
func Run(ctx context.Context, o Options) (*Report, error) {
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	return p.run(ctx)
}

func (p *plan) run(ctx context.Context) (report *Report, err error) {
	out := p.Out
	if p.Quiet {
		out = io.Discard
	}
	view := newScreen(out, p.Terminal && !p.Quiet)
	defer view.restore()
	var log io.Writer = view
	if !view.terminal {
		log = p.Errors
	}
	logger := slog.New(sparing{slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}), &said{}})
	view.say("Starting a coordinator with an embedded etcd, and %d regions ...\n", len(p.regions))
	w, err := open(ctx, p, logger)
	if err != nil {
		if ctx.Err() != nil {
			err = nil // told to end before it had begun
		}
		return nil, err
	}
	d := &demo{plan: p, world: w, clock: w.clock, byName: map[string]*place{}, screen: view}
	for _, place := range w.places {
		d.byName[place.name] = place
	}
	d.score = newScore(w.clock.Moment, p.target.domain, int64(lease.DefaultDrift), p.regions)
	d.introduce()
	report = d.traffic(ctx)
	view.say("\nReturning the leases and stopping ...\n")
	return report, w.close()
}

// traffic lets the traffic run and shows it.
func (d *demo) traffic(ctx context.Context) *Report {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if d.Duration > 0 {
		ctx, stop = context.WithTimeout(ctx, d.Duration)
		defer stop()
	}
	var showing, sending sync.WaitGroup
	d.began = d.clock.Mono()
	watch, done := context.WithCancel(context.Background())
	showing.Go(func() { d.watch(watch, stop) })
	var behind time.Duration
	if d.trace != nil {
		sending.Go(func() {
			defer stop()
			var err error
			if behind, err = replay(ctx, d.clock, d.Trace, &d.target, d.decide); err != nil {
				d.world.failed <- err // it was read once: it changed since
			}
		})
	} else {
		for _, s := range sources(&d.target, d.regions, d.Speed) {
			sending.Go(func() { s.run(ctx, d.clock, d.decide) })
		}
	}
	sending.Wait()
	took := d.clock.Mono() - d.began
	done()
	showing.Wait()
	d.score.advance()
	return d.report(took, behind)
}

// decide asks a region and notes its answer, also when the demo is about to end:
// what was sent is waited for.
func (d *demo) decide(ctx context.Context, q request) {
	place := d.byName[q.region]
	sent := d.score.send()
	decision, err := place.limiter.AllowN(context.WithoutCancel(ctx), limiter.Request{Domain: d.target.domain.Name, Descriptor: q.descriptor}, q.cost)
	d.score.receive(q, sent, decision, err)
}

// watch advances the judges and shows the figures until ctx ends. It ends the
// traffic when a server failed, or nobody reads what is shown.
func (d *demo) watch(ctx context.Context, stop context.CancelFunc) {
	judges := time.NewTicker(judging)
	defer judges.Stop()
	shows := time.NewTicker(refresh)
	defer shows.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-judges.C:
			d.score.advance()
		case <-shows.C:
			d.screen.show(d.snapshot())
			if d.screen.broken() {
				stop()
			}
		case err := <-d.world.failed:
			d.world.failed <- err // close tells it
			stop()
			return
		}
	}
}

// snapshot is how it stands.
func (d *demo) snapshot() snapshot {
	regions, sum := d.score.byRegion()
	v := snapshot{at: d.clock.Mono() - d.began, total: sum, figures: d.figures()}
	for _, place := range d.world.places {
		leased, connected := place.leased()
		v.regions = append(v.regions, placeView{name: place.name, count: regions[place.name], leased: leased, connected: connected})
	}
	return v
}

// Abandon leaves the terminal and the disk as they were found, for a process that
// ends at once.
func Abandon(o Options) {
	if o.DataDir == "" && o.Scratch != "" {
		_ = os.RemoveAll(o.Scratch) // nobody is left to be told
	}
	if o.Terminal && !o.Quiet {
		_, _ = io.WriteString(o.Out, showCursor) // nobody is left to be told
	}
}
