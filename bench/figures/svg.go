package figures

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Curve is how one measurement grows with another: points with rising X.
type Curve struct {
	Name   string
	X, Y   string // what is on the axes
	Points []Point
}

// Point is one point of a Curve, both coordinates above 0.
type Point struct{ X, Y float64 }

const (
	width     = 860
	labels    = 470 // where the bars begin
	rowHeight = 18
	plotSize  = 300
	margin    = 70
)

// SVG draws the report: for every figure with a goal how far it is from it, and
// below the curves, both axes logarithmic, so that what is linear has a slope of 1.
func (r *Report) SVG(w io.Writer) error {
	var b strings.Builder
	y := 60
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Row.Goal != (Goal{}) && !f.Row.Goal.Zero && f.Measured {
			bar(&b, f, y)
			y += rowHeight
		}
	}
	goal := width - (width-labels)/2
	fmt.Fprintf(&b, `<line x1="%d" y1="42" x2="%d" y2="%d" stroke="#444"/><text x="%d" y="36" text-anchor="middle">goal</text>`+"\n",
		goal, goal, y, goal)
	y += 40
	for i, c := range r.Curves {
		plot(&b, &c, margin+(i%2)*(plotSize+margin+40), y+(i/2)*(plotSize+margin))
	}
	height := y + (len(r.Curves)+1)/2*(plotSize+margin)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="10" y="20" font-size="14">Figures against their goals (right of the line is better; a bar's length is a logarithm)</text>
%s</svg>
`, width, height, b.String())
	return err
}

// bar draws how far a figure is from its goal: to the right when it is better.
func bar(b *strings.Builder, f *Figure, y int) {
	better := f.Spread.Median / f.Row.Goal.AtLeast
	if f.Row.Goal.AtMost > 0 {
		better = f.Row.Goal.AtMost / f.Spread.Median
	}
	const half = (width - labels) / 2
	// Ten times better or worse fills one side.
	length := max(-1, min(1, math.Log10(better))) * (half - 60)
	x, color := float64(labels+half), "#2a7f62"
	if length < 0 {
		x, color = x+length, "#b5402a"
	}
	fmt.Fprintf(b, `<text x="10" y="%d">%s</text><rect x="%.1f" y="%d" width="%.1f" height="12" fill="%s"/><text x="%d" y="%d" text-anchor="end">%s</text>`+"\n",
		y, html.EscapeString(f.Row.What), x, y-10, math.Abs(length), color, width-8, y, html.EscapeString(shown(f, f.Spread.Median)))
}

// plot draws a curve.
func plot(b *strings.Builder, c *Curve, left, top int) {
	if len(c.Points) == 0 {
		return
	}
	lo, hi := c.Points[0], c.Points[0]
	for _, p := range c.Points {
		lo = Point{min(lo.X, p.X), min(lo.Y, p.Y)}
		hi = Point{max(hi.X, p.X), max(hi.Y, p.Y)}
	}
	place := func(p Point) (x, y float64) {
		return float64(left) + plotSize*part(p.X, lo.X, hi.X), float64(top) + plotSize*(1-part(p.Y, lo.Y, hi.Y))
	}
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/><text x="%d" y="%d">%s</text>`+"\n",
		left, top, plotSize, plotSize, left, top-8, html.EscapeString(c.Name))
	var line []string
	for _, p := range c.Points {
		x, y := place(p)
		line = append(line, fmt.Sprintf("%.1f,%.1f", x, y))
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="#2a5f9f"/><text x="%.1f" y="%.1f" font-size="10">%s</text>`+"\n",
			x, y, x+4, y-4, html.EscapeString(number(p.Y)))
		fmt.Fprintf(b, `<text x="%.1f" y="%d" font-size="10" text-anchor="middle">%s</text>`+"\n", x, top+plotSize+14, number(p.X))
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="#2a5f9f"/><text x="%d" y="%d" text-anchor="middle">%s against %s</text>`+"\n",
		strings.Join(line, " "), left+plotSize/2, top+plotSize+30, html.EscapeString(c.Y), html.EscapeString(c.X))
}

// part is where v lies between lo and hi, by logarithms.
func part(v, lo, hi float64) float64 {
	if hi <= lo {
		return 0.5
	}
	return math.Log(v/lo) / math.Log(hi/lo)
}
