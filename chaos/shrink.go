package chaos

import (
	"slices"
	"strings"
)

// Shrink makes a failing run as small as it can: it takes away kinds of
// trouble, then single acts, clients and regions, as long as the run still
// breaks the same law. What it returns is the smallest run it found.
func Shrink(cfg *Config) (*Config, Result) {
	best := *cfg
	res := Play(&best, false)
	if res.Failure == nil {
		return cfg, res
	}
	law := lawOf(res.Failure)
	try := func(change func(c *Config)) bool {
		c := best
		c.Plan, c.Clients = slices.Clone(best.Plan), slices.Clone(best.Clients)
		change(&c)
		r := Play(&c, false)
		if r.Failure == nil || lawOf(r.Failure) != law {
			return false
		}
		best, res = c, r
		return true
	}
	for again := true; again; {
		again = false
		if best.Net != (Net{}) {
			again = try(func(c *Config) { c.Net = Net{} }) || again
			for _, f := range []func(n *Net){
				func(n *Net) { n.Drop = 0 }, func(n *Net) { n.Duplicate = 0 }, func(n *Net) { n.Reorder = 0 }, func(n *Net) { n.Late = 0 },
			} {
				before := best.Net
				if f(&before); before != best.Net {
					again = try(func(c *Config) { f(&c.Net) }) || again
				}
			}
		}
		if best.Store != (StoreFaults{}) {
			again = try(func(c *Config) { c.Store = StoreFaults{} }) || again
		}
		for k := range lastAct {
			if slices.ContainsFunc(best.Plan, func(a Act) bool { return a.Kind == k }) {
				again = try(func(c *Config) {
					c.Plan = slices.DeleteFunc(c.Plan, func(a Act) bool { return a.Kind == k })
				}) || again
			}
		}
		for i := len(best.Plan) - 1; i >= 0; i-- {
			again = try(func(c *Config) { c.Plan = slices.Delete(c.Plan, i, i+1) }) || again
		}
		for i := len(best.Clients) - 1; i >= 0; i-- {
			if best.Clients[i].From < best.Duration || len(best.Clients) > 1 && !strings.HasPrefix(law, "liveness") {
				again = try(func(c *Config) { c.Clients = slices.Delete(c.Clients, i, i+1) }) || again
			}
		}
		if best.Wild {
			again = try(func(c *Config) { c.Wild = false }) || again
		}
		if n := len(best.Coordinators); n > 1 {
			again = try(func(c *Config) { c.Coordinators = c.Coordinators[:n-1] }) || again
		}
		if r := best.Regions; len(r) > 1 {
			again = try(func(c *Config) {
				c.Regions = r[:len(r)-1]
				c.Clients = slices.DeleteFunc(c.Clients, func(k Client) bool { return k.Region == len(r)-1 })
			}) || again
		}
	}
	return &best, Play(&best, true)
}

// lawOf is the beginning of a failure's text: which law it is about.
func lawOf(err error) string {
	s := err.Error()
	if i := strings.Index(s, "law "); i >= 0 {
		s = s[i:]
	}
	head, _, _ := strings.Cut(s, ":")
	return head
}
