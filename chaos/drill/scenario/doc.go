// Package scenario reads what a drill is to do: files in strict YAML, with a
// version, whose every error has its place; and the drills that are built in.
//
// The package does nothing: it says what is planned. Its times are those of the
// file until Scale multiplies them.
package scenario

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/policy"
)

// Version is the apiVersion of every scenario.
const Version = "leasehold/drill/v1"

// Scenario is one drill.
type Scenario struct {
	Name    string // a-z, 0-9 and dashes
	Title   string
	Purpose string
	// Safety says that the drill is about the promise, and not only about service.
	Safety bool
	Seed   uint64
	// LeastScale is the least --time-scale at which the drill still shows what it
	// is for, above 0 and at most 1.
	LeastScale float64

	Topology Topology
	// Policy is in YAML; Quota is the one that the load meets.
	Policy string
	Quota  *policy.Quota
	Load   Load
	Phases Phases
	Faults []Fault // by the time at which they begin
	Expect []Expectation
	Stop   Stop

	Source []byte // the file
}

// Topology is what is started.
type Topology struct {
	Etcd         int // 1 or 3 members
	Coordinators int // 1 to 3
	ElectionTTL  time.Duration
	Regions      []Region // in the order of the file
}

// Region is one regional process and its way to the coordinators.
type Region struct {
	Name      string
	RoundTrip time.Duration // added to the way, 0 to 10s
	Loss      float64       // share of segments that are sent again, 0 to 0.5
}

// Load is what clients ask for: requests of one descriptor, so of one bucket.
type Load struct {
	Domain     string
	Descriptor []policy.Pair
	Cost       int64             // tokens of each request
	Rates      map[string][]Rate // by region, the earliest first, the first at 0
}

// Rate is what a region's clients ask for from some moment on.
type Rate struct {
	From      time.Duration // since the load began
	PerSecond float64       // tokens
}

// At returns what a region is asked for at a time, in tokens a second.
func (l *Load) At(region string, t time.Duration) float64 {
	rate := 0.0
	for _, r := range l.Rates[region] {
		if r.From <= t {
			rate = r.PerSecond
		}
	}
	return rate
}

// Phases are how long the three parts of a drill take.
type Phases struct{ Baseline, Fault, Recovery time.Duration }

// Total is how long the load lasts.
func (p Phases) Total() time.Duration { return p.Baseline + p.Fault + p.Recovery }

// Stop is what ends a drill early.
type Stop struct {
	// Overshoot is how many tokens beyond the bound end it; below 0 it goes on
	// whatever is seen.
	Overshoot int64
	// FailedShare is which share of all requests of 5 seconds may fail, above 0;
	// 1 lets all of them.
	FailedShare float64
}

// Limit is what the quota admits a second, in the long run.
func (s *Scenario) Limit() float64 {
	return float64(s.Quota.Limit.Tokens) / s.Quota.Limit.Per.Seconds()
}

// Scale multiplies all times of the plan: phases, faults and load. What the
// system's own times are, such as leases, stays. It returns an error for a scale
// that the scenario does not allow.
func (s *Scenario) Scale(by float64) (*Scenario, error) {
	if by < s.LeastScale || by > 100 {
		return nil, fmt.Errorf("--time-scale %v: drill %s needs one from %v to 100", by, s.Name, s.LeastScale)
	}
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) * by) }
	c := *s
	c.Phases = Phases{scaled(s.Phases.Baseline), scaled(s.Phases.Fault), scaled(s.Phases.Recovery)}
	c.Faults = make([]Fault, len(s.Faults))
	for i, f := range s.Faults {
		f.At, f.For = scaled(f.At), scaled(f.For)
		f.Closed, f.Open = scaled(f.Closed), scaled(f.Open)
		c.Faults[i] = f
	}
	c.Expect = make([]Expectation, len(s.Expect))
	for i, e := range s.Expect {
		e.After = scaled(e.After)
		c.Expect[i] = e
	}
	c.Load.Rates = make(map[string][]Rate, len(s.Load.Rates))
	for region, rates := range s.Load.Rates {
		for _, r := range rates {
			c.Load.Rates[region] = append(c.Load.Rates[region], Rate{scaled(r.From), r.PerSecond})
		}
	}
	return &c, nil
}
