package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/load"
	"github.com/a1009580/leasehold/chaos/drill/measure"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

// run is one drill on its way.
type run struct {
	Options
	fleet *fleet.Fleet
	load  *load.Load
	diary diary
	watch sampler

	phases  []measure.Phase
	stopped *result.Stop

	mu       sync.Mutex
	faults   []*injected
	revision uint64 // of the policy, before it was changed
}

// Run runs a drill to its end, or until ctx ends or a stop condition holds: then
// the result says that it was stopped. It returns an error, and no result, when
// the drill could not be run at all. Nothing that it started is left.
func Run(ctx context.Context, o Options) (_ *result.Result, err error) {
	began := time.Now()
	r := &run{Options: o}
	if r.fleet, err = r.assembleFleet(); err != nil {
		return nil, err
	}
	var reading sync.WaitGroup
	done := make(chan struct{})
	reading.Go(func() { r.listen(done) })
	defer func() {
		err = errors.Join(err, r.fleet.Close())
		close(done)
		reading.Wait()
	}()
	booting, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	ready := r.fleet.Boot
	if o.Target != nil {
		ready = r.fleet.AllReady
	}
	if err := ready(booting); err != nil {
		return nil, fmt.Errorf("the processes do not get ready: %w%s", err, r.lastWords())
	}
	if err := r.play(ctx); err != nil {
		return nil, err
	}
	return r.assemble(ctx, began), nil
}

// assembleFleet makes the processes, or finds those of a target.
func (r *run) assembleFleet() (*fleet.Fleet, error) {
	o := &r.Options
	if o.Target == nil {
		if err := cuttable(o.Scenario, o.Network); err != nil {
			return nil, err
		}
		return fleet.New(fleet.Options{Scenario: o.Scenario, Network: o.Network, Binary: o.Binary, Log: o.Log})
	}
	o.Network = fleet.Elsewhere{}
	if len(o.Target.Coordinators) == 0 || len(o.Target.Regions) != len(o.Scenario.Topology.Regions) {
		return nil, errors.New("a target needs the address of at least one coordinator, and of every region of the scenario")
	}
	for _, g := range o.Scenario.Topology.Regions {
		if o.Target.Regions[g.Name] == "" {
			return nil, fmt.Errorf("the target has no address of region %s", g.Name)
		}
	}
	return fleet.Remote(*o.Target, o.Log), nil
}

// play is the drill itself, from the first request to the last answer.
func (r *run) play(ctx context.Context) error {
	s := r.Scenario
	o := load.Options{Domain: s.Load.Domain, Descriptor: s.Load.Descriptor, Cost: s.Load.Cost}
	for _, p := range r.fleet.Of(result.Region) {
		rate := func(t time.Duration) float64 { return s.Load.At(p.Name, t) / float64(s.Load.Cost) }
		o.Targets = append(o.Targets, load.Target{Address: p.HTTP, Rate: rate})
	}
	var err error
	if r.load, err = load.Start(o); err != nil {
		return err
	}
	r.diary.begin(r.load.Begin())
	playing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var beside sync.WaitGroup
	sampling, stopSampling := context.WithCancel(context.WithoutCancel(ctx))
	beside.Go(func() { r.sample(sampling) })
	beside.Go(func() { r.guard(playing, stop) })

	r.phase(playing, result.Baseline, s.Phases.Baseline)
	healed := r.inject(playing)
	r.phase(playing, result.Faulty, s.Phases.Fault)
	healed()
	r.phase(playing, result.Healed, s.Phases.Recovery)
	if cause := context.Cause(playing); cause != nil {
		at := r.load.Since()
		r.stopped = &result.Stop{AtSeconds: at.Seconds(), Reason: reason(cause)}
		r.event("drill", result.EventStop, r.stopped.Reason)
	}
	r.load.End()
	stop(nil)
	stopSampling()
	beside.Wait()
	return nil
}

// reason says why a run was stopped.
func reason(cause error) string {
	if errors.Is(cause, context.Canceled) {
		return "it was interrupted"
	}
	return cause.Error()
}

// phase lets a part of the run pass. One that never began is not written down.
func (r *run) phase(ctx context.Context, kind result.PhaseKind, d time.Duration) {
	if ctx.Err() != nil {
		return
	}
	from := r.load.Since()
	r.event("drill", result.EventPhase, string(kind))
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	r.phases = append(r.phases, measure.Phase{Kind: kind, From: from, To: r.load.Since()})
}

// guard ends the run when one of the scenario's conditions holds.
func (r *run) guard(ctx context.Context, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := broken(r.Scenario, r.load.Requests(), r.load.Since()); err != nil {
			stop(err)
			return
		}
	}
}

// failedWindow is the time for which failed requests are looked at.
const failedWindow = 5 * time.Second

// broken says which stop condition holds.
func broken(s *scenario.Scenario, all []load.Request, now time.Duration) error {
	rec := measure.Record{Requests: all, Cost: s.Load.Cost}
	if s.Stop.Overshoot >= 0 && s.Quota.Partition.Mode.Exact() {
		o := rec.Overshoot(measure.Judged{Quota: s.Quota})
		if o.Observed > s.Stop.Overshoot {
			return fmt.Errorf("the limit was exceeded by %d tokens, more than the %d at which the drill stops", o.Observed, s.Stop.Overshoot)
		}
	}
	if s.Stop.FailedShare < 1 && now >= failedWindow {
		var failed, sum float64
		for _, q := range all {
			if q.Received < now-failedWindow {
				continue
			}
			sum++
			if q.Outcome == load.Failed {
				failed++
			}
		}
		if failed > sum*s.Stop.FailedShare {
			return fmt.Errorf("%.0f%% of the requests of %v failed, more than the %.0f%% at which the drill stops", 100*failed/sum, failedWindow, 100*s.Stop.FailedShare)
		}
	}
	return nil
}
