// Command bench measures Leasehold beside its peers, prints every figure as a
// ratio within this one run with its goal beside it, and writes the same as JSON
// and as one drawing. Its benchmarks are ordinary ones of Go; what it adds is
// that they run in turn, round by round, so that noise meets all of them.
//
// A goal that is missed is printed and is no failure: how fast a machine is at
// some moment is no property of the code.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/a1009580/leasehold/bench/figures"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // stop ends with the process
	}
}

// options are the flags.
type options struct {
	rounds int
	only   string
	time   string
	out    string
}

func run(ctx context.Context) error {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "how often every benchmark runs, all of them in turn")
	flag.StringVar(&o.only, "only", "", "run these suites alone, separated by commas: "+strings.Join(names(), ", "))
	flag.StringVar(&o.time, "benchtime", "", "how long each benchmark runs in each round, instead of what its suite says")
	flag.StringVar(&o.out, "out", ".", "the directory for bench.json and bench.svg")
	flag.Parse()
	if flag.NArg() > 0 || o.rounds < 1 {
		return fmt.Errorf("rounds %d, arguments %q: at least 1 round and no arguments; see -help", o.rounds, flag.Args())
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	results, err := measure(ctx, chosen, o)
	if err != nil {
		return err
	}
	return write(report(ctx, chosen, results, o.rounds), o.out)
}

// report works out the rows of the suites that ran.
func report(ctx context.Context, chosen []suite, results *figures.Results, rounds int) *figures.Report {
	r := &figures.Report{
		Time: time.Now().UTC().Truncate(time.Second), Machine: machine(), Go: runtime.Version(),
		Commit: commit(ctx), Rounds: rounds, Results: results,
	}
	for _, s := range chosen {
		for _, row := range s.rows {
			r.Figures = append(r.Figures, results.Judge(row))
		}
		for _, c := range s.curves {
			r.Curves = append(r.Curves, c.draw(results))
		}
	}
	return r
}

// write prints the table and writes the files.
func write(r *figures.Report, dir string) error {
	if err := r.Table(os.Stdout); err != nil {
		return err
	}
	for name, to := range map[string]func(*os.File) error{
		"bench.json": func(f *os.File) error { return r.JSON(f) },
		"bench.svg":  func(f *os.File) error { return r.SVG(f) },
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := to(f); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// machine names the processor and the system.
func machine() string {
	name := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if model, ok := strings.CutPrefix(line, "model name"); ok {
				name = strings.Trim(model, "\t :\n")
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s", name, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}

// commit names what is measured, as far as git knows it.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
