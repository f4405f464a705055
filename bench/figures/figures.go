// Package figures turns the output of benchmarks into ratios, and judges them
// by the goals that they are to meet.
//
// Every benchmark is run several times, all of them in turn, so that what
// happens on the machine meanwhile happens to all of them. A ratio is taken in
// each round by itself, and the figure is the median of the rounds.
package figures

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Ref names one measurement: of a benchmark by its full name without
// "Benchmark", on so many cores, in a unit of benchfmt ("sec/op", "B/op",
// "allocs/op", or the benchmark's own).
type Ref struct {
	Name  string
	Cores int
	Unit  string
}

// String returns the reference as a line of the JSON names it.
func (r Ref) String() string { return fmt.Sprintf("%s-%d %s", r.Name, r.Cores, r.Unit) }

// Results are the measurements of all rounds: one map a round.
type Results struct {
	rounds []map[Ref]float64
}

// Begin begins a round: what is added from now on belongs to it.
func (r *Results) Begin() { r.rounds = append(r.rounds, map[Ref]float64{}) }

// Read adds the output of one run of benchmarks to the last round. A
// measurement that is met again in a round replaces the one before.
func (r *Results) Read(name string, output io.Reader) error {
	if len(r.rounds) == 0 {
		r.Begin()
	}
	round := r.rounds[len(r.rounds)-1]
	reader := benchfmt.NewReader(output, name)
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return fmt.Errorf("%s: %w", name, rec)
		case *benchfmt.Result:
			base, cores := split(string(rec.Name.Full()))
			for _, v := range rec.Values {
				round[Ref{base, cores, v.Unit}] = v.Value
			}
		}
	}
	if err := reader.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// split takes the number of cores off a benchmark's name; it is left out for
// one core.
func split(full string) (name string, cores int) {
	i := strings.LastIndexByte(full, '-')
	if i < 0 {
		return full, 1
	}
	if _, err := fmt.Sscanf(full[i:], "-%d", &cores); err != nil || fmt.Sprintf("-%d", cores) != full[i:] {
		return full, 1
	}
	return full[:i], cores
}

// Refs returns all measurements that any round has, in order.
func (r *Results) Refs() []Ref {
	seen := map[Ref]bool{}
	var refs []Ref
	for _, round := range r.rounds {
		for ref := range round {
			if !seen[ref] {
				seen[ref] = true
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.String(), b.String()) })
	return refs
}

// Value returns the median of a measurement and how far the rounds went apart,
// and false when no round has it.
func (r *Results) Value(ref Ref) (Spread, bool) {
	return r.spread(func(round map[Ref]float64) (float64, bool) {
		v, ok := round[ref]
		return v, ok
	})
}

// Ratio returns the median, over the rounds, of one measurement divided by the
// best of others: the least, or with most the greatest. Those of others that a
// round does not have are left out; one that it needs is there or the round has
// no ratio.
func (r *Results) Ratio(of Ref, over []Ref, most bool) (Spread, bool) {
	return r.spread(func(round map[Ref]float64) (float64, bool) {
		v, ok := round[of]
		if !ok {
			return 0, false
		}
		best, found := 0.0, false
		for _, o := range over {
			w, ok := round[o]
			if ok && w > 0 && (!found || most && w > best || !most && w < best) {
				best, found = w, true
			}
		}
		if !found {
			return 0, false
		}
		return v / best, true
	})
}

// Spread is what several rounds measured.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	Rounds int     `json:"rounds"`
}

func (r *Results) spread(of func(map[Ref]float64) (float64, bool)) (Spread, bool) {
	var all []float64
	for _, round := range r.rounds {
		if v, ok := of(round); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return Spread{}, false
	}
	slices.Sort(all)
	n := len(all)
	return Spread{Median: (all[(n-1)/2] + all[n/2]) / 2, Least: all[0], Most: all[n-1], Rounds: n}, true
}
