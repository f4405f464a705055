package report

import (
	"fmt"
	"math"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// mostBins is how many columns a lane is drawn in at most. Longer runs put several
// steps into one: their mean for what is admitted and denied, their maximum for
// what is leased and stranded.
const mostBins = 480

// Heights of the timeline, in pixels.
const (
	headHeight  = 40 // names of phases and faults
	laneHeight  = 140
	ratesTop    = 20 // within a lane
	ratesHeight = 60
	heldTop     = 88
	heldHeight  = 28
	axisHeight  = 48 // time, the closest interval and the events
)

// timeline is the figure of what each region did.
type timeline struct {
	Alt       string
	Height    int
	AxisAt    int // where the axis of time begins
	Bins      int
	RateTop   string // label of the top of a lane's scale
	HeldTop   string
	Phases    []band
	Faults    []band
	Lanes     []lane
	Ticks     []tick
	Events    []tick
	Worst     *band // the interval that came closest to the bound
	BinLength string
}

// A band is a part of the run.
type band struct {
	From, Width pc
	Label       string // empty where it would not fit
}

// A lane is one region. Paths are in a box as wide as there are bins, and 1000 high.
type lane struct {
	Region           string
	Admitted, Denied string // denied stands on admitted
	Failed           string // on both
	Leased, Stranded string
	Cut              *cutMark
	NameAt, RatesAt  int
	HeldAt, HeldEnd  int
}

// cutMark is the highest column that did not fit its lane.
type cutMark struct {
	tick
	Y int
}

// newTimeline draws the run.
func newTimeline(r *result.Result) timeline {
	t := &r.Timeline
	length := t.StepSeconds * float64(t.Steps)
	lanes := make([]binned, len(t.Regions))
	var stacks, held []float64
	for i := range t.Regions {
		lanes[i] = bin(&t.Regions[i], t.StepSeconds)
		stacks = append(stacks, lanes[i].stack...)
		held = append(held, lanes[i].leased...)
		held = append(held, lanes[i].stranded...)
	}
	rateTop, amountTop := nice(ordinary(stacks)*1.02), nice(highest(held))
	out := timeline{
		Height: headHeight + laneHeight*len(lanes) + axisHeight, AxisAt: headHeight + laneHeight*len(lanes),
		RateTop: rate(rateTop) + "/s", HeldTop: rate(amountTop),
		Phases: phaseBands(r, length), Faults: faultBands(r, length), Ticks: timeTicks(length), Events: eventTicks(r, length),
		Worst: worstBand(r, length),
		Alt: fmt.Sprintf("Tokens admitted, denied, leased and stranded in %s over %s, with %s marked.",
			plural(int64(len(lanes)), "region"), seconds(length), plural(int64(len(r.Faults)), "fault")),
	}
	for i := range lanes {
		out.Bins = max(out.Bins, len(lanes[i].stack))
		out.Lanes = append(out.Lanes, lanes[i].draw(headHeight+i*laneHeight, rateTop, amountTop))
	}
	out.BinLength = seconds(length / float64(max(1, out.Bins)))
	return out
}

// binned is a region's series by column: rates a second, and amounts; NaN where
// nothing is known.
type binned struct {
	region                    string
	admitted, answered, stack []float64 // each includes the one before
	leased, stranded          []float64
}

// bin sums up a region's steps into columns.
func bin(l *result.RegionLine, step float64) binned {
	b := binned{region: l.Region}
	size := (len(l.Admitted) + mostBins - 1) / mostBins
	for from := 0; from < len(l.Admitted); from += max(1, size) {
		to := min(from+max(1, size), len(l.Admitted))
		var admitted, denied, failed int64
		for i := from; i < to; i++ {
			admitted += l.Admitted[i]
			denied += l.Denied[i]
			failed += l.Failed[i]
		}
		length := step * float64(to-from)
		b.admitted = append(b.admitted, float64(admitted)/length)
		b.answered = append(b.answered, float64(admitted+denied)/length)
		b.stack = append(b.stack, float64(admitted+denied+failed)/length)
		b.leased = append(b.leased, peak(l.Leased[from:to]))
		b.stranded = append(b.stranded, peak(l.Stranded[from:to]))
	}
	return b
}

// peak is the largest of the samples that there are, and NaN if there is none.
func peak(samples []*int64) float64 {
	most := math.NaN()
	for _, s := range samples {
		if s != nil && !(float64(*s) <= most) {
			most = float64(*s)
		}
	}
	return most
}

// highest is the largest value, 0 if there is none.
func highest(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	return most
}

// draw makes paths of a region's columns.
func (b *binned) draw(top int, rateTop, amountTop float64) lane {
	l := lane{
		Region: b.region, NameAt: top + 13, RatesAt: top + ratesTop, HeldAt: top + heldTop, HeldEnd: top + heldTop + heldHeight,
		Admitted: area(b.admitted, rateTop), Denied: area(b.answered, rateTop), Failed: area(b.stack, rateTop),
		Leased: steps(b.leased, amountTop), Stranded: area(b.stranded, amountTop),
	}
	worst := 0
	for i, v := range b.stack {
		if v > b.stack[worst] {
			worst = i
		}
	}
	if len(b.stack) > 0 && b.stack[worst] > rateTop {
		at := place(float64(worst)+0.5, 0, float64(len(b.stack)))
		l.Cut = &cutMark{tick: tick{At: at, Anchor: outward(at), Label: rate(b.stack[worst]) + "/s"}, Y: top + ratesTop + 11}
	}
	return l
}
