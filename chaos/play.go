package chaos

import (
	"fmt"
	"strings"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// play is a scripted run that is told line by line: what testdata holds.
type play struct {
	name     string
	preamble string
	script   func(c *Config)
}

// stage is what every play begins with: 2 tokens a second, a burst of 20, leases
// of 4 s, two coordinators and two regions 10 ms away, and nobody who asks.
func stage() *Config {
	return &Config{
		Seed: 1, Duration: 10 * time.Second, Drift: 1000, ElectionTTL: 2 * time.Second, ReportInterval: 500 * time.Millisecond,
		LedgerTick: 50 * time.Millisecond, Keys: 1, Detail: true, Simple: true,
		Coordinators: []Machine{{}, {Offset: time.Hour}},
		Regions: []Region{
			{Name: "us", Node: "1", Latency: 10 * time.Millisecond, Machine: Machine{Offset: time.Minute}},
			{Name: "eu", Node: "1", Latency: 10 * time.Millisecond, Machine: Machine{Offset: 2 * time.Minute}},
		},
		Policies: [][]lease.Terms{{{Quota: "q", Tokens: 2, Per: time.Second, Burst: 20, TTL: 4 * time.Second, FloorTTL: 5 * time.Second}}},
	}
}

// once has a region be asked for tokens at these moments.
func (c *Config) once(region int, cost int64, at ...time.Duration) {
	for _, t := range at {
		c.ask(region, t, t+1, time.Second, cost)
	}
}

const ms = time.Millisecond

var plays = []play{
	{"lost_grant", "The grant that answers us is lost on its way: us denies, reports again, and the next grant,\nbeing absolute, brings what the lost one would have.", func(c *Config) {
		c.once(0, 3, 1000*ms, 1200*ms, 2600*ms, 4500*ms)
		c.act(1005*ms, CutDown, 0, 600*ms)
	}},
	{"return_races_expiry", "us has a lease and no use for it. It gives back before the deadline, but nobody hears of it in\ntime: the tokens were destroyed when the lease ended, and are not credited again.", func(c *Config) {
		c.once(0, 3, 1000*ms, 1200*ms)
		c.once(1, 15, 6500*ms, 7500*ms)
		c.act(2000*ms, CutUp, 0, 5*time.Second)
	}},
	{"two_leaders", "Coordinator 1 is cut off from the store, and its key is deleted: it cannot know that it leads no\nmore. What it still grants comes from what it had set aside, and its successor counts that as leased.", func(c *Config) {
		c.once(0, 2, 1000*ms, 1200*ms, 3500*ms, 4000*ms, 5000*ms)
		c.once(1, 2, 1000*ms, 4500*ms, 5000*ms, 6000*ms)
		c.act(3000*ms, IsolateCoordinator, 0, 6*time.Second)
		c.act(3050*ms, DeleteKey, 0, 0)
		c.act(3100*ms, BreakStream, 1, 0)
	}},
	{"suspended_past_a_deadline", "us is suspended while it has a lease. Its clock counted the time, so that what it had is gone when\nit goes on, and by then eu may have it.", func(c *Config) {
		c.once(0, 3, 1000*ms, 1200*ms)
		c.once(1, 12, 6900*ms, 7200*ms)
		c.Clients = append(c.Clients, Client{Region: 0, Cells: []Cell{{0, 0}}, From: 8200 * ms, To: 8201 * ms, Every: time.Second, Burst: 1, MinCost: 1, MaxCost: 1})
		c.act(2000*ms, PauseRegion, 0, 6*time.Second)
	}},
	{"window_rolls_while_cut_off", "A quota of 10 in each window of 3 s. us is cut off over the end of the window: what it had leased\nin it ends with it, and counts in no other.", func(c *Config) {
		t := &c.Policies[0][0]
		t.Windowed, t.Tokens, t.Per, t.Burst = true, 10, 0, 0
		t.Windows, _ = bucket.FixedWindows(3 * time.Second)
		c.once(0, 3, 1000*ms, 1200*ms, 2500*ms, 3500*ms, 8000*ms, 8300*ms)
		c.once(1, 5, 4000*ms, 4300*ms)
		c.act(1500*ms, Cut, 0, 4*time.Second)
	}},
	{"limit_lowered_under_leases", "The burst is lowered from 20 to 5 while more than that is leased. Nothing is renewed until less is\nleased than the new limit allows, and what comes back above it is destroyed.", func(c *Config) {
		next := c.Policies[0][0]
		next.Burst = 5
		c.Policies = append(c.Policies, []lease.Terms{next})
		c.once(0, 6, 1000*ms, 1200*ms, 3400*ms)
		c.once(1, 6, 1000*ms, 1200*ms)
		c.Plan = append(c.Plan, Act{At: 2 * time.Second, Kind: ChangePolicy, N: 1})
	}},
	{"raise_adds_room", "The floor of us is the whole limit, and us has just spent it when a policy without floors comes. The\ncoordinator never heard of the bucket before; it is born empty, as the floor left it.", func(c *Config) {
		next := c.Policies[0][0]
		c.Policies[0][0].Floors = []lease.FloorTerms{{Region: "us", Tokens: 2, Burst: 20}}
		c.Policies = append(c.Policies, []lease.Terms{next})
		c.once(0, 8, 5900*ms, 7000*ms, 7500*ms, 9500*ms)
		c.Plan = append(c.Plan, Act{At: 6 * time.Second, Kind: ChangePolicy, N: 1})
	}},
	{"floor_reassigned", "us owns its region's floor and crashes. The process that comes after it is another holder: it is\ngiven the floor only when the lease of the old one has surely ended, and starts with nothing in it.", func(c *Config) {
		c.Policies[0][0].Floors = []lease.FloorTerms{{Region: "us", Tokens: 1, Burst: 10}}
		c.Duration = 14 * time.Second
		c.once(0, 1, 3000*ms, 12000*ms)
		c.act(4000*ms, CrashRegion, 0, 500*ms)
	}},
	{"failover_with_claims", "The leader crashes while us and eu have leases. Its successor counts what the record says and what was\nset aside as leased, and both regions claim what they have.", func(c *Config) {
		c.once(0, 3, 1000*ms, 1200*ms, 3000*ms, 7000*ms)
		c.once(1, 2, 1000*ms, 1300*ms, 7000*ms)
		c.act(2500*ms, CrashCoordinator, 0, 6*time.Second)
	}},
	{"four_failovers", "The leader's key is deleted four times in four seconds while us, which has a lease, is cut off. No leader\nforgets it.", func(c *Config) {
		c.Policies[0][0].TTL = 8 * time.Second
		c.once(0, 3, 1000*ms, 1200*ms, 7500*ms)
		c.once(1, 4, 2500*ms, 3500*ms, 4500*ms, 5500*ms, 6500*ms)
		c.act(1800*ms, Cut, 0, 5*time.Second)
		for i := range 4 {
			c.act(time.Duration(2000+1000*i)*ms, DeleteKey, 0, 0)
		}
	}},
	{"restored_snapshot", "Somebody puts an old copy in the place of the store. The first region that comes back has seen more than\nthe copy: a new history begins, and nothing is granted before the last lease has ended.", func(c *Config) {
		c.Duration = 14 * time.Second
		c.once(0, 3, 1000*ms, 1200*ms, 5000*ms, 12500*ms, 13200*ms)
		c.once(1, 3, 1500*ms, 2200*ms)
		c.act(500*ms, TakeSnapshot, 0, 0)
		c.act(3000*ms, RestoreSnapshot, 0, 0)
	}},
	{"fallback_while_cut_off", "us may spend 1 a second with a burst of 2, for 4 s, while it is cut off. It does so when the cut was\nnoticed and its lease is used up, and leaves it before it renews; what it spent so is told afterwards.", func(c *Config) {
		c.Duration = 20 * time.Second
		c.Policies[0][0].Unreserved = lease.Unreserved{Rate: bucket.Rate{Tokens: 1, Per: time.Second}, Burst: 2, For: 4 * time.Second}
		c.once(0, 3, 1000*ms, 1200*ms)
		c.once(0, 2, 6100*ms, 6200*ms, 7300*ms, 8500*ms, 10500*ms, 13500*ms)
		c.act(3000*ms, Cut, 0, 9*time.Second)
	}},
	{"link_flaps_in_one_cut", "The link of us comes back for a moment and breaks again. That is one cut: the burst that it spent at\nfirst does not begin anew.", func(c *Config) {
		c.Duration = 20 * time.Second
		c.Policies[0][0].Unreserved = lease.Unreserved{Rate: bucket.Rate{Tokens: 1, Per: 10 * time.Second}, Burst: 3, For: 10 * time.Second}
		c.once(0, 3, 5500*ms)
		c.once(0, 1, 12900*ms)
		c.act(2000*ms, Cut, 0, 4*time.Second)
		c.act(9000*ms, Cut, 0, 7*time.Second)
	}},
	{"large_cost_collected", "us is asked for 16 at once while eu has some that it does not use: eu is asked to give back, and us is\ngranted the whole cost when it is there.", func(c *Config) {
		c.once(1, 3, 1000*ms, 1300*ms)
		c.once(0, 16, 2000*ms, 2600*ms, 3600*ms)
	}},
}

// perform plays a play and writes it down.
func (p *play) perform() (string, error) {
	c := stage()
	p.script(c)
	sortActs(c.Plan)
	w := newWorld(c, true)
	w.run(c.Duration)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", p.preamble)
	last := ""
	for _, line := range w.story {
		if _, text, _ := strings.Cut(line, "s  "); text != last {
			fmt.Fprintln(&b, strings.TrimRight(line, " "))
			last = text
		}
	}
	fmt.Fprintln(&b)
	for _, k := range w.cuts {
		for i, n := range k.spent {
			if n > 0 {
				fmt.Fprintf(&b, "%s spent %d of %s unreserved in cut %d.\n", k.region.name, n, w.ids[i].Quota, k.number)
			}
		}
	}
	for i := range w.ids {
		if c := w.newest; c != nil && c.ledger != nil {
			if v, ok := c.ledger.View(w.ids[i]); ok {
				fmt.Fprintf(&b, "At the end %s has %d in the pool, %d set aside, and counts %d as leased; %d were admitted.\n",
					c.name, v.Pool, v.Chunk+v.Pending, v.Outstanding, w.bounds[i].total)
				continue
			}
		}
		fmt.Fprintf(&b, "At the end nobody has the books open; %d were admitted.\n", w.bounds[i].total)
	}
	return b.String(), w.failure
}
