package report

import (
	"fmt"
	"math"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Heights of the figure of latencies, in pixels.
const (
	latencyRow  = 34
	latencyAxis = 24
)

// latencies is the figure of how long decisions took, by phase.
type latencies struct {
	Alt    string
	Height int
	AxisAt int
	Ticks  []tick
	Rows   []latencyLine
}

type latencyLine struct {
	Phase               string
	NameAt, At          int
	P50, P99, P999, Max pc
}

// newLatencies draws those of all regions together.
func newLatencies(r *result.Result) latencies {
	var all []result.Latency
	least, most := math.Inf(1), 0.0
	for _, l := range r.Latencies {
		if l.Region != "" || l.Requests == 0 {
			continue
		}
		all = append(all, l)
		least, most = min(least, l.P50), max(most, l.Max, l.P999)
	}
	out := latencies{
		Alt:    fmt.Sprintf("Median, 99th and 99.9th percentile and maximum of decision latency in %s, on a logarithmic scale.", plural(int64(len(all)), "phase")),
		Height: latencyRow*len(all) + latencyAxis, AxisAt: latencyRow * len(all),
	}
	if len(all) == 0 {
		return out
	}
	from := math.Pow(10, math.Floor(math.Log10(max(least, 1e-7))))
	to := math.Pow(10, math.Ceil(math.Log10(max(most, from*10))))
	at := func(s float64) pc { return place(math.Log10(max(s, from)), math.Log10(from), math.Log10(to)) }
	out.Ticks = logTicks(from, to)
	for i, l := range all {
		out.Rows = append(out.Rows, latencyLine{
			Phase: l.Phase, NameAt: i*latencyRow + 12, At: i*latencyRow + 24,
			P50: at(l.P50), P99: at(l.P99), P999: at(l.P999), Max: at(l.Max),
		})
	}
	return out
}
