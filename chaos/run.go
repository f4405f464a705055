package chaos

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// Result is what came of one run.
type Result struct {
	Failure   error
	Story     []string
	Counts    [kinds]int
	Events    int
	Decisions int
	Simulated time.Duration
	// Worst is the greatest ratio of observed to bound: of a token bucket, of a
	// window quota.
	Worst [2]float64
	// Used is the least share of an ideal bucket's tokens that was admitted, in
	// an ideal run; else 0.
	Used float64
	// Tightness is the greatest share of the closed form of the cuts that a bucket
	// was exceeded by.
	Tightness float64
}

// Play runs one configuration. With telling, the result has the story.
func Play(cfg *Config, telling bool) (res Result) {
	w := newWorld(cfg, telling)
	defer func() {
		if p := recover(); p != nil {
			w.fail("panic: %v\n%s", p, debug.Stack())
		}
		res = w.result()
	}()
	w.run(cfg.Duration)
	if cfg.Ideal {
		w.ideal = w.used()
	}
	w.run(cfg.Duration + cfg.Quiet)
	if w.failure == nil && !w.lost {
		w.judgeLiveness()
	}
	if w.failure == nil {
		w.run(w.now + 2*w.longestLease() + 3*time.Second)
	}
	if w.failure == nil && !w.lost {
		w.judgeStranded()
	}
	if w.failure == nil {
		w.judgeOvershoot()
	}
	return res
}

func (w *World) result() Result {
	r := Result{
		Failure: w.failure, Story: w.story, Counts: w.counts, Events: w.events, Decisions: w.decisions, Simulated: w.now,
	}
	for b := range w.bounds {
		m := &w.bounds[b]
		i := 0
		if m.windowed {
			i = 1
		}
		r.Worst[i] = max(r.Worst[i], m.worst)
	}
	r.Used, r.Tightness = w.ideal, w.tightness
	return r
}

// judgeLiveness says that after the last fault healed, everybody who asked now
// and then was admitted at last; of a bucket with fewer tokens than there are
// processes, at least somebody was.
func (w *World) judgeLiveness() {
	if !w.announcedAs || w.wanted < 0 || w.cfg.Wild {
		return // nobody knows which policy is in force
	}
	for _, t := range w.cfg.Policies[w.wanted] {
		for b := range w.ids {
			if w.ids[b].Quota != t.Quota {
				continue
			}
			served, n := 0, int64(len(w.regions))
			for _, r := range w.regions {
				if r.cells[b].probed {
					served++
				}
			}
			enough := t.Windowed && t.Tokens >= 20*n+floorTokens(t.Floors) || !t.Windowed && t.Tokens >= 2*n && t.Burst >= 3*n+floorBursts(t.Floors)
			if w.poolDry(&t) {
				continue
			}
			if served == 0 || enough && served < len(w.regions) {
				w.fail("liveness: everything worked for %v, and only %d of %d processes were given anything of %s, %s",
					w.cfg.Quiet, served, n, t.Quota, w.ids[b].Key)
			}
		}
	}
}

func floorBursts(floors []lease.FloorTerms) (sum int64) {
	for i := range floors {
		sum += floors[i].Burst
	}
	return sum
}

func floorTokens(floors []lease.FloorTerms) (sum int64) {
	for i := range floors {
		sum += floors[i].Tokens
	}
	return sum
}

// poolDry says that floors leave no room in the pool: then a process without a
// floor has nothing to hope for.
func (w *World) poolDry(t *lease.Terms) bool {
	return !t.Windowed && t.Burst-floorBursts(t.Floors) <= 0 || t.Windowed && t.Tokens-floorTokens(t.Floors) <= 0
}

// judgeStranded says that when nobody has asked for longer than any lease, no
// token is anywhere but with the coordinator.
func (w *World) judgeStranded() {
	c := w.newest
	if c == nil || c.ledger == nil {
		w.fail("liveness: nobody leads at the end")
		return
	}
	for b := range w.ids {
		if w.cfg.Wild { // it grants to those who ask for nothing
			break
		}
		v, ok := c.ledger.View(w.ids[b])
		if ok && !w.bounds[b].windowed && v.Outstanding > 0 {
			w.fail("law 18: %d tokens of %s are outstanding long after the last request", v.Outstanding, w.ids[b].Quota)
		}
	}
}

// used compares what was admitted with what an ideal central bucket could have.
func (w *World) used() float64 {
	least := 1.0
	for b := range w.bounds {
		m := &w.bounds[b]
		if m.windowed {
			continue
		}
		t := w.cfg.Policies[0][b/w.cfg.Keys]
		could := float64(t.Burst) + float64(t.Tokens)*float64(w.cfg.Duration)/float64(t.Per)
		least = min(least, float64(m.total)/could)
	}
	return least
}

func (r *Result) String() string {
	if r.Failure != nil {
		return r.Failure.Error()
	}
	return fmt.Sprintf("%d events, %d decisions in %v", r.Events, r.Decisions, r.Simulated)
}
