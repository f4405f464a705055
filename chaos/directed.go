package chaos

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// Directed schedules lead to places where chance seldom goes. Each is a family:
// its moments are drawn, so that one of a few hundred hits the spot.
var directed = []struct {
	name string
	draw func(c *Config, r *rng)
}{
	{"two leaders", twoLeaders},
	{"four failovers in a row", manyFailovers},
	{"leases shortened, then a failover", shortened},
	{"a burst out of a full lease", fullLease},
	{"a store restored under a cut-off region", restored},
	{"windows under wandering wall clocks", wandering},
	{"messages of old sessions", oldMessages},
	{"handbacks that arrive late", lateHandbacks},
	{"floors of windows under leaders whose clocks are apart", clocksApart},
	{"the owner of a floor cut off", ownerCutOff},
	{"a link that flaps under a fallback", flapping},
	{"several nodes cut off, one restarts", nodesCutOff},
	{"nobody leads for a while", nobodyLeads},
}

// Directed draws one of a family of directed schedules.
func Directed(name string, seed uint64) *Config {
	r := newRNG(seed, name)
	for _, d := range directed {
		if d.name == name {
			c := scene(r)
			c.Seed = seed
			d.draw(c, r)
			sortActs(c.Plan)
			c.setQuiet()
			return c
		}
	}
	panic(fmt.Sprintf("chaos: no directed schedule is called %q", name))
}

// scene is a world where nothing fails yet: two coordinators, of which the first
// leads, and two regions that hammer one bucket.
func scene(r *rng) *Config {
	c := &Config{
		Duration: 20 * time.Second, Drift: 1000, ElectionTTL: 2 * time.Second, ReportInterval: 100 * time.Millisecond,
		LedgerTick: 10 * time.Millisecond, Keys: 1, Scan: r.n(2) == 0,
		Coordinators: []Machine{{PPM: 1000}, {PPM: 1000, Offset: time.Hour}},
		Regions: []Region{
			{Name: "us", Node: "1", Latency: r.span(time.Millisecond, 60*time.Millisecond), Machine: Machine{PPM: -1000, Offset: time.Minute}},
			{Name: "eu", Node: "1", Latency: r.span(time.Millisecond, 60*time.Millisecond), Machine: Machine{PPM: -1000, Offset: 2 * time.Minute}},
		},
		Policies: [][]lease.Terms{{{
			Quota: "quota 1", Tokens: r.between(20, 100), Per: time.Second, Burst: r.between(100, 400), TTL: 4 * time.Second, FloorTTL: 6 * time.Second,
		}}},
	}
	c.probe()
	return c
}

func (c *Config) act(at time.Duration, k Kind, target int, d time.Duration) {
	c.Plan = append(c.Plan, Act{At: at, Kind: k, Target: target, For: d, N: 1})
}

// ask adds a client of a region.
func (c *Config) ask(region int, from, to, every time.Duration, cost int64) {
	c.Clients = append(c.Clients, Client{
		Region: region, Cells: []Cell{{0, 0}}, From: from, To: to, Every: every, Burst: 1, MinCost: cost, MaxCost: cost,
	})
}

// twoLeaders: the leader is cut off from the store and its key is deleted. It
// goes on until its own clock tells it to stop; one region stays with it to the
// end, and then speaks to nobody while its lease lasts.
func twoLeaders(c *Config, r *rng) {
	at := r.span(4*time.Second, 6*time.Second)
	c.ask(0, 0, at+r.span(0, 2*time.Second), 50*time.Millisecond, 1)
	c.ask(1, time.Second, 18*time.Second, 20*time.Millisecond, 2)
	c.act(at, IsolateCoordinator, 0, 10*time.Second)
	c.act(at+r.span(0, 100*time.Millisecond), DeleteKey, 0, 0)
	c.act(at+r.span(500*time.Millisecond, 1500*time.Millisecond), BreakStream, 1, 0)
	c.act(at+r.span(1500*time.Millisecond, 2100*time.Millisecond), Cut, 0, 10*time.Second)
}

// manyFailovers: the key is deleted again and again, while a region that has
// more than any record says is cut off.
func manyFailovers(c *Config, r *rng) {
	at := r.span(4*time.Second, 6*time.Second)
	for i := range c.Policies[0] {
		c.Policies[0][i].TTL = 8 * time.Second
	}
	c.ask(0, 0, at, 50*time.Millisecond, 1)
	c.ask(1, at, 18*time.Second, 10*time.Millisecond, 2)
	c.act(at+r.span(0, 300*time.Millisecond), Cut, 0, 7*time.Second)
	for range 4 {
		at += r.span(200*time.Millisecond, 800*time.Millisecond)
		c.act(at, DeleteKey, 0, 0)
	}
}

// shortened: a policy with shorter leases comes, then another leader, while a
// region is cut off with a lease of the older, longer kind.
func shortened(c *Config, r *rng) {
	at := r.span(4*time.Second, 6*time.Second)
	next := c.Policies[0][0]
	c.Policies[0][0].TTL = 10 * time.Second
	next.TTL = time.Second
	c.Policies = append(c.Policies, []lease.Terms{next})
	c.ask(0, 0, at, 50*time.Millisecond, 1)
	c.ask(1, at, 18*time.Second, 10*time.Millisecond, 2)
	c.act(at+50*time.Millisecond, Cut, 0, 12*time.Second)
	c.act(at+r.span(100*time.Millisecond, 300*time.Millisecond), ChangePolicy, 0, 0)
	c.act(at+r.span(time.Second, 2*time.Second), DeleteKey, 0, 0)
}

// fullLease: all that a bucket can hold is leased and idle, so that nothing comes
// in; then it is spent at once.
func fullLease(c *Config, r *rng) {
	t := &c.Policies[0][0]
	t.Tokens, t.Burst = r.between(500, 1000), r.between(20, 100)
	c.LedgerTick = r.span(50*time.Millisecond, 500*time.Millisecond)
	c.ReportInterval = 50 * time.Millisecond
	c.Regions = c.Regions[:1]
	c.Clients = c.Clients[:1]
	c.Clients = append(c.Clients, Client{
		Region: 0, Cells: []Cell{{0, 0}}, To: 18 * time.Second, Every: r.span(200*time.Millisecond, 900*time.Millisecond), Burst: int(t.Burst), MinCost: 1, MaxCost: 1,
	})
}

// restored: a copy is put in the place of the store while a region that has a
// lease is cut off; it spends it at the last moment.
func restored(c *Config, r *rng) {
	at := r.span(4*time.Second, 6*time.Second)
	t := &c.Policies[0][0]
	t.Burst = r.between(20, 60)
	c.ask(0, 0, at, 50*time.Millisecond, 1)
	c.Clients = append(c.Clients, Client{
		Region: 0, Cells: []Cell{{0, 0}}, From: at + r.span(2*time.Second, 4*time.Second), To: at + 5*time.Second, Every: 10 * time.Millisecond, Burst: 10, MinCost: 1, MaxCost: 1,
	})
	c.ask(1, time.Second, 18*time.Second, 20*time.Millisecond, 2)
	c.act(at-r.span(time.Second, 2*time.Second), TakeSnapshot, 0, 0)
	c.act(at, Cut, 0, 6*time.Second)
	c.act(at+r.span(0, 300*time.Millisecond), RestoreSnapshot, 0, 0)
}

// wandering: the wall clocks of both coordinators go forth and back over the
// boundaries of short windows, and the leaders change.
func wandering(c *Config, r *rng) {
	t := &c.Policies[0][0]
	t.Windowed, t.Per, t.Burst, t.Tokens = true, 0, 0, r.between(5, 40)
	t.Windows, _ = bucket.FixedWindows(time.Second)
	c.ask(0, 0, 18*time.Second, 20*time.Millisecond, 1)
	c.ask(1, 0, 18*time.Second, 20*time.Millisecond, 1)
	for i := range 16 {
		c.act(time.Duration(i+2)*time.Second+r.span(0, time.Second), StepWall, r.n(2), r.span(-700*time.Millisecond, 700*time.Millisecond))
	}
	for range 4 {
		c.act(r.span(2*time.Second, 18*time.Second), DeleteKey, 0, 0)
	}
}

// oldMessages: streams break all the time, and what was sent on them arrives
// long after.
func oldMessages(c *Config, r *rng) {
	c.Net = Net{Late: 150, Duplicate: 100, MaxLate: 1500 * time.Millisecond}
	c.ask(0, 0, 18*time.Second, 60*time.Millisecond, 1)
	c.ask(1, 0, 18*time.Second, 60*time.Millisecond, 1)
	for i := range 32 {
		c.act(time.Second+time.Duration(i)*500*time.Millisecond+r.span(0, 400*time.Millisecond), BreakStream, i, 0)
	}
}

// lateHandbacks: one region hammers, so that the idle floor of the other is asked
// for, but what that one hands back does not arrive until the hammering one has
// rested for a while and comes back.
func lateHandbacks(c *Config, r *rng) {
	t := &c.Policies[0][0]
	t.Tokens = r.between(30, 60)
	t.Burst, t.FloorTTL = t.Tokens, 30*time.Second
	for _, name := range []string{"us", "eu"} {
		t.Floors = append(t.Floors, lease.FloorTerms{Region: name, Tokens: t.Tokens * 3 / 10, Burst: t.Burst * 3 / 10})
	}
	rest, back := r.span(4500*time.Millisecond, 5500*time.Millisecond), r.span(6*time.Second, 7*time.Second)
	c.ask(0, 2*time.Second, rest, 20*time.Millisecond, 1)
	c.act(r.span(2500*time.Millisecond, 3500*time.Millisecond), CutUp, 1, 0)
	c.Plan[len(c.Plan)-1].For = back + r.span(0, 300*time.Millisecond) - c.Plan[len(c.Plan)-1].At
	c.ask(0, back, 12*time.Second, 10*time.Millisecond, 1)
	c.Clients = append(c.Clients, Client{
		Region: 1, Cells: []Cell{{0, 0}}, From: back + r.span(0, 500*time.Millisecond), To: 12 * time.Second,
		Every: 500 * time.Millisecond, Burst: int(t.Burst), MinCost: 1, MaxCost: 1,
	})
}

// ownerCutOff: a region of two processes has one floor, and its owner is cut off
// and goes on spending from it while the other would like to have it.
func ownerCutOff(c *Config, r *rng) {
	t := &c.Policies[0][0]
	t.FloorTTL = r.span(6*time.Second, 9*time.Second)
	t.Floors = []lease.FloorTerms{{Region: "us", Tokens: t.Tokens / 4, Burst: t.Burst / 4}}
	c.Regions = append(c.Regions, c.Regions[0])
	c.Regions[2].Node, c.Regions[2].Offset = "2", 3*time.Minute
	c.Clients = nil
	c.probe()
	for i := range c.Regions {
		c.ask(i, time.Second, 18*time.Second, 20*ms, 1)
	}
	at := r.span(3*time.Second, 5*time.Second)
	c.act(at, Cut, 0, 9*time.Second)
	c.act(at, Cut, 2, r.span(0, time.Second))
}
