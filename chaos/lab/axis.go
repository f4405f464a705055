package lab

import (
	"fmt"
	"math"
)

// axis is a horizontal or vertical scale. What lies beyond its ends is drawn there.
type axis struct {
	lo, hi float64
	log    bool // with the lowest place for what is below lo
	ticks  []float64
	format func(float64) string
}

// logAxis is a scale of powers of ten between two of them.
func logAxis(lo, hi float64) axis {
	a := axis{lo: lo, hi: hi, log: true, format: power}
	for v := lo; v <= hi*1.001; v *= 10 {
		a.ticks = append(a.ticks, v)
	}
	return a
}

func power(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}

// at says where a value lies between from and to.
func (a *axis) at(v, from, to float64) float64 {
	part := (v - a.lo) / (a.hi - a.lo)
	if a.log {
		part = 0
		if v > a.lo {
			part = math.Log(v/a.lo) / math.Log(a.hi/a.lo)
		}
	}
	return from + min(max(part, 0), 1)*(to-from)
}

// across draws the scale below a drawing, with a line at each tick.
func (a *axis) across(f *figure, top, bottom float64) {
	for i, v := range a.ticks {
		x := a.at(v, left, right)
		f.Lines = append(f.Lines, line{x, top, x, bottom, "grid"})
		anchor := "middle"
		switch {
		case x < left+10:
			anchor = "start"
		case i == len(a.ticks)-1 && x > right-10:
			anchor = "end"
		}
		f.Texts = append(f.Texts, text{x, bottom + 13, anchor, "tick", a.format(v)})
	}
}
