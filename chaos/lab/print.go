package lab

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the report as tables for a terminal.
func (r *Report) Print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	last := ""
	for i := range r.Results {
		x := &r.Results[i]
		if x.Scenario != last {
			fmt.Fprintf(t, "\n%s\t\n", x.Scenario)
			fmt.Fprint(t, "\tused\tfalse\tstranded\tover 0.1s\t1s\t10s\tany\tJain\tgrants\trecalls\treports\tKB\theld\twaited\tp99\t\n")
			last = x.Scenario
		}
		o := &x.Overshoot
		fmt.Fprintf(t, "%s\t%.2f%%\t%.2f%%\t%.2f%%\t%d\t%d\t%d\t%d\t%.4f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f s\t%.1f%%\t%d ms\t\n",
			x.Model, 100*x.Used, 100*x.False, 100*x.Stranded, o.Tenth, o.Second, o.Ten, o.Any, x.Jain,
			x.Grants, x.Recalls, x.Reports, x.Bytes/1000, x.Exposed, 100*x.Waited, x.Slow.Milliseconds())
	}
	if len(r.Results) > 0 {
		fmt.Fprint(t, "\nOvershoot in tokens; messages and KB by million admitted tokens; held in seconds of the limit's rate.\t\n")
	}
	r.printRest(t)
	return t.Flush()
}

// printRest writes the experiments and the goals.
func (r *Report) printRest(t io.Writer) {
	if len(r.Settled) > 0 {
		fmt.Fprint(t, "\nsettling after demand moves\t\n\tround trip\tmedian\tby move\tdeviation\tripple\t\n")
	}
	for i := range r.Settled {
		s := &r.Settled[i]
		moves := ""
		for _, d := range s.Times {
			moves += " " + never(d)
		}
		fmt.Fprintf(t, "%s\t%d ms\t%s\t%s\t%.2f%%\t%.1f%%\t\n", s.Model, s.RoundTrip.Milliseconds(), never(s.Median()), moves, 100*s.Deviation, 100*s.Ripple)
	}
	if len(r.Exhausted) > 0 {
		fmt.Fprint(t, "\nusing up a window quota\t\n\tk\ttokens\tgrants\trecalls\tper k·log2(M/k)\tgoal\tused\tlate\t\n")
	}
	for i := range r.Exhausted {
		e := &r.Exhausted[i]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%.3f%%\t%d ms\t\n",
			e.Load, e.K, e.Tokens, e.Grants, e.Recalls, e.Ratio, e.Goal, 100*e.Used, e.Late.Milliseconds())
	}
	if len(r.Exposed) > 0 {
		fmt.Fprint(t, "\nexposure against messages\t\n\tTTL\theld\tgrants+recalls\tleast\treports\tused\tfalse\t\n")
	}
	for i := range r.Exposed {
		e := &r.Exposed[i]
		fmt.Fprintf(t, "%s\t%v\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f%%\t%.2f%%\t\n",
			sizeName(e.Size), e.TTL, e.Held, e.Moves, e.Least, e.Reports, 100*e.Used, 100*e.False)
	}
	if len(r.Goals) > 0 {
		fmt.Fprint(t, "\ngoals\t\n\tgoal\tworst\tmet\twhere\t\n")
	}
	for _, g := range r.Goals {
		met := "yes"
		if !g.Met {
			met = "NO"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", g.What, g.Goal, g.Measured, met, g.Where)
	}
}

func sizeName(size int64) string {
	if size == 0 {
		return "by demand"
	}
	return fmt.Sprintf("%d tokens", size)
}
