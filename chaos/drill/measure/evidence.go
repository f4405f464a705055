package measure

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/load"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// second is the time for which load is looked at.
const second = time.Second

// Load says for each phase whether what was asked for, and decided, was above the
// limit in every second of it. A phase shorter than a second is one.
func (r *Record) Load() []result.Load {
	all := []result.Load{}
	for _, p := range r.Phases {
		l := result.Load{Phase: string(p.Kind), LimitPerSecond: r.Limit}
		l.OfferedPerSecond = r.offered(p.From, p.To)
		l.LeastPerSecond = l.OfferedPerSecond
		for at := p.From; at+second <= p.To; at += second {
			l.LeastPerSecond = min(l.LeastPerSecond, r.offered(at, at+second))
		}
		l.Above = l.LeastPerSecond > r.Limit
		all = append(all, l)
	}
	return all
}

// offered is what was asked for a second in [from, to), of what was decided.
func (r *Record) offered(from, to time.Duration) float64 {
	var sum int64
	for _, q := range r.Requests {
		if q.Outcome != load.Failed && from <= q.Sent && q.Sent < to {
			sum += r.Cost
		}
	}
	if to <= from {
		return 0
	}
	return float64(sum) / (to - from).Seconds()
}

// leastBaselineUse is how much of the limit a healthy system admits under load
// above it, at the least. It includes the first connection's round trips.
const leastBaselineUse = 0.8

// BaselineProblems says why the system was not healthy before the first fault.
func (r *Record) BaselineProblems() []string {
	problems := []string{}
	p, ok := r.Phase(result.Baseline)
	if !ok {
		return append(problems, "there was none")
	}
	if use := r.Use(-1, p.From, p.To); use < leastBaselineUse {
		problems = append(problems, fmt.Sprintf("only %.0f%% of the limit was used", 100*use))
	}
	for i, name := range r.Regions {
		if s, ok := r.regionAt(i, p.To); !ok || s.State != "ready" {
			problems = append(problems, name+" was not ready at its end")
		}
		var failed int
		for _, q := range r.Requests {
			if q.Region == i && q.Outcome == load.Failed && q.Sent < p.To {
				failed++
			}
		}
		if failed > 0 {
			problems = append(problems, fmt.Sprintf("%d requests to %s failed", failed, name))
		}
	}
	if _, ok := r.leaderAt(p.To); !ok {
		problems = append(problems, "no coordinator granted at its end")
	}
	return problems
}

// Recovered is how long after a moment the use of the limit, of the final one if it
// was changed, was a share of it again, for a second, in one region or, below 0, in all. It is false if that did
// not come.
func (r *Record) Recovered(region int, from time.Duration, share float64) (time.Duration, bool) {
	if r.Final > 0 {
		share *= r.Final / r.Limit
	}
	for at := from; at+second <= r.End(); at += Step {
		if r.Use(region, at, at+second) >= share {
			return at - from, true
		}
	}
	return 0, false
}

// Reconnected is how long after a moment every region had a session and a
// coordinator granted.
func (r *Record) Reconnected(from time.Duration) (time.Duration, bool) {
	for at := from + Step; at <= r.End(); at += Step {
		_, all := r.leaderAt(at)
		for i := range r.Regions {
			s, ok := r.regionAt(i, at)
			// What was asked before does not tell of the time after.
			all = all && ok && s.Connected && s.Asked >= from
		}
		if all {
			return at - from, true
		}
	}
	return 0, false
}

// GrantsAnew is how long after a moment a coordinator granted under a newer epoch
// than any before.
func (r *Record) GrantsAnew(from time.Duration) (time.Duration, bool) {
	var before Epoch
	for _, s := range r.OfCoordinators {
		if s.Granting && s.At <= from && s.Epoch.Compare(before) > 0 {
			before = s.Epoch
		}
	}
	for _, s := range r.OfCoordinators {
		if s.Granting && s.At > from && s.Epoch.Compare(before) > 0 {
			return s.At - from, true
		}
	}
	return 0, false
}

// rebalanced is which share of the limit is in use when a drill is taken for
// recovered.
const rebalanced = 0.9

// Recovery is how long it took to heal, and to use the limit again.
func (r *Record) Recovery() []result.Recovery {
	heal := result.Recovery{Name: "heal", What: "every region has a session, and a coordinator grants"}
	use := result.Recovery{Name: "rebalance", What: "for a second, at least 90% of the limit is admitted"}
	if from, ok := r.Healed(); ok {
		if d, ok := r.Reconnected(from); ok {
			heal.Seconds = seconds(d)
		}
		if d, ok := r.Recovered(-1, from, rebalanced); ok {
			use.Seconds = seconds(d)
		}
	}
	return []result.Recovery{heal, use}
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
