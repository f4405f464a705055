package report

import (
	"math"
	"slices"
	"strconv"
)

// A pc is a place or a length in percent of a figure's width. Figures are drawn in
// percent across and in pixels down, so that they fit every width while their
// text keeps its size.
type pc float64

// String writes it as an attribute of SVG.
func (p pc) String() string {
	if math.IsNaN(float64(p)) || math.IsInf(float64(p), 0) {
		return "0%"
	}
	return strconv.FormatFloat(math.Round(float64(p)*100)/100, 'f', -1, 64) + "%"
}

// anchor is the text-anchor with which a label at p stays within the figure.
func (p pc) anchor() string {
	switch {
	case p < 8:
		return "start"
	case p > 92:
		return "end"
	}
	return "middle"
}

// edgeAnchor is anchor for labels of a few digits.
func (p pc) edgeAnchor() string {
	switch {
	case p < 1:
		return "start"
	case p > 99:
		return "end"
	}
	return "middle"
}

// place is where x lies between from and to, within the figure.
func place(x, from, to float64) pc {
	if to <= from {
		return 0
	}
	return pc(min(100, max(0, (x-from)/(to-from)*100)))
}

// nice is the least of 1, 2, 2.5 and 5 times a power of ten that is not below x.
func nice(x float64) float64 {
	if x <= 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if x <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// A tick is a labeled place of an axis.
type tick struct {
	At     pc
	Anchor string
	Label  string
}

// timeTicks labels an axis of so many seconds, four to six times and with 0.
func timeTicks(length float64) []tick {
	if length <= 0 {
		return nil
	}
	step := nice(length / 6)
	if length > 60 { // minutes are not decimal
		step = 60 * math.Ceil(length/60/6)
	}
	var ticks []tick
	for n := 0.0; n*step <= length*(1+1e-9) && len(ticks) < 12; n++ {
		at := place(n*step, 0, length)
		ticks = append(ticks, tick{At: at, Anchor: at.anchor(), Label: seconds(n * step)})
	}
	return ticks
}

// logTicks labels a logarithmic axis of seconds at powers of ten.
func logTicks(from, to float64) []tick {
	var ticks []tick
	for e := math.Ceil(math.Log10(from) - 1e-9); e <= math.Log10(to)+1e-9; e++ {
		at := place(e, math.Log10(from), math.Log10(to))
		ticks = append(ticks, tick{At: at, Anchor: at.anchor(), Label: seconds(math.Pow(10, e))})
	}
	return ticks
}

// ordinary is the value that nearly all of them stay below: what lies above it is
// cut, so that one burst does not flatten everything else.
func ordinary(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	most := sorted[len(sorted)-1]
	if common := sorted[(len(sorted)-1)*97/100]; common > 0 && most > 2*common {
		return common
	}
	return most
}
