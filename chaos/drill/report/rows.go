package report

import (
	"math"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// phaseRow is one region in one phase.
type phaseRow struct {
	First                                bool // of its region
	Region, Phase                        string
	Admitted, Denied, Failed             string // a second
	LeasedMean, LeasedMost, StrandedMost string
}

// phaseRows sums up the timeline.
func phaseRows(r *result.Result) []phaseRow {
	var rows []phaseRow
	t := &r.Timeline
	for _, l := range t.Regions {
		for i, p := range r.Phases {
			from, to := stepsOf(t, p.FromSeconds, p.ToSeconds)
			length := t.StepSeconds * float64(to-from)
			row := phaseRow{First: i == 0, Region: l.Region, Phase: p.Name}
			row.Admitted, row.Denied, row.Failed = perSecond(l.Admitted[from:to], length), perSecond(l.Denied[from:to], length), perSecond(l.Failed[from:to], length)
			row.LeasedMean, row.LeasedMost, row.StrandedMost = held(mean(l.Leased[from:to])), held(peak(l.Leased[from:to])), held(peak(l.Stranded[from:to]))
			rows = append(rows, row)
		}
	}
	return rows
}

func perSecond(tokens []int64, length float64) string {
	var sum int64
	for _, n := range tokens {
		sum += n
	}
	return rate(float64(sum) / length)
}

func held(tokens float64) string {
	if math.IsNaN(tokens) {
		return absent
	}
	return comma(int64(math.Round(tokens)))
}

// mean is that of the samples that there are.
func mean(samples []*int64) float64 {
	var sum, n float64
	for _, s := range samples {
		if s != nil {
			sum += float64(*s)
			n++
		}
	}
	return sum / n
}

// stepsOf are the steps from a moment on and up to another.
func stepsOf(t *result.Timeline, fromSeconds, toSeconds float64) (from, to int) {
	if !(t.StepSeconds > 0) {
		return 0, 0
	}
	at := func(s float64) int { return min(t.Steps, max(0, int(math.Round(s/t.StepSeconds)))) }
	from, to = at(fromSeconds), at(toSeconds)
	return from, max(from, to)
}

// mostRows is how long the table of the timeline may be.
const mostRows = 60

// timeRow is one moment in all regions.
type timeRow struct {
	From  string
	Cells []string
}

// timeRows are the timeline in numbers, as finely as mostRows rows allow and not
// finer than a second.
func timeRows(r *result.Result) []timeRow {
	t := &r.Timeline
	length := t.StepSeconds * float64(t.Steps)
	if !(length > 0) {
		return nil
	}
	step := max(1, nice(length/mostRows))
	var rows []timeRow
	for n := 0.0; n*step < length-t.StepSeconds/2; n++ {
		from, to := stepsOf(t, n*step, (n+1)*step)
		if from == to {
			continue
		}
		row := timeRow{From: clock(n * step)}
		for _, l := range t.Regions {
			row.Cells = append(row.Cells, cell(&l, from, to))
		}
		rows = append(rows, row)
	}
	return rows
}

// cell is what one region did from one step to another.
func cell(l *result.RegionLine, from, to int) string {
	var admitted, denied int64
	for i := from; i < to; i++ {
		admitted += l.Admitted[i]
		denied += l.Denied[i]
	}
	return comma(admitted) + " / " + comma(denied) + ", " + count(l.Leased[to-1])
}
