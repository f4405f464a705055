package chaos

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Print writes the report for people. Replay is the command that plays a seed
// again, as far as its number.
func (r *Report) Print(w io.Writer, took time.Duration, replay string) {
	fmt.Fprintf(w, "runs             %d, %d failed, in %v (%.0f a minute)\n", r.Seeds, len(r.Failed), took.Round(time.Second/10),
		float64(r.Seeds)/took.Minutes())
	fmt.Fprintf(w, "events           %d, and %d decisions\n", r.Events, r.Decisions)
	fmt.Fprintf(w, "simulated        %.1f hours\n", r.Simulated.Hours())
	fmt.Fprintf(w, "worst observed   %.4f of the bound of a token bucket, %.4f of a window's\n", r.Worst[0], r.Worst[1])
	for k := range kinds {
		if k != lastAct && r.Counts[k] > 0 {
			fmt.Fprintf(w, "  %-38s %d\n", k, r.Counts[k])
		}
	}
	if never := r.NeverExercised(); len(never) > 0 {
		fmt.Fprintf(w, "never exercised  %s\n", strings.Join(never, ", "))
	}
	for _, f := range r.Failed {
		first, _, _ := strings.Cut(f.Err.Error(), "\n")
		fmt.Fprintf(w, "FAILED           seed %d: %s\n                 %s %d -v\n", f.Seed, first, replay, f.Seed)
	}
}

// PrintStory writes what happened in one run.
func PrintStory(w io.Writer, cfg *Config, r *Result, all bool) {
	fmt.Fprintf(w, "seed %d: %d coordinators, drift %d ppm, election %v, reports every %v\n",
		cfg.Seed, len(cfg.Coordinators), cfg.Drift, cfg.ElectionTTL, cfg.ReportInterval)
	for i := range cfg.Regions {
		m := &cfg.Regions[i]
		fmt.Fprintf(w, "  %s/%s is %v away (+%v), its clock runs %+d ppm\n", m.Name, m.Node, m.Latency, m.Jitter, m.PPM)
	}
	for i, p := range cfg.Policies {
		for j := range p {
			t := &p[j]
			kind := fmt.Sprintf("%d per %v, burst %d", t.Tokens, t.Per, t.Burst)
			if t.Windowed {
				kind = fmt.Sprintf("%d in each window", t.Tokens)
			}
			fmt.Fprintf(w, "  policy %d: %s: %s, leases of %v, floors %v of %v\n", i, t.Quota, kind, t.TTL, t.Floors, t.FloorTTL)
		}
	}
	if cfg.Net != (Net{}) || cfg.Store != (StoreFaults{}) {
		fmt.Fprintf(w, "  messages: %+v\n  store: %+v\n", cfg.Net, cfg.Store)
	}
	story := r.Story
	if !all && len(story) > 60 {
		story = story[len(story)-60:]
	}
	for _, line := range story {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, r)
}
