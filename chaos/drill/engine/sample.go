package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/measure"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// sampler is what processes answered.
type sampler struct {
	mu           sync.Mutex
	regions      [][]measure.RegionSample
	coordinators []measure.CoordinatorSample
	samples      result.Samples
}

// sample asks every process again and again until ctx ends.
func (r *run) sample(ctx context.Context) {
	regions := r.fleet.Of(result.Region)
	r.watch.regions = make([][]measure.RegionSample, len(regions))
	var asking sync.WaitGroup
	for i, p := range regions {
		asking.Go(func() {
			r.asks(ctx, p, func(asked time.Duration) error { return r.askRegion(ctx, i, p, asked) })
		})
	}
	for _, p := range r.fleet.Of(result.Coordinator) {
		asking.Go(func() {
			r.asks(ctx, p, func(asked time.Duration) error { return r.askCoordinator(ctx, p, asked) })
		})
	}
	asking.Wait()
	slices.SortStableFunc(r.watch.coordinators, func(a, b measure.CoordinatorSample) int { return cmp.Compare(a.At, b.At) })
}

// asks puts a question each step. An answer is expected of a process that runs all
// the while and has answered before: one that starts is not there yet.
func (r *run) asks(ctx context.Context, p *fleet.Process, ask func(asked time.Duration) error) {
	ticker := time.NewTicker(measure.Step)
	defer ticker.Stop()
	answered := 0 // by which of its lives
	for {
		_, before := p.PID()
		ran := p.Alive()
		if ran {
			err := ask(r.load.Since())
			if ctx.Err() != nil {
				return // it was ended with the drill
			}
			_, after := p.PID()
			same := before == after && p.Alive()
			if err == nil {
				answered = after
			}
			r.watch.count(err == nil, same && answered == after)
			if err != nil {
				r.Log.Debug("no answer", "of", p.Name, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *sampler) count(answered, expected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case answered:
		s.samples.Expected++
		s.samples.Taken++
	case expected:
		s.samples.Expected++
		s.samples.Missing++
	}
}

func (r *run) askRegion(ctx context.Context, i int, p *fleet.Process, asked time.Duration) error {
	a, err := r.fleet.Region(ctx, p, r.Scenario.Quota.ID)
	if err != nil {
		return err
	}
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	r.watch.regions[i] = append(r.watch.regions[i], measure.RegionSample{
		Asked: asked, At: r.load.Since(), State: a.State, Connected: a.Connected, Revision: a.PolicyRevision, Leased: a.Unspent,
		Link: a.Link.State, Transitions: a.Link.Transitions,
	})
	return nil
}

func (r *run) askCoordinator(ctx context.Context, p *fleet.Process, asked time.Duration) error {
	a, err := r.fleet.Coordinator(ctx, p)
	if err != nil {
		return err
	}
	s := measure.CoordinatorSample{
		Asked: asked, At: r.load.Since(), Node: p.Name, Leads: a.Leads(), Granting: a.Granting, Revision: a.PolicyRevision, Overspent: a.Overspent,
	}
	if s.Epoch, err = measure.ParseEpoch(a.Epoch); err != nil {
		return err
	}
	for _, q := range a.Quotas {
		s.Imbalance += max(q.Imbalance, -q.Imbalance)
		if q.Quota == r.Scenario.Quota.ID {
			s.Stranded = q.Stranded
		}
	}
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	r.watch.coordinators = append(r.watch.coordinators, s)
	return nil
}
