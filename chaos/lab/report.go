package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say what a report measures.
type Options struct {
	Seed  uint64
	Quick bool // few and short scenarios
	// Traces are played beside the matrix.
	Traces []Scenario
	// Only keeps the scenarios whose names contain it.
	Only string
	// Models are played; all if empty.
	Models  []Model
	Workers int // runs at once, at least 1
}

// Report is all that was measured. The same options give the same report.
type Report struct {
	Seed      uint64
	Quick     bool
	Models    []string
	Likes     []string // of Models
	Scenarios []string
	Results   []Result // by scenario, then by model
	Settled   []Settled
	Exhausted []Exhausted
	Exposed   []Exposed
	Goals     []Goal
}

// task is one thing to be measured, on its own.
type task func() error

// Measure makes a report. It ends early, with the context's error, when the
// context does.
func Measure(ctx context.Context, o Options) (*Report, error) {
	if len(o.Models) == 0 {
		o.Models = Models()
	}
	r := &Report{Seed: o.Seed, Quick: o.Quick}
	for _, m := range o.Models {
		r.Models = append(r.Models, m.Name)
		r.Likes = append(r.Likes, m.Like)
	}
	scenarios := slices.DeleteFunc(append(Matrix(o.Quick), o.Traces...), func(s Scenario) bool {
		return !strings.Contains(s.Name, o.Only)
	})
	results := make([][]Result, len(scenarios))
	var tasks []task
	for i := range scenarios {
		r.Scenarios = append(r.Scenarios, scenarios[i].Name)
		tasks = append(tasks, func() (err error) {
			results[i], err = scenarios[i].Run(o.Models, o.Seed)
			return err
		})
	}
	if o.Only == "" {
		tasks = append(tasks, r.experiments(&o)...)
	}
	if err := work(ctx, tasks, max(1, o.Workers)); err != nil {
		return nil, err
	}
	r.Results = slices.Concat(results...)
	r.judge()
	return r, nil
}

// experiments are the measurements that stand beside the matrix.
func (r *Report) experiments(o *Options) []task {
	tasks := []task{
		func() (err error) { r.Exhausted, err = MeasureExhaust(o.Quick, o.Seed); return err },
		func() (err error) { r.Exposed, err = MeasureExposure(o.Quick, o.Seed); return err },
	}
	settle := func(m Model, rtt time.Duration) {
		i := len(r.Settled)
		r.Settled = append(r.Settled, Settled{})
		tasks = append(tasks, func() (err error) {
			if r.Settled[i], err = MeasureSettling(m, Net{RoundTrip: rtt}, o.Seed); err != nil {
				err = fmt.Errorf("settling, %s: %w", m.Name, err)
			}
			return err
		})
	}
	for _, m := range o.Models {
		settle(m, 100*time.Millisecond)
	}
	for _, m := range o.Models {
		if m.Name == Ours {
			settle(m, 20*time.Millisecond)
			settle(m, 300*time.Millisecond)
		}
	}
	return tasks
}

// work does all tasks, some at once, and returns the first error.
func work(ctx context.Context, tasks []task, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan task)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for t := range next {
				if err := t(); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, t := range tasks {
		select {
		case next <- t:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}

// middle is the median of durations in which below 0 stands for never.
func middle(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return -1
	}
	sorted := slices.Clone(times)
	slices.SortFunc(sorted, func(a, b time.Duration) int {
		const never = 1 << 62
		return int(min(max(order(a, never)-order(b, never), -1), 1))
	})
	return sorted[len(sorted)/2]
}

func order(d time.Duration, never int64) int64 {
	if d < 0 {
		return never
	}
	return int64(d)
}
