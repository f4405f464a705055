// Package measure makes figures of what a drill wrote down: of the requests that
// its clients sent, and of what processes answered when they were asked.
//
// It is pure: a figure is a function of the Record.
package measure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/load"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Record is what one drill wrote down. All times are since the load began.
type Record struct {
	Regions []string
	Cost    int64   // tokens of each request
	Limit   float64 // tokens a second
	// Final is the limit at the end, where the policy was changed; else 0.
	Final    float64
	Requests []load.Request
	Phases   []Phase // baseline, fault and recovery, as far as it came
	// Faults are when faults were there, by the regions whose process stood still or
	// was gone for them.
	Faults []Outage
	// Silences are when nothing could pass between a region and any coordinator,
	// in one direction at least.
	Silences []Silence
	// TTL is the length of a lease if nothing else can be spent, as in the mode
	// fail_closed; else 0. RoundTrips are the least times, by region, between a
	// report and its answer.
	TTL        time.Duration
	RoundTrips []time.Duration
	// OfRegions are by region, then by time; OfCoordinators by time.
	OfRegions      [][]RegionSample
	OfCoordinators []CoordinatorSample
}

// Phase is a part of the run.
type Phase struct {
	Kind     result.PhaseKind
	From, To time.Duration
}

// Outage is a time in which a fault was there.
type Outage struct {
	From, To time.Duration
	// Region is the one that could not answer for it, -1 if all could.
	Region int
}

// Silence is a time in which a region cannot have been granted anything.
type Silence struct {
	From, To time.Duration
	Region   int
	// Frozen says that the region stood still itself, and so decided nothing.
	Frozen bool
}

// RegionSample is what a region said. It was so at some time from Asked to At.
type RegionSample struct {
	Asked, At time.Duration
	State     string
	Connected bool
	Revision  uint64 // of the policy
	Leased    int64  // tokens that it holds unspent
	// Link is never_connected, connected, suspect, cut_off or healing. Transitions
	// grows with each change of it while the process lives.
	Link        string
	Transitions uint64
}

// CoordinatorSample is what a coordinator said. It was so at some time from Asked
// to At.
type CoordinatorSample struct {
	Asked, At time.Duration
	Node      string
	Leads     bool
	Granting  bool
	Epoch     Epoch
	Revision  uint64 // of the policy
	Overspent int64  // reports of more than was granted
	Imbalance int64  // of the books, without its sign
	Stranded  int64  // tokens of holders that are not connected
}

// Epoch is the order of leaders.
type Epoch struct{ History, Revision int64 }

// ParseEpoch reads what coordinators write as "history.revision". An empty text is
// the zero epoch, that of a coordinator which never led.
func ParseEpoch(s string) (e Epoch, err error) {
	if s == "" {
		return e, nil
	}
	if _, err := fmt.Sscanf(s, "%d.%d", &e.History, &e.Revision); err != nil {
		return Epoch{}, fmt.Errorf("epoch %q: %w", s, err)
	}
	return e, nil
}

// Compare orders epochs.
func (e Epoch) Compare(o Epoch) int {
	return cmp.Or(cmp.Compare(e.History, o.History), cmp.Compare(e.Revision, o.Revision))
}

// End is when the last phase ended.
func (r *Record) End() time.Duration {
	if len(r.Phases) == 0 {
		return 0
	}
	return r.Phases[len(r.Phases)-1].To
}

// Phase returns the phase of a kind, and false if the run did not come to it.
func (r *Record) Phase(kind result.PhaseKind) (Phase, bool) {
	i := slices.IndexFunc(r.Phases, func(p Phase) bool { return p.Kind == kind })
	if i < 0 {
		return Phase{}, false
	}
	return r.Phases[i], true
}

// Healed is when the last fault ended, and false if there was none or one is
// still there.
func (r *Record) Healed() (time.Duration, bool) {
	var last time.Duration
	for _, f := range r.Faults {
		if f.To == 0 {
			return 0, false
		}
		last = max(last, f.To)
	}
	return last, len(r.Faults) > 0
}

// Struck is when the first fault began.
func (r *Record) Struck() (time.Duration, bool) {
	if len(r.Faults) == 0 {
		return 0, false
	}
	first := r.Faults[0].From
	for _, f := range r.Faults {
		first = min(first, f.From)
	}
	return first, true
}

// admitted are the tokens that were admitted in [from, to), by the time at which
// the answer came, in one region or, below 0, in all.
func (r *Record) admitted(region int, from, to time.Duration) int64 {
	var sum int64
	for _, q := range r.Requests {
		if q.Outcome == load.Admitted && from <= q.Received && q.Received < to && (region < 0 || q.Region == region) {
			sum += r.Cost
		}
	}
	return sum
}

// Use is what was admitted in a time as a share of what the limit's rate allows in
// it, in one region or, below 0, in all.
func (r *Record) Use(region int, from, to time.Duration) float64 {
	if to <= from {
		return 0
	}
	return float64(r.admitted(region, from, to)) / (r.Limit * (to - from).Seconds())
}
