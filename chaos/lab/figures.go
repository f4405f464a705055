package lab

import (
	"fmt"
	"strings"
)

// strip draws one row for each model and one mark for each scenario.
func (r *Report) strip(id, title, says string, a axis, value func(*Result) float64, format func(float64) string) figure {
	f := figure{ID: id, Title: title, Says: says, Width: drawing, Height: row*float64(len(r.Models)) + 24}
	bottom := f.Height - 20
	a.across(&f, 4, bottom)
	f.Table.Head = append([]string{"scenario"}, r.Models...)
	rows := map[string]int{}
	for i, m := range r.Models {
		rows[m] = i
		f.Texts = append(f.Texts, text{left, row*float64(i) + 12, "start", "label", m})
	}
	for _, s := range r.Scenarios {
		f.Table.Rows = append(f.Table.Rows, []string{s})
	}
	for i := range r.Results {
		x := &r.Results[i]
		v := value(x)
		n := len(f.Table.Rows[i/len(r.Models)])
		f.Table.Rows[i/len(r.Models)] = append(f.Table.Rows[i/len(r.Models)][:n:n], format(v))
		f.Marks = append(f.Marks, mark{
			X: a.at(v, left, right), Y: row*float64(rows[x.Model]) + 20, Class: class(x.Model),
			Says: x.Model + ", " + x.Scenario + ": " + format(v),
		})
	}
	return f
}

// courses draws what the region is admitted to which demand moves, for each
// model at a round trip of 100 ms.
func (r *Report) courses() figure {
	const height, gap = 44.0, 18.0
	f := figure{
		ID: "course", Title: "When demand moves", Width: drawing,
		Says: "What the region is admitted to which demand moves at the time 0, in parts of the limit, each tenth of a second. " +
			"The dotted line is its max-min share: 10% before and 60% after. Round trip 100 ms.",
	}
	f.Table.Head = []string{"system"}
	for i := 0; i < 60; i += 3 {
		f.Table.Head = append(f.Table.Head, fmt.Sprintf("%+.1f s", float64(i-10)/10))
	}
	y := axis{lo: 0, hi: 1}
	x := axis{lo: 0, hi: 60}
	top := 0.0
	for i := range r.Settled {
		s := &r.Settled[i]
		if s.RoundTrip != 100*ms {
			continue
		}
		base := top + gap + height
		f.Texts = append(f.Texts, text{left, top + 12, "start", "label", s.Model})
		f.Lines = append(f.Lines,
			line{left, base, right, base, "grid"},
			line{left, y.at(0.1, base, base-height), x.at(10, left, right), y.at(0.1, base, base-height), "goal"},
			line{x.at(10, left, right), y.at(0.6, base, base-height), right, y.at(0.6, base, base-height), "goal"},
		)
		var d strings.Builder
		cells := []string{s.Model}
		for n, v := range s.Course {
			verb := "L"
			if n == 0 {
				verb = "M"
			}
			fmt.Fprintf(&d, "%s%.1f %.1f", verb, x.at(float64(n)+0.5, left, right), y.at(v, base, base-height))
			if n%3 == 0 {
				cells = append(cells, wholePercent(v))
			}
		}
		f.Paths = append(f.Paths, path{d.String(), class(s.Model)})
		f.Table.Rows = append(f.Table.Rows, cells)
		top = base + 4
	}
	for _, second := range []float64{-1, 0, 1, 2, 3, 4, 5} {
		at := x.at(10+10*second, left, right)
		f.Texts = append(f.Texts, text{at, top + 12, "middle", "tick", fmt.Sprintf("%+.0f s", second)})
	}
	f.Height = top + 18
	return f
}

// settling draws a bar for each model.
func (r *Report) settling() figure {
	f := figure{
		ID: "settling", Title: "Settling", Width: drawing, Height: row*float64(len(r.Settled)) + 24,
		Says:  "The middle of four moves: " + Settling + ". A bar to the right end: never within the 5 s before the next move.",
		Table: table2{Head: []string{"system", "round trip", "median", "by move", "deviation once settled", "ripple of half seconds"}},
	}
	a := axis{lo: 0, hi: 5, ticks: []float64{0, 1, 2, 3, 4, 5}, format: func(v float64) string { return fmt.Sprintf("%.0f s", v) }}
	a.across(&f, 4, f.Height-20)
	for i := range r.Settled {
		s := &r.Settled[i]
		v := s.Median().Seconds()
		if v < 0 {
			v = 5
		}
		y := row * float64(i)
		f.Bars = append(f.Bars, bar{left, y + 16, a.at(v, left, right) - left, 9, class(s.Model)})
		f.Texts = append(f.Texts, text{left, y + 12, "start", "label", fmt.Sprintf("%s, %s: %s", s.Model, milliseconds(s.RoundTrip), never(s.Median()))})
		var moves []string
		for _, d := range s.Times {
			moves = append(moves, never(d))
		}
		f.Table.Rows = append(f.Table.Rows, []string{s.Model, milliseconds(s.RoundTrip), never(s.Median()), strings.Join(moves, ", "), percent2(s.Deviation), percent2(s.Ripple)})
	}
	return f
}

// curve draws what regions hold against what moving it there costs.
func (r *Report) curve() figure {
	f := figure{
		ID: "curve", Title: "Exposure against messages", Width: drawing, Height: 250,
		Says: "Ten regions with a zipf demand of 900 tokens a second. Across: what they hold on average, in tokens, which is what a crash of all of them " +
			"would lose. Up: grants and recalls by million admitted tokens. The line: fixed sizes of leases; the ring: sizes by demand, for several lengths of the lease. " +
			"Dotted: the fewest grants by which so much can be held, (Σ√λ)²/(2·held).",
		Table: table2{Head: []string{"size", "TTL", "held", "grants and recalls", "least", "reports", "use", "false denials"}},
	}
	x, y := logAxis(10, 10_000), logAxis(1000, 1_000_000)
	const top, bottom = 8.0, 225.0
	x.across(&f, top, bottom)
	for _, v := range y.ticks {
		at := y.at(v, bottom, top)
		f.Lines = append(f.Lines, line{left, at, right, at, "grid"})
		f.Texts = append(f.Texts, text{right, at - 3, "end", "tick", y.format(v)})
	}
	var sized, least strings.Builder
	for i := range r.Exposed {
		e := &r.Exposed[i]
		px, py := x.at(e.Held, left, right), y.at(e.Moves, bottom, top)
		says := fmt.Sprintf("%s, %v: %.0f held, %.0f grants and recalls", sizeName(e.Size), e.TTL, e.Held, e.Moves)
		if e.Size > 0 {
			verb := "L"
			if sized.Len() == 0 {
				verb = "M"
			}
			fmt.Fprintf(&sized, "%s%.1f %.1f", verb, px, py)
			fmt.Fprintf(&least, "%s%.1f %.1f", verb, px, y.at(e.Least, bottom, top))
			f.Marks = append(f.Marks, mark{px, py, "other", says})
		} else {
			f.Marks = append(f.Marks, mark{px, py, "ours", says})
		}
		f.Table.Rows = append(f.Table.Rows, []string{
			sizeName(e.Size), e.TTL.String(), count(e.Held), count(e.Moves), count(e.Least), count(e.Reports), percent2(e.Used), percent2(e.False),
		})
	}
	f.Paths = append(f.Paths, path{sized.String(), "other"}, path{least.String(), "goal"})
	return f
}

// coordination draws what using a quota up costs, and what it may cost.
func (r *Report) coordination() figure {
	f := figure{
		ID: "coordination", Title: "Using a window quota up", Width: drawing, Height: row*float64(len(r.Exhausted)) + 24,
		Says:  strings.ToUpper(Exhaust[:1]) + Exhaust[1:] + ". The dotted line is the goal.",
		Table: table2{Head: []string{"demand", "regions", "tokens", "grants", "recalls", "per k·log2(M/k)", "goal", "used", "last token late by"}},
	}
	a := logAxis(0.1, 1000)
	bottom := f.Height - 20
	a.across(&f, 4, bottom)
	for i := range r.Exhausted {
		e := &r.Exhausted[i]
		y := row * float64(i)
		goal := a.at(e.Goal, left, right)
		f.Bars = append(f.Bars, bar{left, y + 16, a.at(e.Ratio, left, right) - left, 9, "ours"})
		f.Lines = append(f.Lines, line{goal, y + 13, goal, y + 28, "goal"})
		f.Texts = append(f.Texts, text{left, y + 12, "start", "label", fmt.Sprintf("%s, k=%d, %d tokens: %.1f", e.Load, e.K, e.Tokens, e.Ratio)})
		f.Table.Rows = append(f.Table.Rows, []string{
			e.Load, fmt.Sprint(e.K), fmt.Sprint(e.Tokens), fmt.Sprint(e.Grants), fmt.Sprint(e.Recalls),
			fmt.Sprintf("%.2f", e.Ratio), fmt.Sprint(e.Goal), fmt.Sprintf("%.3f%%", 100*e.Used), milliseconds(e.Late),
		})
	}
	return f
}
