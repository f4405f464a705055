package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/a1009580/leasehold/bench/figures"
)

// suite is the benchmarks of one package, and what is made of their results.
type suite struct {
	name   string
	of     string // the package, if it is not named so
	bench  string // which benchmarks
	cpu    string
	time   string // for each benchmark in each round
	rounds int    // the most; 0 is all
	rows   []figures.Row
	curves []curve
}

// suites are all of them, in the order of the table.
func suites() []suite {
	return []suite{
		{name: "local", bench: "Hot", cpu: "1,2", time: "200ms", rows: localRows()},
		{name: "keys", of: "local", bench: "Zipf", cpu: "1,2", time: "300ms", rounds: 3, rows: keysRows()},
		{name: "wire", bench: "Check|Redis|Gubernator", cpu: "2", time: "500ms", rows: wireRows()},
		{name: "latency", of: "wire", bench: "Latency", cpu: "2", time: once, rounds: 3, rows: latencyRows()},
		{name: "isolation", bench: ".", cpu: "2", time: once, rows: isolationRows()},
		{name: "memory", bench: ".", cpu: "1", time: once, rounds: 1, rows: memoryRows()},
		{name: "ledger", bench: ".", cpu: "1", time: once, rounds: 3, rows: ledgerRows(), curves: ledgerCurves()},
	}
}

// path is the import path of the suite's package.
func (s *suite) path() string {
	if s.of != "" {
		return module + "/" + s.of
	}
	return module + "/" + s.name
}

// choose returns the suites of these names, all if there are none.
func choose(only string) ([]suite, error) {
	all := suites()
	if only == "" {
		return all, nil
	}
	var chosen []suite
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(s suite) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no suite %q; there are %s", name, strings.Join(names(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func names() []string {
	var n []string
	for _, s := range suites() {
		n = append(n, s.name)
	}
	return n
}

// curve draws one measurement of several benchmarks against what they vary.
type curve struct {
	name, x, y string
	unit       string
	at         []at
}

// at is the benchmark for one value of x.
type at struct {
	x    float64
	name string
}

// draw returns the curve of what was measured.
func (c *curve) draw(r *figures.Results) figures.Curve {
	out := figures.Curve{Name: c.name, X: c.x, Y: c.y}
	for _, a := range c.at {
		if v, ok := r.Value(figures.Ref{Name: a.name, Cores: 1, Unit: c.unit}); ok && v.Median > 0 {
			out.Points = append(out.Points, figures.Point{X: a.x, Y: v.Median})
		}
	}
	return out
}

// The units of the testing package, as benchfmt tidies them.
const (
	wall   = "sec/op"
	allocs = "allocs/op"
)

// ref names a measurement on one core.
func ref(name, unit string) figures.Ref { return figures.Ref{Name: name, Cores: 1, Unit: unit} }

// refs names one measurement of several benchmarks.
func refs(unit string, names ...string) []figures.Ref {
	var r []figures.Ref
	for _, n := range names {
		r = append(r, ref(n, unit))
	}
	return r
}

// once is the time of suites whose benchmarks decide for themselves how much
// they do.
const once = "1x"
