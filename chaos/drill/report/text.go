package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
)

// Text writes the report for a terminal of 100 columns, in the order of the HTML.
// It has no escape sequences, and none of the scenario or of a process's log gets
// through.
func Text(w io.Writer, r *result.Result) error {
	var b bytes.Buffer
	t := &text{b: &b}
	t.verdict(r)
	t.bound(r)
	t.checks("Expectations", r.Hypotheses)
	t.timeline(r)
	t.faults(r)
	t.events(r)
	t.latency(r)
	t.blast(r)
	t.recovery(r)
	t.checks("Invariants", r.Invariants)
	t.evidence(r)
	t.reproduction(r)
	_, err := b.WriteTo(w)
	return err
}

// text writes lines into memory, which cannot fail.
type text struct{ b *bytes.Buffer }

func (t *text) line(format string, args ...any) {
	t.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " \n"))
	t.b.WriteByte('\n')
}

func (t *text) title(s string) { t.line("\n%s", s) }

// table lines up rows of cells. Cells are made plain.
func (t *text) table(head []string, rows [][]string) {
	var lines bytes.Buffer
	w := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		if row == nil {
			continue
		}
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = plain(c)
		}
		fmt.Fprintf(w, "  %s\n", strings.Join(cells, "\t"))
	}
	_ = w.Flush() // into memory
	for line := range strings.Lines(lines.String()) {
		t.line("%s", line)
	}
}

func (t *text) verdict(r *result.Result) {
	t.line("%s  %s", r.Verdict.Outcome, plain(r.Verdict.Sentence))
	if len(r.Verdict.Reasons) > 1 {
		for _, reason := range r.Verdict.Reasons {
			t.line("  - %s", plain(reason))
		}
	}
}

// barWidth is that of the bar of bound, observed and margin, in characters.
const barWidth = 60

func (t *text) bound(r *result.Result) {
	t.title("Bound, observed, margin")
	if len(r.Overshoots) == 0 {
		t.line("  no bucket was judged")
		return
	}
	var rows [][]string
	for i, name := range r.BucketNames() {
		o := newBucketRow(name, &r.Overshoots[i])
		rows = append(rows, []string{
			o.Name, o.Mode, count(o.Bound), comma(o.Observed), count(o.Margin),
			comma(o.Worst.Admitted), comma(o.Worst.Promised), seconds(o.Length),
		})
	}
	t.table([]string{"bucket", "mode", "bound", "observed", "margin", "admitted", "promised", "within"}, rows)
	o := &r.Overshoots[closest(r)]
	t.line("  [%s] %s of %s allowed", bar(o), comma(o.Worst.Admitted), allowed(o))
	t.table(nil, [][]string{{"limit", o.Limit}, {"promise", o.Promise}, {"bound", o.Formula}})
	for _, in := range o.Inputs {
		t.line("    %s = %s, %s", plain(in.Symbol), plain(in.Value), plain(in.Meaning))
	}
	if o.SkewSeconds > 0 {
		t.line("  the clients' clocks may be %s apart; the promise was widened by twice that", seconds(o.SkewSeconds))
	}
}

func allowed(o *result.Overshoot) string {
	if o.Bound == nil {
		return comma(o.Worst.Promised) + " promised, and whatever more is"
	}
	return comma(o.Worst.Promised + *o.Bound)
}

// bar shows what the worst interval admitted: # up to what is allowed, ! beyond it,
// and | where the promise ends.
func bar(o *result.Overshoot) string {
	bound := int64(math.MaxInt64 / 2)
	if o.Bound != nil {
		bound = *o.Bound
	}
	most := max(o.Worst.Promised, o.Worst.Admitted, 1)
	if o.Bound != nil {
		most = max(most, o.Worst.Promised+bound)
	}
	at := func(n int64) int { return int(math.Round(float64(n) / float64(most) * barWidth)) }
	cells := []byte(strings.Repeat(".", barWidth))
	for i := range at(o.Worst.Admitted) {
		cells[i] = '#'
	}
	if verdict.Over(o) > bound {
		for i := min(at(o.Worst.Promised+bound), barWidth-1); i < at(o.Worst.Admitted); i++ {
			cells[i] = '!'
		}
	}
	cells[max(0, min(at(o.Worst.Promised), barWidth)-1)] = '|'
	return string(cells)
}

func (t *text) checks(title string, checks []result.Check) {
	if len(checks) == 0 {
		return
	}
	t.title(title)
	var rows [][]string
	for _, c := range checks {
		rows = append(rows, []string{checkWord(c.Outcome), orAbsent(c.Observed), orAbsent(c.Expected), c.Statement})
	}
	t.table([]string{"outcome", "observed", "expected", "statement"}, rows)
}

func orAbsent(s string) string {
	if s == "" {
		return absent
	}
	return s
}

// checkWord is an outcome for people.
func checkWord(o result.CheckOutcome) string {
	switch o {
	case result.Held:
		return "pass"
	case result.Broken:
		return "FAIL"
	case result.NotExercised:
	}
	return "not exercised"
}
