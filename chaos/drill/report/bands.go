package report

import (
	"strconv"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
)

// narrow is the width below which a band's name would not fit on a phone.
const narrow = 14

func newBand(from, to, length float64, label string) band {
	b := band{From: place(from, 0, length), Label: label}
	b.Width = place(to, 0, length) - b.From
	return b
}

// phaseBands places the phases.
func phaseBands(r *result.Result, length float64) []band {
	var bands []band
	for _, p := range r.Phases {
		b := newBand(p.FromSeconds, p.ToSeconds, length, p.Name)
		if b.Width < narrow {
			b.Label = ""
		}
		bands = append(bands, b)
	}
	return bands
}

// faultBands places the faults. One whose name would run into that of another has
// none: the table of faults has them all.
func faultBands(r *result.Result, length float64) []band {
	var bands []band
	free := pc(-1)
	for _, f := range r.Faults {
		b := newBand(f.FromSeconds, f.ToSeconds, length, f.Name)
		if b.From < free || b.From > 100-narrow {
			b.Label = ""
		} else {
			free = b.From + narrow*2
		}
		b.Width = max(b.Width, 0.3) // what takes no time is seen all the same
		bands = append(bands, b)
	}
	return bands
}

// eventTicks numbers the events as the table does, and leaves out the numbers that
// would overlap.
func eventTicks(r *result.Result, length float64) []tick {
	var ticks []tick
	free := pc(-1)
	for i, e := range r.Events {
		at := place(e.AtSeconds, 0, length)
		t := tick{At: at, Anchor: at.edgeAnchor()}
		if at >= free {
			t.Label = strconv.Itoa(i + 1)
			free = at + 5
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// closest is the place of the bucket that came closest to its bound, or was
// furthest beyond it; without a bound, of the one that was exceeded most. It is -1
// without buckets.
func closest(r *result.Result) int {
	best := -1
	nearer := func(a, b *result.Overshoot) bool {
		if (a.Bound == nil) != (b.Bound == nil) {
			return a.Bound != nil
		}
		if a.Bound == nil {
			return verdict.Over(a) > verdict.Over(b)
		}
		return *a.Bound-verdict.Over(a) < *b.Bound-verdict.Over(b)
	}
	for i := range r.Overshoots {
		if best < 0 || nearer(&r.Overshoots[i], &r.Overshoots[best]) {
			best = i
		}
	}
	return best
}

// worstBand places the interval that came closest.
func worstBand(r *result.Result, length float64) *band {
	i := closest(r)
	if i < 0 {
		return nil
	}
	o := &r.Overshoots[i]
	if o.Worst.ToSeconds <= o.Worst.FromSeconds {
		return nil
	}
	b := newBand(o.Worst.FromSeconds, o.Worst.ToSeconds, length, "")
	b.Width = max(b.Width, 0.5)
	return &b
}
