package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/a1009580/leasehold/internal/overshoot"
)

// reportText writes reports for people. Writing to memory never fails.
type reportText struct{ bytes.Buffer }

// columns writes rows in columns.
func columns(w io.Writer, rows func(row func(cells ...string))) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rows(func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) })
	_ = t.Flush() // to memory
}

// head says who tells, and since when.
func (t *reportText) head(a *answer[overshoot.Report]) {
	r := &a.body
	switch {
	case r.Source == overshoot.Policy:
		fmt.Fprintf(t, "computed from %s: nobody was asked\n", a.from)
	case r.Source == overshoot.Region:
		fmt.Fprintf(t, "region %s, node %s, at %s, of itself alone%s%s\n", r.Region, r.Node, a.from, since(r.Since, r.At), revision(r.PolicyRevision))
		if !r.Leads {
			fmt.Fprintln(t, "it has no session with a coordinator")
		}
	case a.follows:
		fmt.Fprintf(t, "coordinator at %s does not lead: bounds are of the policy alone, and nothing is observed\n", a.from)
	default:
		fmt.Fprintf(t, "coordinator at %s leads%s%s\n", a.from, since(r.Since, r.At), revision(r.PolicyRevision))
	}
	fmt.Fprintln(t)
}

func since(at *time.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf(", since %s (%s)", instant(*at), brief(now.Sub(*at)))
}

func revision(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", policy revision %d", n)
}

// table has a row for each quota.
func (t *reportText) table(r *overshoot.Report) {
	columns(t, func(row func(...string)) {
		if r.Source == overshoot.Policy {
			row("QUOTA", "MODE", "LIMIT")
			for i := range r.Quotas {
				row(r.Quotas[i].Quota, mode(&r.Quotas[i]), r.Quotas[i].Limit)
			}
			return
		}
		row("QUOTA", "MODE", "BOUND", "OBSERVED", "LAST ROSE", "MARGIN")
		for i := range r.Quotas {
			q := &r.Quotas[i]
			row(q.Quota, mode(q), bound(&q.Bound), seen(q), rose(q.Observed, r.At), margin(q))
		}
	})
}

// supposed has a row for each quota with what regions would add, if that was asked.
func (t *reportText) supposed(r *overshoot.Report) {
	if len(r.Quotas) == 0 || r.Quotas[0].Given == nil && len(r.Quotas[0].Worst) == 0 {
		return
	}
	first := &r.Quotas[0]
	head := []string{"QUOTA"}
	length := time.Duration(0)
	if first.Given != nil {
		length = first.Given.For.Duration()
		head = append(head, join(first.Given.Cut, "+", false))
	}
	for i := range first.Worst {
		length = first.Worst[i].For.Duration()
		head = append(head, fmt.Sprintf("ANY %d", i+1))
	}
	all := "none is known"
	if n := len(first.Worst); n > 0 {
		all = join(first.Worst[n-1].Cut, ", ", true)
	}
	fmt.Fprintf(t, "\ncut off for %s, regions would add at most, of %s\n", short(length), all)
	columns(t, func(row func(...string)) {
		row(head...)
		for i := range r.Quotas {
			q := &r.Quotas[i]
			cells := []string{q.Quota}
			if q.Given != nil {
				cells = append(cells, bound(&q.Given.Bound))
			}
			for k := range q.Worst {
				cells = append(cells, bound(&q.Worst[k].Bound))
			}
			row(cells...)
		}
	})
}

// quota tells all of one quota.
func (t *reportText) quota(r *overshoot.Report, q *overshoot.Quota) {
	fmt.Fprintf(t, "%s: %s, mode %s\n", q.Quota, q.Limit, mode(q))
	if r.Source != overshoot.Policy {
		t.sum("bound", &q.Bound)
		fmt.Fprintf(t, "observed  %s\n", observed(q, r.At))
		fmt.Fprintf(t, "margin    %s\n", margin(q))
		fmt.Fprintf(t, "spent     %d from floors, %d unreserved while cut off, of all keys\n", q.FloorSpent, q.Overspent)
	}
	if q.Given != nil {
		fmt.Fprintf(t, "\ncut off for %s: %s\n", short(q.Given.For.Duration()), join(q.Given.Cut, ", ", true))
		t.sum("bound", &q.Given.Bound)
	}
	for i := range q.Worst {
		s := &q.Worst[i]
		fmt.Fprintf(t, "\nany %d cut off for %s, at worst: %s\n", i+1, short(s.For.Duration()), join(s.Cut, ", ", true))
		t.sum("bound", &s.Bound)
	}
}

// sum writes a bound and the lines of it.
func (t *reportText) sum(name string, b *overshoot.Bound) {
	switch {
	case b.Tokens == nil:
		fmt.Fprintf(t, "%-9s none: the policy says unbounded\n", name)
	case *b.Tokens == 0:
		fmt.Fprintf(t, "%-9s 0\n", name)
	default:
		fmt.Fprintf(t, "%-9s %s, %s of the %d that the limit allows in %s\n", name, tokens(b), percent(*b.Percent), b.Allowed,
			brief(b.Span.Duration()))
	}
	for i := range b.Lines {
		fmt.Fprintf(t, "  %s\n", b.Lines[i].Text)
		if note := b.Lines[i].Note; note != "" {
			fmt.Fprintf(t, "    %s\n", note)
		}
	}
}

func mode(q *overshoot.Quota) string {
	if q.Mode == "" {
		return "-"
	}
	return q.Mode
}

// bound is a bound in one cell.
func bound(b *overshoot.Bound) string {
	switch {
	case b.Tokens == nil:
		return "none"
	case *b.Tokens == 0:
		return "0"
	}
	return tokens(b) + " (" + percent(*b.Percent) + ")"
}

func tokens(b *overshoot.Bound) string {
	if b.Saturated {
		return fmt.Sprintf("%d or more", *b.Tokens)
	}
	return fmt.Sprint(*b.Tokens)
}

// percent has one decimal; what is too small for that is not 0.
func percent(p float64) string {
	if p > 0 && p < 0.05 {
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", p)
}

// seen is what was observed, in one cell: of what has no limit there is nothing to observe.
func seen(q *overshoot.Quota) string {
	if q.Observed == nil && q.Mode == "" {
		return "-"
	}
	return spread(q.Observed)
}

// spread is what was observed: one figure, or a range.
func spread(o *overshoot.Observed) string {
	switch {
	case o == nil:
		return "unknown"
	case o.Low == o.High:
		return fmt.Sprint(o.Low)
	}
	return fmt.Sprintf("%d..%d", o.Low, o.High)
}

// rose is how long ago what was observed last rose.
func rose(o *overshoot.Observed, now time.Time) string {
	if o == nil || o.HighAt == nil {
		return "-"
	}
	return brief(now.Sub(*o.HighAt)) + " ago"
}

func observed(q *overshoot.Quota, now time.Time) string {
	o := q.Observed
	if o == nil || o.HighAt == nil {
		return seen(q)
	}
	return fmt.Sprintf("%s, last rose at %s (%s)", spread(o), instant(*o.HighAt), rose(o, now))
}

func margin(q *overshoot.Quota) string {
	switch {
	case q.Margin != nil:
		return fmt.Sprint(*q.Margin)
	case q.Observed == nil && q.Mode != "":
		return "unknown"
	}
	return "-"
}

// join names places, with the number of their processes if that is asked.
func join(places []overshoot.Place, by string, count bool) string {
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.Region
		if count && p.Holders == 1 {
			names[i] += " (1 process)"
		} else if count {
			names[i] += fmt.Sprintf(" (%d processes)", p.Holders)
		}
	}
	return strings.Join(names, by)
}

// instant is a time to the second, in UTC.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

// brief is a duration without more digits than one wants to read.
func brief(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + brief(-d)
	case d < 10*time.Second:
		return short(d.Round(100 * time.Millisecond))
	default:
		return short(d.Round(time.Second))
	}
}

// short is a duration without zeros at its end: 10m, not 10m0s.
func short(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
