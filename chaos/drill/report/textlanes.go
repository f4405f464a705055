package report

import (
	"math"
	"strings"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// sparkWidth is how many characters a lane has at most.
const sparkWidth = 64

// timeline writes a lane for each region and series, with the faults above them.
func (t *text) timeline(r *result.Result) {
	l := &r.Timeline
	if l.Steps == 0 || len(l.Regions) == 0 {
		return
	}
	size := (l.Steps + sparkWidth - 1) / sparkWidth
	width := (l.Steps + size - 1) / size
	t.title("Timeline of " + seconds(l.StepSeconds*float64(l.Steps)) + ", one column for " + seconds(l.StepSeconds*float64(size)))
	rows := [][]string{{"", "fault", faultLine(r, width, size), ""}}
	var rateTop, heldTop float64
	for i := range l.Regions {
		rateTop = max(rateTop, ordinary(rates(l.Regions[i].Admitted, size, l.StepSeconds)), ordinary(rates(l.Regions[i].Denied, size, l.StepSeconds)))
		heldTop = max(heldTop, highest(peaks(l.Regions[i].Leased, size)), highest(peaks(l.Regions[i].Stranded, size)))
	}
	for i := range l.Regions {
		g := &l.Regions[i]
		for _, s := range []struct {
			name   string
			values []float64
			top    float64
			unit   string
		}{
			{"admitted", rates(g.Admitted, size, l.StepSeconds), rateTop, "/s"},
			{"denied", rates(g.Denied, size, l.StepSeconds), rateTop, "/s"},
			{"failed", rates(g.Failed, size, l.StepSeconds), rateTop, "/s"},
			{"leased", peaks(g.Leased, size), heldTop, ""},
			{"stranded", peaks(g.Stranded, size), heldTop, ""},
		} {
			if s.name == "failed" && highest(s.values) == 0 {
				continue
			}
			rows = append(rows, []string{g.Region, s.name, spark(s.values, s.top), "at most " + rate(highest(s.values)) + s.unit})
		}
	}
	t.table(nil, rows)
}

// rates are tokens a second by column.
func rates(tokens []int64, size int, step float64) []float64 {
	var out []float64
	for from := 0; from < len(tokens); from += size {
		to := min(from+size, len(tokens))
		var sum int64
		for _, n := range tokens[from:to] {
			sum += n
		}
		out = append(out, float64(sum)/(step*float64(to-from)))
	}
	return out
}

// peaks are the largest samples by column, NaN where there is none.
func peaks(samples []*int64, size int) []float64 {
	var out []float64
	for from := 0; from < len(samples); from += size {
		out = append(out, peak(samples[from:min(from+size, len(samples))]))
	}
	return out
}

// spark draws values as blocks of eight heights: a dot is 0, a space unknown.
func spark(values []float64, top float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case v <= 0 || top <= 0:
			b.WriteByte('.')
		default:
			b.WriteRune(blocks[min(len(blocks)-1, int(v/top*float64(len(blocks))))])
		}
	}
	return b.String()
}

// faultLine marks the columns in which a fault lasted.
func faultLine(r *result.Result, width, size int) string {
	cells := []byte(strings.Repeat(".", width))
	for _, f := range r.Faults {
		from, to := stepsOf(&r.Timeline, f.FromSeconds, f.ToSeconds)
		for i := from / size; i < min(width, max(from/size+1, (to+size-1)/size)); i++ {
			cells[i] = 'x'
		}
	}
	return string(cells)
}
