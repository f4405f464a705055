package report

import (
	"strconv"
	"strings"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

func (t *text) faults(r *result.Result) {
	if len(r.Faults) == 0 {
		return
	}
	t.title("Faults")
	var rows [][]string
	for _, f := range r.Faults {
		proof := "NOT PROVEN"
		if f.Bite.Proven {
			proof = "proven"
		}
		if f.Bite.Method != "" || f.Bite.Detail != "" {
			proof += " (" + strings.Trim(f.Bite.Method+": "+f.Bite.Detail, ": ") + ")"
		}
		rows = append(rows, []string{clock(f.FromSeconds), clock(f.ToSeconds), f.Name + " " + strings.Join(f.Targets, ", "), proof})
	}
	t.table([]string{"from", "to", "what", "effect"}, rows)
}

func (t *text) events(r *result.Result) {
	if len(r.Events) == 0 {
		return
	}
	t.title("Events")
	var rows [][]string
	for _, e := range r.Events {
		rows = append(rows, []string{clock(e.AtSeconds), e.Source, kindWord(e.Kind) + e.Text})
	}
	t.table(nil, rows)
}

func (t *text) latency(r *result.Result) {
	if len(r.Latencies) == 0 {
		return
	}
	t.title("Decision latency")
	var rows [][]string
	for _, l := range r.Latencies {
		region := l.Region
		if region == "" {
			region = "all"
		}
		rows = append(rows, []string{l.Phase, region, seconds(l.P50), seconds(l.P99), seconds(l.P999), seconds(l.Max), comma(l.Requests)})
	}
	t.table([]string{"phase", "region", "p50", "p99", "p99.9", "maximum", "requests"}, rows)
}

func (t *text) blast(r *result.Result) {
	if len(r.Blast) == 0 {
		return
	}
	t.title("Blast radius")
	var rows [][]string
	for _, i := range r.Blast {
		part := absent
		if i.OfBaseline != nil {
			part = share(*i.OfBaseline)
		}
		rows = append(rows, []string{i.Phase, i.Region, comma(i.Admitted), comma(i.Denied), comma(i.Failed), rate(i.AdmittedPerSecond), part})
	}
	t.table([]string{"phase", "region", "admitted", "denied", "failed", "tokens/s", "of baseline"}, rows)
}

func (t *text) recovery(r *result.Result) {
	if len(r.Recovery) == 0 {
		return
	}
	t.title("Recovery, from when the last fault was healed")
	var rows [][]string
	for _, x := range r.Recovery {
		after := "not before the run ended"
		if x.Seconds != nil {
			after = seconds(*x.Seconds)
		}
		rows = append(rows, []string{x.Name, after, x.What})
	}
	t.table(nil, rows)
}

func (t *text) evidence(r *result.Result) {
	t.title("Was it a test?")
	rows := [][]string{}
	for _, p := range r.Evidence.BaselineProblems {
		rows = append(rows, []string{"baseline", "NOT HEALTHY: " + p})
	}
	if len(rows) == 0 {
		rows = append(rows, []string{"baseline", "healthy"})
	}
	s := r.Evidence.Samples
	rows = append(rows, []string{"samples", comma(s.Taken) + " of " + comma(s.Expected) + ", " + comma(s.Missing) + " missing"})
	for _, l := range r.Evidence.Load {
		above := "above the limit throughout"
		if !l.Above {
			above = "NOT ABOVE the limit throughout"
		}
		rows = append(rows, []string{"load", l.Phase + ": " + rate(l.OfferedPerSecond) + "/s, at least " + rate(l.LeastPerSecond) +
			"/s, limit " + rate(l.LimitPerSecond) + "/s: " + above})
	}
	if r.Stopped != nil {
		rows = append(rows, []string{"stopped", "after " + seconds(r.Stopped.AtSeconds) + ": " + r.Stopped.Reason})
	}
	t.table(nil, rows)
}

func (t *text) reproduction(r *result.Result) {
	p := r.Reproduction
	t.title("Run it again")
	t.table(nil, [][]string{
		{"command", p.Command},
		{"version", strings.TrimSuffix(p.Version+", commit "+p.Commit, ", commit ")},
		{"seed", strconv.FormatUint(p.Seed, 10)},
		{"scenario", r.Scenario.Name + ", SHA-256 " + p.ScenarioSHA256},
		{"machine", p.System + ", " + plural(int64(p.CPUs), "CPU") + ", " + p.Go + ", processes apart by " + p.Mode},
		{"took", seconds(p.Seconds) + " at a time scale of " + strconv.FormatFloat(p.TimeScale, 'g', -1, 64)},
	})
}
