package chaos

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// drawModes has some quotas trade exactness for availability, and some worlds a
// detector that is wrong.
func (c *Config) drawModes(r *rng) {
	if r.n(3) > 0 {
		return
	}
	if r.n(3) == 0 {
		c.Detector = pick(r, AlwaysConnected, AlwaysCutOff, DiceDetector)
	}
	for i := range c.Policies[0] {
		name := c.Policies[0][i].Quota
		if r.n(3) == 0 {
			continue
		}
		for _, p := range c.Policies {
			for j := range p {
				if p[j].Quota == name && r.n(8) > 0 {
					p[j].Floors, p[j].Unreserved = nil, drawUnreserved(r)
				}
			}
		}
	}
}

// drawUnreserved draws a small fallback, so that its end is met.
func drawUnreserved(r *rng) lease.Unreserved {
	u := lease.Unreserved{
		Rate:  bucket.Rate{Tokens: r.spread(100), Per: pick(r, time.Second, 100*ms)},
		Burst: r.spread(50), For: r.span(500*ms, 6*time.Second),
	}
	switch r.n(4) {
	case 0:
		u.For = 0
	case 1:
		u.Unbounded = r.n(4) == 0
	}
	return u
}

// flapping: a region is cut off again and again, both ways or one, for longer and
// shorter than it takes to notice; another takes what there is.
func flapping(c *Config, r *rng) {
	c.unreserve(r)
	c.ask(0, 0, 18*time.Second, 10*ms, 1)
	c.ask(1, 0, 18*time.Second, 20*ms, 1)
	for at := r.span(2*time.Second, 4*time.Second); at < 17*time.Second; {
		d := r.span(500*ms, 5*time.Second)
		c.act(at, pick(r, Cut, CutUp, CutDown), 0, d)
		at += d + r.span(200*ms, 3*time.Second)
	}
}

// nodesCutOff: both processes of a region are cut off, one crashes meanwhile, and
// what comes in its place was never welcomed.
func nodesCutOff(c *Config, r *rng) {
	c.unreserve(r)
	c.Regions = append(c.Regions, c.Regions[0])
	c.Regions[2].Node, c.Regions[2].Offset = "2", 3*time.Minute
	c.Clients = nil
	c.probe()
	at := r.span(3*time.Second, 5*time.Second)
	for i := range c.Regions {
		c.ask(i, 0, 18*time.Second, 15*ms, 1)
	}
	c.act(at, Cut, 0, 10*time.Second)
	c.act(at, Cut, 2, 10*time.Second)
	c.act(at+r.span(2*time.Second, 7*time.Second), CrashRegion, 2, r.span(100*ms, time.Second))
}

// nobodyLeads: the store is unreachable for long, so that every region is cut off
// at once; then a leader comes who knows of nothing.
func nobodyLeads(c *Config, r *rng) {
	c.unreserve(r)
	c.ask(0, 0, 18*time.Second, 15*ms, 1)
	c.ask(1, 0, 18*time.Second, 15*ms, 1)
	at := r.span(3*time.Second, 5*time.Second)
	d := r.span(4*time.Second, 8*time.Second)
	for i := range c.Coordinators {
		c.act(at, PauseCoordinator, i, d)
	}
}

// unreserve gives the quota of a scene one of the inexact modes.
func (c *Config) unreserve(r *rng) {
	u := lease.Unreserved{
		Rate: bucket.Rate{Tokens: r.between(10, 60), Per: time.Second}, Burst: r.between(1, 30), For: r.span(2*time.Second, 8*time.Second),
	}
	if r.n(3) == 0 {
		u.For = 0
	}
	c.Policies[0][0].Unreserved = u
}
