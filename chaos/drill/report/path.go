package report

import (
	"fmt"
	"math"
	"strings"
)

// area draws values as steps that stand on the ground. Columns of one height are
// drawn as one.
func area(values []float64, top float64) string {
	var p strings.Builder
	open, last := false, 0
	for i, v := range values {
		at := height(v, top)
		switch {
		case math.IsNaN(v) || v <= 0:
			if open {
				fmt.Fprintf(&p, "H%dV1000", i)
			}
			open = false
		case !open:
			fmt.Fprintf(&p, "M%d 1000V%d", i, at)
			open = true
		case at != last:
			fmt.Fprintf(&p, "H%dV%d", i, at)
		}
		last = at
	}
	if open {
		fmt.Fprintf(&p, "H%dV1000", len(values))
	}
	return p.String()
}

// steps draws values as a line, with a gap where nothing is known.
func steps(values []float64, top float64) string {
	var p strings.Builder
	open, last := false, 0
	for i, v := range values {
		at := height(v, top)
		switch {
		case math.IsNaN(v):
			if open {
				fmt.Fprintf(&p, "H%d", i)
			}
			open = false
		case !open:
			fmt.Fprintf(&p, "M%d %d", i, at)
			open = true
		case at != last:
			fmt.Fprintf(&p, "H%dV%d", i, at)
		}
		last = at
	}
	if open {
		fmt.Fprintf(&p, "H%d", len(values))
	}
	return p.String()
}

// height is where a value lies in a box that is 1000 high and counts downward.
func height(v, top float64) int {
	return 1000 - int(math.Round(min(1, max(0, v/top))*1000))
}
