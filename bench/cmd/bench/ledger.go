package main

import (
	"fmt"

	"github.com/a1009580/leasehold/bench/figures"
)

// memoryRows is about the bytes of keys.
func memoryRows() []figures.Row {
	const s = "memory, beside the key's own bytes"
	row := func(what, name, unit string, goal figures.Goal) figures.Row {
		return figures.Row{Section: s, What: what, Of: ref(name, unit), Goal: goal}
	}
	return []figures.Row{
		row("region, each key", "Region", "B/key", figures.Goal{AtMost: 100}),
		row("a map of x/time/rate, each key", "Rate", "B/key", figures.Goal{}),
		{Section: s, What: "region / a map of x/time/rate", Of: ref("Region", "B/key"), Over: refs("B/key", "Rate")},
		row("coordinator, each bucket with one holder", "Coordinator", "B/bucket", figures.Goal{AtMost: 100}),
		row("coordinator, each further holder", "Coordinator", "B/holder", figures.Goal{AtMost: 100}),
		row("heap after ten million keys came and went / before", "Soak", "ratio", figures.Goal{AtMost: 1.1}),
	}
}

// ledgerRows is about a coordinator.
func ledgerRows() []figures.Row {
	const (
		s    = "coordinator"
		core = "grants/core-s"
		each = "cpu-sec/grant"
	)
	row := func(what, name, unit string, goal figures.Goal) figures.Row {
		return figures.Row{Section: s, What: what, Of: ref(name, unit), Goal: goal}
	}
	return []figures.Row{
		row("grants a second and core, in memory", "GrantsInMemory", core, figures.Goal{AtLeast: 1e6}),
		row("grants a second and core, durable", "GrantsDurable", core, figures.Goal{AtLeast: 250e3}),
		row("grants a second, durable, by the wall", "GrantsDurable", "grants/s", figures.Goal{}),
		row("store transactions for a million admissions", "GrantsDurable", "txns/Madmissions", figures.Goal{}),
		row("stored bytes for a million admissions", "GrantsDurable", "B/Madmissions", figures.Goal{}),
		{
			Section: s, What: "a grant with a million buckets / with a thousand",
			Of: ref("Buckets/buckets=1000000", each), Over: refs(each, "Buckets/buckets=1000"),
		},
		{
			Section: s, What: "a grant with 490 regions / with 3 (linear: at most 163)",
			Of: ref("Regions/regions=490", each), Over: refs(each, "Regions/regions=3"), Goal: figures.Goal{AtMost: 490.0 / 3},
		},
		row("takeover of 100,000 buckets in etcd: the first grant", "Takeover", "first-sec", figures.Goal{}),
		row("takeover of 100,000 buckets in etcd: all in memory", "Takeover", "all-sec", figures.Goal{}),
	}
}

// ledgerCurves draws what buckets and regions cost.
func ledgerCurves() []curve {
	buckets := curve{name: "A grant, as buckets grow", x: "buckets", y: "processor time (s)", unit: "cpu-sec/grant"}
	for _, n := range []int{1000, 10_000, 100_000, 1_000_000} {
		buckets.at = append(buckets.at, at{float64(n), fmt.Sprintf("Buckets/buckets=%d", n)})
	}
	regions := curve{name: "A grant, as regions share the buckets", x: "regions", y: "processor time (s)", unit: "cpu-sec/grant"}
	for _, n := range []int{3, 10, 30, 100, 490} {
		regions.at = append(regions.at, at{float64(n), fmt.Sprintf("Regions/regions=%d", n)})
	}
	return []curve{buckets, regions}
}
