package diff

import (
	"time"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// What a time may grow by besides the tolerance.
const (
	latencySlack  = time.Millisecond
	recoverySlack = 100 * time.Millisecond
)

// latencies compares those of all regions together, by phase.
func (c *comparer) latencies(before, after []result.Latency) {
	type key struct{ phase, region string }
	later := map[key]result.Latency{}
	for _, b := range after {
		later[key{b.Phase, b.Region}] = b
	}
	for _, a := range before {
		b, ok := later[key{a.Phase, a.Region}]
		if a.Region != "" || a.Requests == 0 {
			continue
		}
		if !ok || b.Requests == 0 {
			c.add(Worse, "latency in "+a.Phase, "measured", gone)
			continue
		}
		for _, p := range []struct {
			name string
			x, y float64
		}{{"p50", a.P50, b.P50}, {"p99", a.P99, b.P99}, {"p99.9", a.P999, b.P999}} {
			c.timed("latency "+p.name+" in "+a.Phase, p.x, p.y, latencySlack)
		}
	}
}

// timed adds a time that changed by more than is tolerated.
func (c *comparer) timed(what string, before, after float64, slack time.Duration) {
	grew := func(from, to float64) bool { return to > from*(1+c.tolerance)+slack.Seconds() }
	var kind Kind
	switch {
	case grew(before, after):
		kind = Worse
	case grew(after, before):
		kind = Better
	default:
		return
	}
	if c.untimed {
		kind = Changed
	}
	c.add(kind, what, duration(before), duration(after))
}

func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// recoveries compares how long it took until all was well.
func (c *comparer) recoveries(before, after []result.Recovery) {
	later := byName(after, func(x *result.Recovery) string { return x.Name })
	for _, a := range before {
		what := "time to " + a.Name
		b := later[a.Name]
		switch {
		case b == nil:
			c.add(Worse, what, recovered(a.Seconds), gone)
		case a.Seconds == nil && b.Seconds != nil:
			c.add(Better, what, recovered(a.Seconds), recovered(b.Seconds))
		case a.Seconds != nil && b.Seconds == nil:
			c.add(Worse, what, recovered(a.Seconds), recovered(b.Seconds))
		case a.Seconds != nil:
			c.timed(what, *a.Seconds, *b.Seconds, recoverySlack)
		}
	}
}

func recovered(seconds *float64) string {
	if seconds == nil {
		return "not before the end"
	}
	return duration(*seconds)
}
