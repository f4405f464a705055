// Command rebalance measures how well a limit is used by regions whose demand
// moves, by the shipping code and by models of what others do, in virtual time.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/a1009580/leasehold/chaos/lab"
)

func main() {
	var (
		seed   = flag.Uint64("seed", 1, "of arrivals, losses and phases")
		quick  = flag.Bool("quick", false, "few and short scenarios")
		traces = flag.String("traces", "", "a directory of CSV traces (time_ms,region,key,cost) to play as well")
		out    = flag.String("out", "", "a directory for rebalance.json and rebalance.html")
		only   = flag.String("only", "", "play only the scenarios whose names contain this, and no experiments")
		model  = flag.String("model", "", "play only this model")
		work   = flag.Int("workers", runtime.NumCPU(), "runs at once")
	)
	flag.Usage = usage
	flag.Parse()
	o := lab.Options{Seed: *seed, Quick: *quick, Only: *only, Workers: *work}
	if *model != "" {
		m, ok := lab.FindModel(*model)
		if !ok || flag.NArg() > 0 {
			fmt.Fprintf(os.Stderr, "rebalance: no model is named %q\n", *model)
			os.Exit(2)
		}
		o.Models = []lab.Model{m}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, *traces, *out); err != nil {
		fmt.Fprintln(os.Stderr, "rebalance:", err)
		os.Exit(1) //nolint:gocritic // the signals end with the process
	}
}

func usage() {
	fmt.Fprint(os.Stderr, "Measures rebalancing in a simulated world, beside an ideal bucket and models of others.\n\n"+
		"  go run ./chaos/cmd/rebalance -quick -out report\n\n")
	flag.PrintDefaults()
}

func run(ctx context.Context, o lab.Options, traces, out string) error {
	var err error
	if o.Traces, err = readTraces(traces); err != nil {
		return err
	}
	r, err := lab.Measure(ctx, o)
	if err != nil {
		return err
	}
	if err := r.Print(os.Stdout); err != nil || out == "" {
		return err
	}
	return write(r, out)
}

// readTraces reads every *.csv of a directory.
func readTraces(dir string) (list []lab.Scenario, err error) {
	if dir == "" {
		return nil, nil
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.csv"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("%s: no *.csv there", dir)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		t, cut, err := lab.ReadTrace(path, f)
		if err := f.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		list = append(list, lab.FromTrace(path, t, cut))
	}
	return list, nil
}

// write leaves the report as JSON and as a page.
func write(r *lab.Report, dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "rebalance.json"), append(data, '\n'), 0o600); err != nil {
		return err
	}
	page, err := r.Page()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "rebalance.html")
	fmt.Println("\nwritten:", path)
	return os.WriteFile(path, page, 0o600)
}
