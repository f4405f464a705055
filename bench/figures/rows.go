package figures

import "fmt"

// Row is one line of the table: a measurement, or its ratio to others.
type Row struct {
	Section string
	What    string
	Of      Ref
	// Over, if given, is what Of is divided by: the best of them.
	Over []Ref
	// Most says that the best of Over is the greatest, as of rates; else it is
	// the least, as of times.
	Most bool
	Goal Goal
}

// Goal is what a row's figure is to be. The zero Goal is none.
type Goal struct {
	AtMost  float64
	AtLeast float64
	// Zero is AtMost 0.
	Zero bool
}

// String says the goal in words.
func (g Goal) String() string {
	switch {
	case g.Zero:
		return "0"
	case g.AtMost > 0:
		return "at most " + number(g.AtMost)
	case g.AtLeast > 0:
		return "at least " + number(g.AtLeast)
	default:
		return ""
	}
}

// Figure is a row and what came of it.
type Figure struct {
	Row    Row
	Spread Spread
	// Measured is false when the benchmarks of the row did not run.
	Measured bool
}

// Judge works a row out.
func (r *Results) Judge(row Row) Figure {
	f := Figure{Row: row}
	if len(row.Over) == 0 {
		f.Spread, f.Measured = r.Value(row.Of)
	} else {
		f.Spread, f.Measured = r.Ratio(row.Of, row.Over, row.Most)
	}
	return f
}

// Verdict says whether the goal is met, and else by how much it is missed. It
// is empty without a goal.
func (f *Figure) Verdict() string {
	g, v := f.Row.Goal, f.Spread.Median
	switch {
	case g == Goal{}:
		return ""
	case !f.Measured:
		return "not measured"
	case g.Zero && v == 0, g.AtMost > 0 && v <= g.AtMost, g.AtLeast > 0 && v >= g.AtLeast:
		return "met"
	case g.AtMost > 0:
		return fmt.Sprintf("missed by %.0f%%", 100*(v/g.AtMost-1))
	case g.AtLeast > 0:
		return fmt.Sprintf("missed by %.0f%%", 100*(1-v/g.AtLeast))
	default:
		return "missed"
	}
}

// Met says that there is a goal and that it is met.
func (f *Figure) Met() bool { return f.Verdict() == "met" }

// number prints a figure with the digits that mean something.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 10_000:
		return fmt.Sprintf("%.4g", v)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}
