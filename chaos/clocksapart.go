package chaos

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// clocksApart: two processes share one floor of short windows, and the one that
// owns it is cut off, leaves or crashes again and again. Whoever leads then has a
// wall clock that is behind the one that the owner was told, so that the owner has
// spent from windows that are still to be opened when the other comes to own it.
func clocksApart(c *Config, r *rng) {
	t := &c.Policies[0][0]
	t.Windowed, t.Per, t.Burst, t.Tokens, t.FloorTTL = true, 0, 0, r.between(20, 40), r.span(time.Second, 3*time.Second)
	t.Windows, _ = bucket.FixedWindows(pick(r, time.Second, 2*time.Second))
	for _, name := range []string{"us", "eu"} {
		t.Floors = append(t.Floors, lease.FloorTerms{Region: name, Tokens: t.Tokens * 3 / 10})
	}
	c.Coordinators[0].Wall, c.Coordinators[1].Wall = r.span(0, 1500*time.Millisecond), -r.span(0, 1500*time.Millisecond)
	second := c.Regions[0]
	second.Node, second.Offset = "2", 3*time.Minute
	c.Regions = append(c.Regions, second)
	for i := range c.Regions {
		c.ask(i, 0, 18*time.Second, 20*time.Millisecond, 1)
	}
	for at := 3 * time.Second; at < 16*time.Second; at += r.span(3*time.Second, 6*time.Second) {
		owner := 2 * r.n(2)
		kind := pick(r, Cut, Cut, CrashRegion, LeaveRegion)
		c.act(at, kind, owner, r.span(t.FloorTTL, 2*t.FloorTTL))
		c.act(at+r.span(0, 500*time.Millisecond), DeleteKey, 0, 0)
		if r.n(2) == 0 {
			c.act(at+r.span(0, 2*time.Second), StepWall, r.n(2), -r.span(0, 1500*time.Millisecond))
		}
	}
}
