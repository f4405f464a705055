package load

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a1009580/leasehold/policy"
)

// Target is one region and what it is asked for.
type Target struct {
	Address string // of its HTTP
	// Rate is in requests a second, by the time since the load began.
	Rate func(time.Duration) float64
}

// Options are what Start is told.
type Options struct {
	Domain     string
	Descriptor []policy.Pair
	Cost       int64 // tokens of each request
	Targets    []Target
}

// Load is traffic that runs. Its methods may be used concurrently.
type Load struct {
	begin time.Time
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu  sync.Mutex
	all []Request
	// errors are the last of each region.
	errors []error
}

// Start sends requests to all targets until End, in an open loop: what is sent
// depends on time alone, and not on the answers.
func Start(o Options) (*Load, error) {
	ctx, stop := context.WithCancel(context.Background())
	l := &Load{begin: time.Now(), stop: stop, errors: make([]error, len(o.Targets))}
	for i, t := range o.Targets {
		c, err := newClient(t.Address, o.Domain, o.Descriptor, o.Cost)
		if err != nil {
			stop()
			return nil, err
		}
		l.ended.Go(func() { l.run(ctx, i, c, t.Rate) })
	}
	return l, nil
}

// Begin is when the load began: moment 0 of all its times.
func (l *Load) Begin() time.Time { return l.begin }

// Since is how long it lasts.
func (l *Load) Since() time.Duration { return time.Since(l.begin) }

// run is the client of one region.
func (l *Load) run(ctx context.Context, region int, c *client, rate func(time.Duration) float64) {
	defer c.http.CloseIdleConnections()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	room := make(chan struct{}, mostUnderWay)
	var sending sync.WaitGroup
	defer sending.Wait()
	due, last := 0.0, l.Since()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := l.Since()
		due += min(now-last, catchUp).Seconds() * rate(now)
		last = now
		for ; due >= 1; due-- {
			select {
			case room <- struct{}{}:
				sending.Go(func() {
					l.one(region, c)
					<-room
				})
			default:
				l.note(Request{Sent: now, Received: now, Region: region, Outcome: Failed}, nil)
			}
		}
	}
}

// one sends one request. It outlives the end of the load, so that every admission
// that a region gave is known.
func (l *Load) one(region int, c *client) {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	r := Request{Sent: l.Since(), Region: region}
	var err error
	r.Outcome, err = c.ask(ctx)
	r.Received = l.Since()
	l.note(r, err)
}

func (l *Load) note(r Request, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, r)
	if err != nil {
		l.errors[r.Region] = err
	}
}

// End stops the load and waits for the last answers.
func (l *Load) End() {
	l.stop()
	l.ended.Wait()
}

// Requests returns all that were answered or failed so far, in no order.
func (l *Load) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// LastError is the last error of a region's requests, nil if all were answered.
func (l *Load) LastError(region int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errors[region]
}
