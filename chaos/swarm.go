package chaos

import (
	"sync"
	"sync/atomic"
	"time"
)

// Report is what came of many runs.
type Report struct {
	Seeds     int
	Events    int
	Decisions int
	Simulated time.Duration
	Counts    [kinds]int `json:"-"`
	// Met are the counts by the names of their kinds, for machines.
	Met   map[string]int
	Worst [2]float64
	// Failed are the first seeds that failed, in order.
	Failed []Failure
}

// Failure is a seed that broke a law.
type Failure struct {
	Seed uint64
	Err  error
}

func (r *Report) add(seed uint64, o *Result) {
	r.Seeds++
	r.Events += o.Events
	r.Decisions += o.Decisions
	r.Simulated += o.Simulated
	for k := range o.Counts {
		r.Counts[k] += o.Counts[k]
	}
	for i := range o.Worst {
		r.Worst[i] = max(r.Worst[i], o.Worst[i])
	}
	if o.Failure != nil {
		r.Failed = append(r.Failed, Failure{Seed: seed, Err: o.Failure})
	}
}

// NeverExercised lists the kinds of trouble that no run met.
func (r *Report) NeverExercised() (names []string) {
	for k := range kinds {
		if k != lastAct && r.Counts[k] == 0 {
			names = append(names, k.String())
		}
	}
	return names
}

// Swarm plays so many seeds from start on, with so many workers, and stops
// early after enough failures, or when a time has passed (0: never).
func Swarm(start uint64, seeds, workers, failures int, limit time.Duration) *Report {
	var next, failed atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	stop := make(chan struct{})
	if limit > 0 {
		t := time.AfterFunc(limit, func() { close(stop) })
		defer t.Stop()
	}
	total := &Report{}
	for range workers {
		wg.Go(func() {
			part := &Report{}
			for int(failed.Load()) < failures {
				select {
				case <-stop:
					next.Store(int64(seeds))
				default:
				}
				i := next.Add(1) - 1
				if i >= int64(seeds) {
					break
				}
				seed := start + uint64(i)
				r := Play(Draw(seed), false)
				part.add(seed, &r)
				if r.Failure != nil {
					failed.Add(1)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.merge(part)
		})
	}
	wg.Wait()
	total.Met = map[string]int{}
	for k := range kinds {
		if k != lastAct {
			total.Met[k.String()] = total.Counts[k]
		}
	}
	return total
}

func (r *Report) merge(o *Report) {
	r.Seeds += o.Seeds
	r.Events += o.Events
	r.Decisions += o.Decisions
	r.Simulated += o.Simulated
	for k := range o.Counts {
		r.Counts[k] += o.Counts[k]
	}
	for i := range o.Worst {
		r.Worst[i] = max(r.Worst[i], o.Worst[i])
	}
	r.Failed = append(r.Failed, o.Failed...)
	for i := range r.Failed {
		for j := i; j > 0 && r.Failed[j].Seed < r.Failed[j-1].Seed; j-- {
			r.Failed[j], r.Failed[j-1] = r.Failed[j-1], r.Failed[j]
		}
	}
}
