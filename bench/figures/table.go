package figures

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is everything that one run found.
type Report struct {
	Time    time.Time
	Machine string // processor, cores, system
	Go      string
	Commit  string
	Rounds  int
	Results *Results
	Figures []Figure
	Curves  []Curve
}

// Table writes the report for people: a figure, its goal, whether it is met,
// and between what it lay in single rounds.
func (r *Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s, commit %s, %d rounds\n", r.Machine, r.Go, r.Commit, r.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	section := ""
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Row.Section != section {
			section = f.Row.Section
			fmt.Fprintf(t, "\n%s\tfigure\tgoal\t\tsingle rounds\n", section)
		}
		value, span := "-", ""
		if f.Measured {
			value = shown(f, f.Spread.Median)
			span = shown(f, f.Spread.Least) + " to " + shown(f, f.Spread.Most)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", f.Row.What, value, f.Row.Goal, f.Verdict(), span)
	}
	return t.Flush()
}

// shown is a figure with its unit; a ratio has none.
func shown(f *Figure, v float64) string {
	unit := f.Row.Of.Unit
	switch {
	case len(f.Row.Over) > 0 || unit == "ratio":
		return number(v)
	case strings.HasSuffix(unit, "sec/op") || strings.HasSuffix(unit, "-sec"):
		return duration(v)
	default:
		return number(v) + " " + unit
	}
}

// duration prints seconds.
func duration(sec float64) string {
	for _, u := range []struct {
		name string
		of   float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if sec >= u.of {
			return number(sec/u.of) + " " + u.name
		}
	}
	return number(sec/1e-9) + " ns"
}

// JSON writes the report for machines, with every measurement.
func (r *Report) JSON(w io.Writer) error {
	type figure struct {
		Section string  `json:"section"`
		What    string  `json:"what"`
		Ratio   bool    `json:"ratio"`
		Unit    string  `json:"unit,omitempty"`
		Value   *Spread `json:"value"`
		Goal    string  `json:"goal,omitempty"`
		Verdict string  `json:"verdict,omitempty"`
	}
	out := struct {
		Time         time.Time         `json:"time"`
		Machine      string            `json:"machine"`
		Go           string            `json:"go"`
		Commit       string            `json:"commit"`
		Rounds       int               `json:"rounds"`
		Figures      []figure          `json:"figures"`
		Measurements map[string]Spread `json:"measurements"`
	}{Time: r.Time, Machine: r.Machine, Go: r.Go, Commit: r.Commit, Rounds: r.Rounds, Measurements: map[string]Spread{}}
	for i := range r.Figures {
		f := &r.Figures[i]
		j := figure{Section: f.Row.Section, What: f.Row.What, Ratio: len(f.Row.Over) > 0, Goal: f.Row.Goal.String(), Verdict: f.Verdict()}
		if !j.Ratio {
			j.Unit = f.Row.Of.Unit
		}
		if f.Measured {
			j.Value = &f.Spread
		}
		out.Figures = append(out.Figures, j)
	}
	for _, ref := range r.Results.Refs() {
		out.Measurements[ref.String()], _ = r.Results.Value(ref)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
