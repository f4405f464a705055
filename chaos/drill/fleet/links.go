package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/a1009580/leasehold/chaos/drill/proxy"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// link starts a proxy, within the place of the one that dials, so that a cut
// between the places cuts what passes it.
func (f *Fleet) link(from, to *Process, listen, dial string, q proxy.Quality) error {
	l, err := from.Place.Listen(context.Background(), listen)
	if err != nil {
		return fmt.Errorf("a proxy of %s to %s: %w", from.Name, to.Name, err)
	}
	p := proxy.New(proxy.Options{
		Listener: l, Seed: f.opts.Scenario.Seed + uint64(len(f.links)), Log: f.opts.Log,
		Dial: func(ctx context.Context) (net.Conn, error) { return from.Place.Dial(ctx, dial) },
	})
	f.links = append(f.links, link{from, to, p})
	f.opts.Network.Through(from.Place, to.Place, p)
	return p.SetQuality(q)
}

// SetQuality changes the ways of a region to all coordinators.
func (f *Fleet) SetQuality(region *Process, q proxy.Quality) error {
	for _, l := range f.links {
		if l.from == region {
			if err := l.proxy.SetQuality(q); err != nil {
				return err
			}
		}
	}
	return nil
}

// Passed is what the proxies of a region did so far.
func (f *Fleet) Passed(region *Process) (sum proxy.Stats) {
	for _, l := range f.links {
		if l.from == region {
			s := l.proxy.Stats()
			sum.Connections += s.Connections
			sum.Segments += s.Segments
			sum.Lost += s.Lost
			sum.Held += s.Held
		}
	}
	return sum
}

// Cut takes one direction away. Where the two never talk it takes nothing, which
// is no error: the cut drops nothing.
func (f *Fleet) Cut(from, to *Process) (Cut, error) {
	if f.opts.Network.Proxied() && from.Kind == result.Etcd && to.Kind == result.Etcd {
		return nil, fmt.Errorf("%s and %s: %w", from.Name, to.Name, ErrUncuttable)
	}
	c, err := f.opts.Network.Cut(from.Place, to.Place)
	if errors.Is(err, ErrNoWay) {
		return nothing{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cut %s off from %s: %w", from.Name, to.Name, err)
	}
	return c, nil
}

// nothing is a cut of a way that there is not.
type nothing struct{}

// Dropped implements Cut.
func (nothing) Dropped() (uint64, error) { return 0, nil }

// Heal implements Cut.
func (nothing) Heal() (uint64, error) { return 0, nil }
