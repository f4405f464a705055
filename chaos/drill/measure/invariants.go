package measure

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/load"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// longestWait is how long a decision may take at a region that runs: the second for
// which it waits for a first lease, and what a busy machine may hold up a client or
// a region for. A decision that waits for a dead dependency takes far longer.
const longestWait = 5 * time.Second

// Invariants are what must hold in every drill. crashes are the processes that
// ended without being told to.
func (r *Record) Invariants(crashes []string) []result.Check {
	return []result.Check{
		r.booksBalance(), r.nothingOverspent(), r.oneLeader(), r.policyForward(), r.deadlinesKept(), r.cutOffStaysReady(), r.answersInTime(),
		nothingCrashed(crashes),
	}
}

// verdict is a check that is broken if anything is wrong, and not exercised if
// nothing was looked at.
func verdict(c result.Check, looked int, wrong []string) result.Check {
	switch {
	case len(wrong) > 0:
		c.Outcome, c.Observed = result.Broken, wrong[0]
		if n := len(wrong) - 1; n > 0 {
			c.Observed += fmt.Sprintf(", and %d more", n)
		}
	case looked == 0:
		c.Outcome, c.Observed = result.NotExercised, "there was no occasion"
	default:
		c.Outcome = result.Held
	}
	return c
}

func (r *Record) booksBalance() result.Check {
	var wrong []string
	looked := 0
	for _, s := range r.OfCoordinators {
		if !s.Granting {
			continue
		}
		looked++
		if s.Imbalance != 0 {
			wrong = append(wrong, fmt.Sprintf("%s was off by %d tokens at %.1f s", s.Node, s.Imbalance, s.At.Seconds()))
		}
	}
	return verdict(result.Check{
		ID: "books-balance", Statement: "the coordinator's books balance (law 16)", Expected: "an imbalance of 0 whenever it is asked",
		Observed: fmt.Sprintf("0 in %d answers", looked),
	}, looked, wrong)
}

func (r *Record) nothingOverspent() result.Check {
	var wrong []string
	looked := 0
	for _, s := range r.OfCoordinators {
		if !s.Leads {
			continue
		}
		looked++
		if s.Overspent != 0 {
			wrong = append(wrong, fmt.Sprintf("%s heard of %d by %.1f s", s.Node, s.Overspent, s.At.Seconds()))
		}
	}
	return verdict(result.Check{
		ID: "nothing-overspent", Statement: "no region reports that it spent more than it was granted (law 3)", Expected: "no such report",
		Observed: fmt.Sprintf("0 in %d answers", looked),
	}, looked, wrong)
}

// oneLeader looks for a coordinator that granted under an older epoch after another
// had granted under a newer one. Answers tell of some moment since the question, so
// that only what surely came later counts.
func (r *Record) oneLeader() result.Check {
	var wrong []string
	looked := 0
	var newest Epoch
	var since time.Duration // by when it surely was the newest
	for _, s := range r.OfCoordinators {
		if !s.Granting {
			continue
		}
		looked++
		switch c := s.Epoch.Compare(newest); {
		case c > 0:
			newest, since = s.Epoch, s.At
		case c < 0 && s.Asked > since:
			wrong = append(wrong, fmt.Sprintf("%s granted in epoch %d.%d at %.2f s, after epoch %d.%d had begun at %.2f s or before",
				s.Node, s.Epoch.History, s.Epoch.Revision, s.Asked.Seconds(), newest.History, newest.Revision, since.Seconds()))
		}
	}
	return verdict(result.Check{
		ID: "epochs-rise", Statement: "once a coordinator grants under a newer epoch, none grants under an older one (law 9)", Expected: "epochs only rise",
		Observed: fmt.Sprintf("they only rose, in %d answers", looked),
	}, looked, wrong)
}

// policyForward holds within one history: a store that lost its past has forgotten
// its policies, too.
func (r *Record) policyForward() result.Check {
	var wrong []string
	looked, histories := 0, map[int64]bool{}
	for _, s := range r.OfCoordinators {
		if s.Granting {
			histories[s.Epoch.History] = true
		}
	}
	if len(histories) <= 1 {
		for i, samples := range r.OfRegions {
			var last uint64
			for _, s := range samples {
				looked++
				if s.Revision < last {
					wrong = append(wrong, fmt.Sprintf("%s went from revision %d to %d at %.1f s", r.Regions[i], last, s.Revision, s.At.Seconds()))
				}
				last = s.Revision
			}
		}
	}
	return verdict(result.Check{
		ID: "policy-forward", Statement: "no region goes back to an older policy (law 12)", Expected: "revisions only rise",
		Observed: fmt.Sprintf("they only rose, in %d answers", looked),
	}, looked, wrong)
}

// deadlinesKept looks for admissions by regions of which every lease must have
// ended. All that a region may spend in the mode fail_closed was granted in answer
// to a report, and ends a lease after that was sent. So one that is cut off spends
// nothing once a lease has passed; and one that stood still for longer than a lease
// spends nothing before a report can have been answered. Other modes have more to
// spend, and are not looked at.
func (r *Record) deadlinesKept() result.Check {
	var wrong []string
	looked := 0
	for _, w := range r.lapses() {
		for _, q := range r.Requests {
			if q.Region != w.Region || q.Outcome == load.Failed || q.Received < w.From || q.Received > w.To || !w.Frozen && q.Sent < w.From {
				continue // not surely decided then
			}
			looked++
			if q.Outcome == load.Admitted {
				wrong = append(wrong, fmt.Sprintf("%s admitted one at %.2f s, when all of its leases had ended", r.Regions[w.Region], q.Received.Seconds()))
			}
		}
	}
	return verdict(result.Check{
		ID: "deadlines-kept", Statement: "a region spends nothing of a lease that has ended (law 6)", Expected: "no admission after the end of the last lease",
		Observed: fmt.Sprintf("none in %d decisions", looked),
	}, looked, wrong)
}

// lapses are the times in which a region has no lease that still runs. In those of
// a frozen one whatever is answered was decided then: it answered nothing before.
func (r *Record) lapses() []Silence {
	var all []Silence
	if r.TTL == 0 {
		return nil
	}
	lease := r.TTL + r.TTL*DriftPPM/1_000_000
	for _, s := range r.Silences {
		if s.To-s.From <= lease {
			continue
		}
		if s.Frozen {
			all = append(all, Silence{Region: s.Region, From: s.To, To: s.To + r.RoundTrips[s.Region], Frozen: true})
		} else {
			all = append(all, Silence{Region: s.Region, From: s.From + lease, To: s.To})
		}
	}
	return all
}

func (r *Record) cutOffStaysReady() result.Check {
	var wrong []string
	looked := 0
	for i, samples := range r.OfRegions {
		for _, s := range samples {
			if s.Connected {
				continue
			}
			switch s.State {
			case "degraded":
				looked++
			case "unready":
				if !r.outage(i, s.Asked, s.At) {
					wrong = append(wrong, fmt.Sprintf("%s was %s at %.1f s", r.Regions[i], s.State, s.At.Seconds()))
				}
			}
		}
	}
	return verdict(result.Check{
		ID: "cut-off-stays-ready", Statement: "a region that is cut off stays ready, so that its load balancer keeps it", Expected: "degraded, and never unready",
		Observed: fmt.Sprintf("degraded in %d answers", looked),
	}, looked, wrong)
}

// outage says whether a region could not answer for some of a time.
func (r *Record) outage(region int, from, to time.Duration) bool {
	for _, f := range r.Faults {
		if f.Region == region && f.From <= to && (f.To == 0 || from <= f.To) {
			return true
		}
	}
	return false
}

func (r *Record) answersInTime() result.Check {
	var wrong []string
	var looked int
	var worst time.Duration
	for _, q := range r.Requests {
		if q.Outcome == load.Failed || r.outage(q.Region, q.Sent, q.Received) {
			continue
		}
		looked++
		took := q.Received - q.Sent
		worst = max(worst, took)
		if took > longestWait {
			wrong = append(wrong, fmt.Sprintf("%s took %.2f s for a request at %.1f s", r.Regions[q.Region], took.Seconds(), q.Sent.Seconds()))
		}
	}
	return verdict(result.Check{
		ID: "answers-in-time", Statement: "a region that runs decides in time, whatever else has failed (law 19)",
		Expected: fmt.Sprintf("every decision within %v", longestWait),
		Observed: fmt.Sprintf("%d decisions, the slowest in %.3f s", looked, worst.Seconds()),
	}, looked, wrong)
}

func nothingCrashed(crashes []string) result.Check {
	return verdict(result.Check{
		ID: "nothing-crashed", Statement: "no process ends by itself", Expected: "none", Observed: "none",
	}, 1, crashes)
}
