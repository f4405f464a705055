package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/a1009580/leasehold/bench/figures"
)

// module is the path of the module of the benchmarks.
const module = "github.com/a1009580/leasehold/bench"

// measure runs the benchmarks of the suites, all of them in each round.
func measure(ctx context.Context, chosen []suite, o options) (*figures.Results, error) {
	dir, err := os.MkdirTemp("", "leasehold-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, s := range chosen {
		if err := build(ctx, dir, s); err != nil {
			return nil, err
		}
	}
	if err := buildGubernator(ctx, dir, chosen); err != nil {
		return nil, err
	}
	results := &figures.Results{}
	for round := range o.rounds {
		results.Begin()
		for _, s := range chosen {
			if s.rounds > 0 && round >= s.rounds {
				continue
			}
			began := time.Now()
			output, err := s.run(ctx, dir, o)
			if ctx.Err() != nil {
				fmt.Fprintln(os.Stderr, "interrupted: what follows is what was measured until then")
				return results, nil
			}
			if err != nil {
				return nil, err
			}
			if err := results.Read(s.name, bytes.NewReader(output)); err != nil {
				return nil, fmt.Errorf("%w\n%s", err, output)
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %s took %v\n", round+1, o.rounds, s.name, time.Since(began).Round(time.Second))
		}
	}
	return results, nil
}

// build compiles a suite's benchmarks.
func build(ctx context.Context, dir string, s suite) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", filepath.Join(dir, s.name+".test"), s.path())
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the benchmarks of %s: %w", s.name, err)
	}
	return nil
}

// buildGubernator compiles the one peer that is a program of Go, from a module
// of its own, if a suite asks for it.
func buildGubernator(ctx context.Context, dir string, chosen []suite) error {
	if !slices.ContainsFunc(chosen, func(s suite) bool { return s.name == "wire" }) {
		return nil
	}
	const name = "github.com/gubernator-io/gubernator/v2/cmd/gubernator"
	cmd := exec.CommandContext(ctx, "go", "build", "-C", "gubernator", "-o", filepath.Join(dir, "gubernator"), name)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build Gubernator, in bench/gubernator: %w", err)
	}
	return nil
}

// run runs a suite's benchmarks once and returns what they print.
func (s *suite) run(ctx context.Context, dir string, o options) ([]byte, error) {
	benchtime := s.time
	if o.time != "" && s.time != once {
		benchtime = o.time
	}
	args := []string{"-test.run=^$", "-test.bench=" + s.bench, "-test.cpu=" + s.cpu, "-test.benchtime=" + benchtime, "-test.timeout=30m"}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, s.name+".test"), args...)
	cmd.Env = append(os.Environ(), "LEASEHOLD_BENCH_GUBERNATOR="+filepath.Join(dir, "gubernator"))
	// It may have begun processes of its own, which it ends when it is asked to.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var output, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &trouble
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", s.name, strings.Join(args, " "), err, output.Bytes(), trouble.Bytes())
	}
	return output.Bytes(), nil
}
