package main

import (
	"github.com/a1009580/leasehold/bench/figures"
	"github.com/a1009580/leasehold/bench/world"
)

// timed is a row about the processor time of a decision, alone or beside others.
func timed(section, what, name string, over []string, goal figures.Goal) figures.Row {
	return figures.Row{Section: section, What: what, Of: ref(name, world.CPU), Over: refs(world.CPU, over...), Goal: goal}
}

// twoCores is a row about what a second core brings: the time for one decision
// when two cores decide, beside when one does. It goes by the clock on the wall:
// processor time would say nothing when the two did not run at the same moment.
func twoCores(section, what, name string) figures.Row {
	return figures.Row{
		Section: section, What: what + ", two cores / one core", Goal: figures.Goal{AtMost: 1},
		Of: figures.Ref{Name: name, Cores: 2, Unit: wall}, Over: refs(wall, name),
	}
}

// noAllocations is a row about the garbage of a decision.
func noAllocations(section, what, name string) figures.Row {
	return figures.Row{Section: section, What: what + ", allocations", Of: ref(name, allocs), Goal: figures.Goal{Zero: true}}
}

// localRows is about decisions in the process that asks, of one key.
func localRows() []figures.Row {
	const s = "local decision, one hot key"
	none := figures.Goal{}
	return []figures.Row{
		timed(s, "the floor: a clock read and an atomic add", "HotFloor", nil, none),
		timed(s, "Handle.Allow", "HotHandle", nil, none),
		timed(s, "Handle.Allow / the floor", "HotHandle", []string{"HotFloor"}, figures.Goal{AtMost: 1.3}),
		timed(s, "Handle.Allow / x/time/rate", "HotHandle", []string{"HotRate"}, figures.Goal{AtMost: 0.5}),
		timed(s, "Handle.Allow / sethvargo/go-limiter", "HotHandle", []string{"HotSethvargo"}, none),
		timed(s, "Handle.Allow / uber-go/ratelimit", "HotHandle", []string{"HotUber"}, none),
		twoCores(s, "Handle.Allow", "HotHandle"),
		noAllocations(s, "Handle.Allow", "HotHandle"),
		timed(s, "AllowN", "HotAllowN", nil, none),
		timed(s, "AllowN / sethvargo/go-limiter", "HotAllowN", []string{"HotSethvargo"}, none),
		twoCores(s, "AllowN", "HotAllowN"),
		noAllocations(s, "AllowN", "HotAllowN"),
		timed(s, "Allow", "HotAllow", nil, none),
		timed(s, "AllowBatch, each decision", "HotBatch", nil, none),
	}
}

// keysRows is about the same of a million keys.
func keysRows() []figures.Row {
	const s = "local decision, a million keys by zipf"
	none := figures.Goal{}
	return []figures.Row{
		timed(s, "AllowN", "ZipfAllowN", nil, none),
		timed(s, "AllowN / a map of x/time/rate", "ZipfAllowN", []string{"ZipfRate"}, none),
		timed(s, "AllowN / sethvargo/go-limiter", "ZipfAllowN", []string{"ZipfSethvargo"}, none),
		timed(s, "AllowN / a map of uber-go/ratelimit", "ZipfAllowN", []string{"ZipfUber"}, none),
		twoCores(s, "AllowN, a million keys", "ZipfAllowN"),
		noAllocations(s, "AllowN, a million keys", "ZipfAllowN"),
		timed(s, "AllowBatch, each decision", "ZipfBatch", nil, none),
	}
}
