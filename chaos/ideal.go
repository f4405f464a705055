package chaos

import (
	"strconv"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// Ideal draws a run in which nothing fails and demand exceeds the limit in
// every region, with a burst that is worth leasing: the least share of an ideal
// central bucket's tokens that was admitted is Result.Used.
func Ideal(seed uint64) *Config {
	r := newRNG(seed, "ideal")
	c := &Config{
		Seed: seed, Ideal: true, Duration: 40 * time.Second, Drift: 1000, ElectionTTL: 2 * time.Second,
		ReportInterval: 100 * time.Millisecond, LedgerTick: 10 * time.Millisecond, Keys: 1, Coordinators: []Machine{{}},
	}
	for i, name := range []string{"ap", "eu", "us"}[:1+r.n(3)] {
		c.Regions = append(c.Regions, Region{Name: name, Node: "1", Latency: r.span(5*time.Millisecond, 50*time.Millisecond)})
		c.Clients = append(c.Clients, Client{
			Region: i, Cells: []Cell{{0, 0}}, To: c.Duration, Every: 5 * time.Millisecond, Burst: 1, MinCost: 1, MaxCost: 10,
		})
	}
	rate := r.between(200, 500)
	c.Policies = [][]lease.Terms{{{
		Quota: "quota 1", Tokens: rate, Per: time.Second, Burst: rate * r.between(1, 3), TTL: 5 * time.Second, FloorTTL: time.Minute,
	}}}
	c.probe()
	c.setQuiet()
	return c
}

// Tight draws the worst schedule that keeps to the rules: the coordinator's clock
// runs as fast as it may, a region takes a full bucket at once, and then every
// token as soon as it is there.
func Tight(seed uint64) *Config {
	r := newRNG(seed, "tight")
	c := Ideal(seed)
	c.Ideal, c.Duration = false, r.span(3*time.Second, 12*time.Second)
	ρ := int64(c.Drift)
	c.Coordinators = []Machine{{PPM: ρ}}
	c.Regions = []Region{{Name: "us", Node: "1", Latency: time.Millisecond, Machine: Machine{PPM: -ρ}}}
	t := &c.Policies[0][0]
	t.Tokens, t.Burst = r.between(100, 300), r.between(1000, 2000)
	c.LedgerTick, c.ReportInterval = time.Millisecond, 20*time.Millisecond
	c.Clients = []Client{
		{Cells: []Cell{{0, 0}}, From: time.Second, To: c.Duration, Every: 500 * time.Microsecond, Burst: 2, MinCost: 1, MaxCost: 1},
	}
	c.probe()
	c.setQuiet()
	return c
}

// probe adds somebody in every region who asks now and then at the end.
func (c *Config) probe() {
	for i := range c.Regions {
		c.Clients = append(c.Clients, Client{
			Region: i, Cells: []Cell{{0, 0}}, From: c.Duration, Every: 277 * time.Millisecond, Burst: 1, MinCost: 1, MaxCost: 1,
		})
	}
}

// TightCut draws the worst that an inexact mode allows: some processes are cut
// off for so long while they hammer, with the fastest clocks, and another region
// takes every token of the limit itself. Result.Tightness is how much of the sum of
// the closed forms the limit was exceeded by.
func TightCut(seed uint64) *Config {
	r := newRNG(seed, "tight cut")
	c := Tight(seed)
	ρ := int64(c.Drift)
	t := &c.Policies[0][0]
	t.Tokens = r.between(50, 100)
	t.Burst = t.Tokens
	t.Unreserved = lease.Unreserved{
		Rate: bucket.Rate{Tokens: r.between(10, 40), Per: time.Second}, Burst: r.between(20, 100), For: r.span(5*time.Second, 20*time.Second),
	}
	if r.n(3) == 0 {
		t.Unreserved.For = 0 // fail open, up to a ceiling
	}
	c.Duration = 60 * time.Second
	c.Clients = nil
	cuts := 1 + r.n(3)
	for n := range r.n(3) + 1 { // processes of one region, cut off several times each
		c.Regions = append(c.Regions, Region{
			Name: "eu", Node: strconv.Itoa(n + 1), Latency: time.Millisecond, Machine: Machine{PPM: ρ, Offset: time.Duration(n) * time.Hour},
		})
		c.hammer(n+1, 500*time.Microsecond)
		length := r.span(6*time.Second, 13*time.Second)
		for i := range cuts {
			c.act(time.Duration(3+i*20)*time.Second, Cut, n+1, length+5*time.Second)
		}
	}
	c.hammer(0, 500*time.Microsecond)
	c.probe()
	c.setQuiet()
	return c
}

// hammer has a region asked for all it can give.
func (c *Config) hammer(region int, every time.Duration) {
	c.Clients = append(c.Clients, Client{
		Region: region, Cells: []Cell{{0, 0}}, To: c.Duration, Every: every, Burst: 2, MinCost: 1, MaxCost: 1,
	})
}
