package chaos

import "time"

// drawFaults draws the plan and the troubles of messages and calls.
func (c *Config) drawFaults(r *rng) {
	hard := 1 + r.n(3)
	if r.n(2) == 0 {
		c.Net = Net{
			Drop: pick(r, 0, 5*hard, 30*hard), Duplicate: pick(r, 0, 20*hard), Reorder: pick(r, 0, 20*hard),
			Late: pick(r, 0, 3*hard, 10*hard), MaxLate: r.span(500*time.Millisecond, 5*time.Second),
		}
	}
	if r.n(2) == 0 {
		c.Store = StoreFaults{
			Refuse: pick(r, 0, 20*hard), NoSpace: pick(r, 0, 10*hard), LostAnswer: pick(r, 0, 5*hard), LostCall: pick(r, 0, 5*hard),
			LateWrite: pick(r, 0, 5*hard), Slow: pick(r, 0, 50*hard), MaxSlow: r.span(50*time.Millisecond, 1500*time.Millisecond),
		}
	}
	for k := range lastAct {
		if k == WipeStore && r.n(4) > 0 || r.n(3) > 0 {
			continue
		}
		n := 1 + r.n(hard*2)
		if k == WipeStore || k == RestoreSnapshot {
			n = 1
			if k == RestoreSnapshot {
				c.plan(r, TakeSnapshot)
			}
		}
		for range n {
			c.plan(r, k)
		}
	}
	sortActs(c.Plan)
}

// plan adds one act.
func (c *Config) plan(r *rng, k Kind) {
	a := Act{At: r.span(0, c.Duration), Kind: k, Target: r.n(16), N: r.n(1000)}
	switch k {
	case StepWall:
		a.For = r.span(-300*time.Millisecond, 300*time.Millisecond)
	case PauseCoordinator, Cut, CutUp, CutDown, PauseRegion, IsolateCoordinator:
		a.For = pick(r, r.span(0, time.Second), r.span(0, 3*time.Second), r.span(0, 12*time.Second))
	case CrashCoordinator, StoreDown:
		a.For = r.span(10*time.Millisecond, 4*time.Second)
	default:
		a.For = pick(r, r.span(10*time.Millisecond, 300*time.Millisecond), r.span(0, 5*time.Second))
	}
	if a.Kind != StepWall {
		a.For = max(1, min(a.For, c.Duration-a.At))
	}
	c.Plan = append(c.Plan, a)
}

func sortActs(list []Act) {
	for i := range list {
		for j := i; j > 0 && list[j].At < list[j-1].At; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

// drawClients gives every region somebody who hammers, idles, drains slowly or
// comes in bursts, and at the end somebody who asks now and then.
func (c *Config) drawClients(r *rng) {
	quotas := len(c.Policies[0])
	for i := range c.Regions {
		for q := range quotas {
			if r.n(5) == 0 {
				continue
			}
			c.Clients = append(c.Clients, c.client(r, i, q))
		}
		for q := range quotas {
			for k := range c.Keys {
				c.Clients = append(c.Clients, Client{
					Region: i, Cells: []Cell{{q, k}}, From: c.Duration,
					Every: 277 * time.Millisecond, Burst: 1, MinCost: 1, MaxCost: 1,
				})
			}
		}
	}
}

func (c *Config) client(r *rng, region, quota int) Client {
	t := &c.Policies[0][quota]
	k := Client{
		Region: region, Cells: []Cell{{quota, r.n(c.Keys)}}, From: r.span(0, c.Duration/4), To: c.Duration - r.span(0, c.Duration/4),
		Burst: 1, MinCost: 1, MaxCost: 1,
	}
	if len(c.Policies[0]) > 1 && r.n(3) == 0 {
		k.Cells = append(k.Cells, Cell{1 - quota, r.n(c.Keys)})
	}
	perSecond := t.Tokens
	if !t.Windowed && t.Per < time.Second {
		perSecond = t.Tokens * int64(time.Second/t.Per)
	}
	k.MaxCost = max(1, perSecond/100)
	switch r.n(6) {
	case 0, 1: // hammers: more than the limit
		k.Every = max(5*time.Millisecond, time.Second*time.Duration(k.MaxCost)/time.Duration(2*perSecond))
	case 2: // drains slowly
		k.Every = r.span(100*time.Millisecond, 900*time.Millisecond)
	case 3: // bursts
		k.Every, k.Burst = r.span(300*time.Millisecond, 3*time.Second), 1+r.n(40)
	case 4: // many wait at once
		k.Every, k.Burst, k.Wait = r.span(200*time.Millisecond, 2*time.Second), 1+r.n(20), r.span(50*time.Millisecond, 2*time.Second)
	default: // odd costs: nothing, all, more than there can be
		k.Every, k.MinCost, k.MaxCost = r.span(50*time.Millisecond, 500*time.Millisecond), 0, max(t.Burst, t.Tokens/4)+2
	}
	return k
}
