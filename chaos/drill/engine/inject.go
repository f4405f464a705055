package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

// injected is a fault on its way. Its fields are the run's to read when all faults
// have ended.
type injected struct {
	fault   scenario.Fault
	targets []*fleet.Process
	mark    string // what an operator said that it is
	// gone are those that cannot answer while it lasts.
	gone []*fleet.Process
	cut  [][2]*fleet.Process // the directions that a cut takes away
	// from and to are the first and the last moment of it, since the load began;
	// to is 0 while it lasts. From struck to healing all of it was there.
	from, to        time.Duration
	struck, healing time.Duration
	bite            result.Bite
}

// healing ends a fault and proves that it bit.
type healing func(ctx context.Context) (result.Bite, error)

// inject begins the scenario's faults, each at its time. What it returns waits
// until all of them have ended.
func (r *run) inject(ctx context.Context) (healed func()) {
	var all sync.WaitGroup
	if r.Target != nil {
		marking, stop := context.WithCancel(ctx)
		all.Go(func() { r.heedMarks(marking) })
		return func() {
			stop()
			all.Wait()
		}
	}
	for i := range r.Scenario.Faults {
		f := &injected{fault: r.Scenario.Faults[i]}
		all.Go(func() { r.strike(ctx, f) })
	}
	return all.Wait
}

// strike is one fault from its beginning to its end. When the run is stopped
// meanwhile, it still heals.
func (r *run) strike(ctx context.Context, f *injected) {
	if !sleep(ctx, f.fault.At) {
		return
	}
	r.mu.Lock()
	r.faults = append(r.faults, f)
	r.mu.Unlock()
	acting, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.fault.For+2*endTimeout)
	defer cancel()
	f.from = r.load.Since()
	began := time.Now()
	r.event("drill", result.EventInject, f.fault.String())
	heal, err := r.begin(acting, f)
	if err == nil {
		f.struck = r.load.Since()
		sleep(ctx, f.fault.For-time.Since(began))
		f.healing = r.load.Since()
		f.bite, err = heal(acting)
	}
	f.to = r.load.Since()
	if err != nil {
		f.bite.Proven = false
		f.bite.Detail = strings.TrimPrefix(f.bite.Detail+"; "+err.Error(), "; ")
		r.Log.Error("a fault could not be made, or not be healed", "fault", f.fault.String(), "error", err)
	}
	r.event("drill", result.EventHeal, fmt.Sprintf("%s ends: %s", f.fault.Kind, f.bite.Detail))
}

// sleep lets time pass, and returns false when ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// begin makes a fault.
func (r *run) begin(ctx context.Context, f *injected) (healing, error) {
	switch f.fault.Kind {
	case scenario.Cut:
		return r.beginCut(ctx, f)
	case scenario.Flap:
		return r.beginFlap(ctx, f)
	case scenario.Slow:
		return r.beginSlow(ctx, f)
	case scenario.Kill:
		return r.beginKill(ctx, f)
	case scenario.Freeze:
		return r.beginFreeze(ctx, f)
	case scenario.Restart:
		return r.beginRestart(ctx, f)
	case scenario.WipeStore:
		return r.beginWipe(f)
	case scenario.RestoreOld:
		return r.beginRestore(ctx, f)
	case scenario.ChangeLimit:
		return r.beginChange(ctx, f)
	}
	return nil, fmt.Errorf("a fault of an unknown kind %q", f.fault.Kind)
}

// resolve finds the processes that targets name, each once. others are those that
// "others" leaves out.
func (r *run) resolve(ctx context.Context, targets []string, others []*fleet.Process) ([]*fleet.Process, error) {
	var all []*fleet.Process
	seen := map[*fleet.Process]bool{}
	for _, t := range targets {
		found, err := r.target(ctx, t, others)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if !seen[p] {
				seen[p] = true
				all = append(all, p)
			}
		}
	}
	return all, nil
}

func (r *run) target(ctx context.Context, name string, others []*fleet.Process) ([]*fleet.Process, error) {
	switch name {
	case scenario.Regions:
		return r.fleet.Of(result.Region), nil
	case scenario.Coordinators:
		return r.fleet.Of(result.Coordinator), nil
	case scenario.Etcds:
		return r.fleet.Of(result.Etcd), nil
	case scenario.Everyone:
		return r.fleet.All(), nil
	case scenario.Others:
		return without(r.fleet.All(), others), nil
	case scenario.Leader, scenario.Standby:
		leader := r.fleet.Leader(ctx)
		if leader == nil {
			return nil, errors.New("no coordinator says that it leads")
		}
		if name == scenario.Leader {
			return []*fleet.Process{leader}, nil
		}
		return without(r.fleet.Of(result.Coordinator), []*fleet.Process{leader})[:1], nil
	case scenario.EtcdLeader:
		p, err := r.fleet.EtcdLeader(ctx)
		return []*fleet.Process{p}, err
	}
	if p := r.fleet.Named(name); p != nil {
		return []*fleet.Process{p}, nil
	}
	return nil, fmt.Errorf("there is no process %q", name)
}

func without(all, left []*fleet.Process) []*fleet.Process {
	var rest []*fleet.Process
	for _, p := range all {
		drop := false
		for _, l := range left {
			drop = drop || p == l
		}
		if !drop {
			rest = append(rest, p)
		}
	}
	return rest
}

func names(all []*fleet.Process) []string {
	s := make([]string, len(all))
	for i, p := range all {
		s[i] = p.Name
	}
	return s
}
