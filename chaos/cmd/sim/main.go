// Command sim plays the simulated world of package chaos for many seeds, or one
// of them again.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/a1009580/leasehold/chaos"
)

func main() {
	var (
		seeds    = flag.Int("seeds", 10_000, "how many seeds to play")
		start    = flag.Uint64("start", 1, "the first seed")
		workers  = flag.Int("workers", runtime.NumCPU(), "how many runs at once")
		duration = flag.Duration("duration", 0, "stop after this time; 0: after all seeds")
		replay   = flag.Uint64("replay", 0, "play this one seed and tell what happens")
		shrink   = flag.Bool("shrink", true, "with -replay: make a failing run small first")
		verbose  = flag.Bool("v", false, "with -replay: tell the whole story, not only its end")
		failures = flag.Int("failures", 1, "stop after so many failures")
		detail   = flag.Bool("vv", false, "with -replay: tell of every message and admission")
		asJSON   = flag.Bool("json", false, "print the report as JSON")
		mutant   = flag.String("mutant", "", "break this law on purpose (needs -tags mutants)")
	)
	flag.Parse()
	replayer := "go run ./chaos/cmd/sim -replay"
	if *mutant != "" {
		if !slices.ContainsFunc(chaos.Mutants, func(m chaos.Mutant) bool { return m.Name == *mutant }) {
			fmt.Fprintf(os.Stderr, "sim: no mutant is named %q: docs/mutants.md lists them\n", *mutant)
			os.Exit(2)
		}
		if !chaos.SetMutant(*mutant) {
			fmt.Fprintln(os.Stderr, "sim: -mutant needs a binary that is built with -tags mutants")
			os.Exit(2)
		}
		replayer = fmt.Sprintf("go run -tags mutants ./chaos/cmd/sim -mutant %q -replay", *mutant)
	}
	if *replay != 0 {
		os.Exit(again(*replay, *shrink, *verbose || *detail, *detail))
	}
	began := time.Now()
	report := chaos.Swarm(*start, *seeds, *workers, *failures, *duration)
	if *asJSON {
		_ = json.NewEncoder(os.Stdout).Encode(report)
	} else {
		report.Print(os.Stdout, time.Since(began), replayer)
	}
	if len(report.Failed) > 0 {
		again(report.Failed[0].Seed, true, false, false)
		os.Exit(3)
	}
}

// again plays one seed and tells what happens.
func again(seed uint64, shrink, verbose, detail bool) int {
	cfg := chaos.Draw(seed)
	cfg.Detail = detail
	res := chaos.Play(cfg, true)
	if res.Failure != nil && shrink {
		cfg, res = chaos.Shrink(cfg)
	}
	chaos.PrintStory(os.Stdout, cfg, &res, verbose)
	if res.Failure != nil {
		return 3
	}
	return 0
}
