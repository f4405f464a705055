package lab

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"time"
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Page returns the report as one HTML page that needs nothing else: figures in
// SVG, and below each the table of what it shows.
func (r *Report) Page() ([]byte, error) {
	p := struct {
		*Report

		Figures []figure
	}{Report: r}
	if len(r.Results) > 0 {
		p.Figures = r.strips()
	}
	if len(r.Settled) > 0 {
		p.Figures = append(p.Figures, r.courses(), r.settling())
	}
	if len(r.Exposed) > 0 {
		p.Figures = append(p.Figures, r.curve())
	}
	if len(r.Exhausted) > 0 {
		p.Figures = append(p.Figures, r.coordination())
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	return b.Bytes(), nil
}

// strips are the figures that have a mark for each scenario.
func (r *Report) strips() []figure {
	part := axis{lo: 0, hi: 1, ticks: []float64{0, 0.25, 0.5, 0.75, 1}, format: wholePercent}
	more := part
	more.hi = 1.2
	return []figure{
		r.strip("use", "Use of the budget", "Admitted tokens in relation to an ideal bucket that all regions share without delay. "+
			"One mark for each scenario; above 100% is overshoot.", more, func(x *Result) float64 { return x.Used }, percent2),
		r.strip("false", "False denials", "Requests "+Agedness+", in relation to all requests.",
			part, func(x *Result) float64 { return x.False }, percent2),
		r.strip("over", "Overshoot", "The most, over all intervals, by which more was admitted than the promise allows, in tokens. None is at the left edge.",
			logAxis(1, 100_000), func(x *Result) float64 { return float64(x.Overshoot.Any) }, count),
		r.strip("moves", "Messages that move tokens", "Grants and recalls by million admitted tokens; none is at the left edge. Reports are in the full table.",
			logAxis(100, 10_000_000), func(x *Result) float64 { return x.Grants + x.Recalls }, count),
	}
}

// figure is a drawing and the table of what it shows.
type figure struct {
	ID, Title, Says string
	Width, Height   float64
	Lines           []line
	Marks           []mark
	Bars            []bar
	Paths           []path
	Texts           []text
	Table           table2
}

// The parts of a drawing. A class names what a part is, for its color.
type (
	line struct {
		X1, Y1, X2, Y2 float64
		Class          string
	}
	mark struct {
		X, Y  float64
		Class string
		Says  string
	}
	bar struct {
		X, Y, W, H float64
		Class      string
	}
	path struct {
		D     string
		Class string
	}
	text struct {
		X, Y   float64
		Anchor string
		Class  string
		S      string
	}
	table2 struct {
		Head []string
		Rows [][]string
	}
)

// The size of all drawings: they are read at a width of 360 pixels as they are.
const (
	drawing = 340.0
	left    = 8.0
	right   = drawing - 12
	row     = 30.0
)

func percent2(v float64) string     { return fmt.Sprintf("%.2f%%", 100*v) }
func wholePercent(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }
func count(v float64) string        { return fmt.Sprintf("%.0f", v) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// class colors a model: ours stands out.
func class(model string) string {
	if model == Ours {
		return "ours"
	}
	return "other"
}
