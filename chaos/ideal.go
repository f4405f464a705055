package chaos

import (
	"time"

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
