package chaos

import (
	"strconv"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// Draw makes the configuration of a seed. Which faults there are and how hard
// they hit is drawn too: a run with every fault at once shows little of each.
func Draw(seed uint64) *Config {
	r := newRNG(seed, "config")
	if r.n(16) == 0 {
		return Directed(directed[r.n(len(directed))].name, seed)
	}
	c := &Config{
		Seed: seed, Duration: r.span(6*time.Second, 30*time.Second),
		Drift:          lease.Drift(pick(r, 0, 1000, 1000, 1000, 5000, 20_000)),
		ElectionTTL:    r.span(time.Second, 2*time.Second),
		ReportInterval: pick(r, 50*ms, 100*ms, 100*ms, 200*ms),
		LedgerTick:     pick(r, 10*ms, 30*ms, 50*ms, 300*ms),
		Keys:           1 + r.n(2), Wild: r.n(4) == 0, Scan: r.n(2) == 0,
	}
	for range 1 + r.n(3) {
		c.Coordinators = append(c.Coordinators, c.machine(r))
	}
	c.StoreMachine = c.machine(r)
	c.drawRegions(r)
	c.drawPolicies(r)
	c.drawFaults(newRNG(seed, "faults"))
	c.drawClients(newRNG(seed, "clients"))
	c.drawRefunds(newRNG(seed, "refunds"))
	c.drawModes(newRNG(seed, "modes"))
	c.setQuiet()
	return c
}

// setQuiet makes the end long enough for everything to come right.
func (c *Config) setQuiet() {
	var longest time.Duration
	for _, p := range c.Policies {
		for i := range p {
			longest = max(longest, p[i].TTL)
		}
	}
	c.Quiet = 6*c.ElectionTTL + 4*longest + 6*time.Second
	for i := range c.Clients {
		if c.Clients[i].From == c.Duration {
			c.Clients[i].To = c.Duration + c.Quiet
		}
	}
}

// machine draws clocks within the drift.
func (c *Config) machine(r *rng) Machine {
	ρ := int64(c.Drift)
	m := Machine{Offset: r.span(0, 100*time.Hour), PPM: r.between(-ρ, ρ)}
	if r.n(2) == 0 {
		m.PPM = pick(r, -ρ, ρ)
	}
	m.Wall = r.span(-200*time.Millisecond, 200*time.Millisecond)
	return m
}

func (c *Config) drawRegions(r *rng) {
	names := []string{"us", "eu", "ap", "sa"}
	for i := range 1 + r.n(4) {
		for n := range 1 + r.n(5)/4 {
			c.Regions = append(c.Regions, Region{
				Machine: c.machine(r), Name: names[i], Node: strconv.Itoa(n + 1),
				Latency: r.span(time.Millisecond, 120*time.Millisecond), Jitter: r.span(0, 30*time.Millisecond), DataDir: r.n(2) == 0,
			})
		}
	}
}

func (c *Config) drawPolicies(r *rng) {
	quotas := 1 + r.n(2)
	first := make([]lease.Terms, 0, quotas)
	for i := range quotas {
		first = append(first, c.terms(r, "quota "+strconv.Itoa(i+1), r.n(4) == 0))
	}
	c.Policies = [][]lease.Terms{first}
	for range r.n(3) {
		var p []lease.Terms
		for i := range first {
			if len(first) > 1 && r.n(6) == 0 {
				continue // removed, for a time
			}
			p = append(p, c.vary(r, first[i]))
		}
		if len(p) > 0 {
			c.Policies = append(c.Policies, p)
		}
	}
}

// terms draws a small limit, so that boundaries are hit.
func (c *Config) terms(r *rng, name string, windowed bool) lease.Terms {
	t := lease.Terms{Quota: name, TTL: r.span(time.Second, 4*time.Second), FloorTTL: r.span(2*time.Second, 8*time.Second)}
	if r.n(2) == 0 {
		for i := range c.Regions {
			if n := c.Regions[i].Name; i == 0 || n != c.Regions[i-1].Name {
				t.Regions = append(t.Regions, lease.RegionTerms{Region: n, Weight: r.between(1, 4)})
			}
		}
		sortRegions(t.Regions)
	}
	if windowed {
		t.Windowed, t.Tokens = true, r.spread(300)
		t.Windows, _ = bucket.FixedWindows(pick(r, time.Second, 2*time.Second, 3*time.Second))
		c.drawFloors(newRNG(c.Seed, "floors of "+name), &t)
		return t
	}
	t.Per = pick(r, time.Second, time.Second, 100*time.Millisecond)
	t.Tokens = r.spread(1000)
	if t.Per < time.Second {
		t.Tokens = r.spread(100)
	}
	t.Burst = r.spread(200)
	c.drawFloors(r, &t)
	return t
}

// drawFloors divides a part of a limit among the regions' processes.
func (c *Config) drawFloors(r *rng, t *lease.Terms) {
	t.Floors = nil
	if r.n(2) == 0 {
		return
	}
	n := int64(len(c.Regions))
	part := pick[int64](r, 1, 2, 4) // the whole limit, a half, a quarter
	tokens, burst := t.Tokens/part/n, t.Burst/part/n
	if tokens == 0 || burst == 0 && !t.Windowed {
		return
	}
	for i := range c.Regions {
		t.Floors = append(t.Floors, lease.FloorTerms{Region: c.Regions[i].Name, Tokens: tokens, Burst: burst})
	}
}

// vary draws another limit for the same quota.
func (c *Config) vary(r *rng, t lease.Terms) lease.Terms {
	switch r.n(4) {
	case 0:
		t.Tokens = max(1, t.Tokens/2)
	case 1:
		t.Tokens *= 2
	case 2:
		t.TTL = r.span(time.Second, 4*time.Second)
	}
	if t.Windowed {
		c.varyFloors(newRNG(c.Seed, "varied floors of "+t.Quota), &t)
		return t
	}
	switch r.n(3) {
	case 0:
		t.Burst = max(1, t.Burst/3)
	case 1:
		t.Burst *= 2
	}
	c.varyFloors(r, &t)
	return t
}

func (c *Config) varyFloors(r *rng, t *lease.Terms) {
	if r.n(2) == 0 {
		c.drawFloors(r, t)
	} else {
		c.fitFloors(t)
	}
}

// fitFloors drops floors that are more than a smaller limit.
func (c *Config) fitFloors(t *lease.Terms) {
	var tokens, burst int64
	for i := range t.Floors {
		tokens += t.Floors[i].Tokens
		burst += t.Floors[i].Burst
	}
	if tokens > t.Tokens || burst > t.Burst && !t.Windowed {
		t.Floors = nil
	}
}

func sortRegions(list []lease.RegionTerms) {
	for i := range list {
		for j := i; j > 0 && list[j].Region < list[j-1].Region; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}
