// Package resulttest makes up results of drills, as real ones look: for the tests
// of all that reads results. Figures agree with each other, and the overshoot is
// what the judge finds in the admissions.
package resulttest

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
)

// Pass is a region cut off for six seconds, under a system that kept its promise.
func Pass() *result.Result { return story{}.tell() }

// Fail is the same drill of a system that goes on spending a lease that ran out.
func Fail() *result.Result { return story{overspend: 90}.tell() }

// Inconclusive is the same drill with a cut that cut nothing.
func Inconclusive() *result.Result { return story{noCut: true}.tell() }

// Stopped is the same drill, interrupted while the region was cut off.
func Stopped() *result.Result { return story{steps: 72}.tell() }

// Fallback is the same drill in a mode with a bound above 0, which the system
// came close to.
func Fallback() *result.Result { return story{fallback: 100}.tell() }

// story is what happens in a made-up run.
type story struct {
	overspend int64 // tokens a second that eu admits beyond its floor while cut off
	fallback  int64 // the same, as its policy allows
	noCut     bool
	steps     int // after which it is stopped; 0 for all
}

// The made-up drill: three regions, 500 tokens a second, eu cut off from 4 s on
// for 6 s.
const (
	allSteps = 150
	stepTime = 100 * time.Millisecond
	limit    = 500
	cutFrom  = 40
	cutTo    = 100
)

var regions = []string{"us", "eu", "ap"}

func (s story) tell() *result.Result {
	if s.steps == 0 {
		s.steps = allSteps
	}
	r := &result.Result{
		Schema:       result.Schema,
		Reproduction: s.reproduction(),
		Scenario: result.Scenario{
			Name: "isolate-region", Title: "Isolate a region", Safety: true,
			Purpose: "Is the limit kept while eu hears from nobody, and is everyone else served?",
			Source:  "apiVersion: leasehold/drill/v1\nname: isolate-region\nfaults:\n  - cut: {region: eu}\n    from: 4s\n    to: 10s\n",
			Policy:  "apiVersion: leasehold/v1\ndomain: api\nquotas:\n  - name: partner-key\n    match: {api_key: \"*\"}\n    limit: {tokens: 500, per: 1s, burst: 500}\n    partition: {mode: local_floor, floor: 10%}\n    regions: {us: {}, eu: {}, ap: {}}\n",
		},
		Topology: topology(),
		Phases:   s.phases(),
		Faults:   s.faults(),
		Timeline: s.timeline(),
		Events:   s.events(),
	}
	r.Raw = raw(&r.Timeline)
	r.Overshoots = []result.Overshoot{s.overshoot(r.Raw.Admissions)}
	r.Latencies = s.latencies()
	r.Blast = blast(r)
	r.Hypotheses, r.Invariants = s.hypotheses(r), s.invariants()
	r.Evidence = s.evidence(r)
	r.Recovery = s.recovery()
	if s.steps < allSteps {
		r.Stopped = &result.Stop{AtSeconds: s.seconds(), Reason: "interrupted by the operator"}
	}
	r.Verdict = verdict.Of(r)
	return r
}

func (s story) seconds() float64 { return (time.Duration(s.steps) * stepTime).Seconds() }

func (s story) reproduction() result.Reproduction {
	return result.Reproduction{
		Version: "v0.3.0-41-gca5c5cf", Commit: "ca5c5cf0d6a2", Go: "go1.26.0", System: "linux 6.18 amd64", CPUs: 2,
		Seed: 7213, ScenarioSHA256: "5f0e2c7fb0a94cd2a80f6f5f1e0a9a53c1f2b4d6e8097a6b5c4d3e2f10badc0d", TimeScale: 0.25,
		Mode: "namespaces", Command: "leasehold drill run isolate-region --time-scale 0.25 --seed 7213",
		Started: time.Date(2026, 11, 30, 20, 31, 12, 0, time.UTC), Seconds: s.seconds() + 3.4,
	}
}

func topology() result.Topology {
	t := result.Topology{Nodes: []result.Node{
		{Name: "etcd-1", Kind: result.Etcd, Address: "10.7.0.11", PID: 4101},
		{Name: "etcd-2", Kind: result.Etcd, Address: "10.7.0.12", PID: 4102},
		{Name: "etcd-3", Kind: result.Etcd, Address: "10.7.0.13", PID: 4103},
		{Name: "coordinator-1", Kind: result.Coordinator, Address: "10.7.0.21", PID: 4110},
		{Name: "coordinator-2", Kind: result.Coordinator, Address: "10.7.0.22", PID: 4111},
	}}
	for i, region := range regions {
		t.Nodes = append(t.Nodes, result.Node{
			Name: region + "-1", Kind: result.Region, Region: region, Address: fmt.Sprintf("10.7.0.%d", 31+i), PID: 4120 + i,
		})
		t.Links = append(t.Links, result.Link{From: region + "-1", To: "coordinators", RoundTripSeconds: []float64{0.08, 0.15, 0.21}[i]})
	}
	return t
}

func (s story) phases() []result.Phase {
	var phases []result.Phase
	for _, p := range []struct {
		kind     result.PhaseKind
		from, to int
	}{{result.Baseline, 0, cutFrom}, {result.Faulty, cutFrom, cutTo}, {result.Healed, cutTo, allSteps}} {
		if p.from < s.steps {
			phases = append(phases, result.Phase{
				Name: string(p.kind), Kind: p.kind,
				FromSeconds: (time.Duration(p.from) * stepTime).Seconds(), ToSeconds: (time.Duration(min(p.to, s.steps)) * stepTime).Seconds(),
			})
		}
	}
	return phases
}

func (s story) faults() []result.Fault {
	f := result.Fault{
		Name: "isolate", Targets: []string{"eu-1"}, Description: "no packet passes between eu-1 and any other process",
		FromSeconds: 4, ToSeconds: min(10, s.seconds()),
		Bite: result.Bite{Proven: true, Method: "packets dropped", Detail: "the rule's counter went from 0 to 1,412", Count: 1412},
	}
	if s.noCut {
		f.Bite = result.Bite{Method: "packets dropped", Detail: "the rule's counter stayed at 0"}
	}
	return []result.Fault{f}
}

func (s story) events() []result.Event {
	var kept []result.Event
	for _, e := range s.allEvents() {
		if e.AtSeconds <= s.seconds() {
			kept = append(kept, e)
		}
	}
	if s.steps < allSteps {
		kept = append(kept, result.Event{AtSeconds: s.seconds(), Source: "drill", Kind: result.EventStop, Text: "interrupted by the operator"})
	}
	return kept
}

func (s story) allEvents() []result.Event {
	events := []result.Event{
		{AtSeconds: 0, Source: "drill", Kind: result.EventPhase, Text: "baseline begins"},
		{AtSeconds: 4, Source: "drill", Kind: result.EventPhase, Text: "fault begins"},
		{AtSeconds: 4.01, Source: "drill", Kind: result.EventInject, Text: "isolate eu-1"},
	}
	if !s.noCut {
		events = append(events,
			result.Event{AtSeconds: 4.93, Source: "eu-1", Kind: result.EventSystem, Text: "lost the coordinator: no answer for 875 ms"},
			result.Event{AtSeconds: 5.31, Source: "coordinator-1", Kind: result.EventSystem, Text: "a holder's stream ended: region=eu node=eu-1"})
	}
	events = append(events,
		result.Event{AtSeconds: 10, Source: "drill", Kind: result.EventPhase, Text: "recovery begins"},
		result.Event{AtSeconds: 10.02, Source: "drill", Kind: result.EventHeal, Text: "isolate eu-1"})
	if !s.noCut {
		events = append(events, result.Event{AtSeconds: 10.33, Source: "eu-1", Kind: result.EventSystem, Text: "leasing: session=2 epoch=1.5"})
	}
	return events
}
