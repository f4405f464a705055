package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/proxy"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

// cuttable says why a network cannot do what a scenario asks for.
func cuttable(s *scenario.Scenario, n fleet.Network) error {
	if !n.Proxied() {
		return nil
	}
	holdsEtcd := func(group string) bool {
		return strings.HasPrefix(group, "etcd") || group == scenario.Everyone || group == scenario.Others
	}
	for _, f := range s.Faults {
		if f.Pair() && holdsEtcd(f.From) && holdsEtcd(f.To) {
			return fmt.Errorf("drill %s, line %d: %s: %w", s.Name, f.Line, f.String(), fleet.ErrUncuttable)
		}
	}
	return nil
}

// pairs are the directions that a fault between two groups takes away.
func (r *run) pairs(ctx context.Context, f *injected) ([][2]*fleet.Process, error) {
	from, err := r.resolve(ctx, []string{f.fault.From}, nil)
	if err != nil {
		return nil, err
	}
	to, err := r.resolve(ctx, []string{f.fault.To}, from)
	if err != nil {
		return nil, err
	}
	f.targets = slices.Concat(from, without(to, from))
	var all [][2]*fleet.Process
	for _, a := range from {
		for _, b := range to {
			if a == b {
				continue
			}
			if f.fault.Way != scenario.In {
				all = append(all, [2]*fleet.Process{a, b})
			}
			if f.fault.Way != scenario.Out {
				all = append(all, [2]*fleet.Process{b, a})
			}
		}
	}
	return all, nil
}

// cutAll cuts all directions.
func (r *run) cutAll(pairs [][2]*fleet.Process) (cuts []fleet.Cut, err error) {
	for _, p := range pairs {
		c, err := r.fleet.Cut(p[0], p[1])
		if err != nil {
			_, healing := healAll(cuts)
			return nil, errors.Join(err, healing)
		}
		cuts = append(cuts, c)
	}
	return cuts, nil
}

// healAll heals all cuts and sums up what they dropped.
func healAll(cuts []fleet.Cut) (dropped uint64, err error) {
	for _, c := range cuts {
		n, e := c.Heal()
		dropped, err = dropped+n, errors.Join(err, e)
	}
	return dropped, err
}

// bite is the proof that a cut bit: something ran into it.
func (r *run) bite(dropped uint64, directions int) result.Bite {
	what := "packets dropped by the rules of the bridge, by their counters"
	if r.Network.Proxied() {
		what = "pieces and connections held back, by the proxies' counters"
	}
	return result.Bite{
		Proven: dropped > 0, Method: what, Count: int64(dropped),
		Detail: fmt.Sprintf("%d dropped in %d directions", dropped, directions),
	}
}

func (r *run) beginCut(ctx context.Context, f *injected) (healing, error) {
	pairs, err := r.pairs(ctx, f)
	if err != nil {
		return nil, err
	}
	f.cut = pairs
	cuts, err := r.cutAll(pairs)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (result.Bite, error) {
		dropped, err := healAll(cuts)
		return r.bite(dropped, len(pairs)), err
	}, nil
}

// beginFlap cuts and heals by turns until it is healed.
func (r *run) beginFlap(ctx context.Context, f *injected) (healing, error) {
	pairs, err := r.pairs(ctx, f)
	if err != nil {
		return nil, err
	}
	flapping, stop := context.WithCancel(ctx)
	type outcome struct {
		dropped uint64
		times   int
		err     error
	}
	ended := make(chan outcome)
	go func() {
		var o outcome
		for o.err == nil && flapping.Err() == nil {
			var cuts []fleet.Cut
			if cuts, o.err = r.cutAll(pairs); o.err != nil {
				break
			}
			sleep(flapping, f.fault.Closed)
			n, err := healAll(cuts)
			o.dropped, o.times, o.err = o.dropped+n, o.times+1, err
			sleep(flapping, f.fault.Open)
		}
		ended <- o
	}()
	return func(context.Context) (result.Bite, error) {
		stop()
		o := <-ended
		b := r.bite(o.dropped, len(pairs))
		b.Detail += fmt.Sprintf(", %d times", o.times)
		return b, o.err
	}, nil
}

func (r *run) beginSlow(ctx context.Context, f *injected) (healing, error) {
	var err error
	if f.targets, err = r.resolve(ctx, f.fault.Nodes, nil); err != nil {
		return nil, err
	}
	before := r.passed(f.targets)
	for _, p := range f.targets {
		if err := r.fleet.SetQuality(p, proxy.Quality{RoundTrip: f.fault.RoundTrip, Loss: f.fault.Loss}); err != nil {
			return nil, err
		}
	}
	return func(context.Context) (result.Bite, error) {
		var err error
		for _, p := range f.targets {
			err = errors.Join(err, r.fleet.SetQuality(p, r.usual(p)))
		}
		after := r.passed(f.targets)
		n, lost := after.Segments-before.Segments, after.Lost-before.Lost
		return result.Bite{
			Proven: n > 0 && (f.fault.Loss == 0 || lost > 0), Method: "pieces that came late, by the proxies' counters", Count: n,
			Detail: fmt.Sprintf("%d pieces came %v later there and back, %d segments were lost and sent again", n, f.fault.RoundTrip, lost),
		}, err
	}, nil
}

func (r *run) passed(regions []*fleet.Process) (sum proxy.Stats) {
	for _, p := range regions {
		s := r.fleet.Passed(p)
		sum.Segments += s.Segments
		sum.Lost += s.Lost
	}
	return sum
}

// usual is the way of a region without a fault.
func (r *run) usual(p *fleet.Process) proxy.Quality {
	for _, g := range r.Scenario.Topology.Regions {
		if g.Name == p.Name {
			return proxy.Quality{RoundTrip: g.RoundTrip, Loss: g.Loss}
		}
	}
	return proxy.Quality{}
}

// settle is how long after a change of policy its effect on the longest lease has
// passed, of which the drift of clocks is a part.
func settle(longest time.Duration) time.Duration {
	const driftPPM = 1000
	return longest*(1_000_000+driftPPM)/(1_000_000-driftPPM) + time.Millisecond
}
