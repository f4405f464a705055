package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/load"
	"github.com/a1009580/leasehold/chaos/drill/measure"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
	"github.com/a1009580/leasehold/policy"
)

// mostRaw is how many admissions a result holds. Longer drills are judged by all
// of theirs all the same.
const mostRaw = 200_000

// assemble makes the result of what was written down. ctx may have ended.
func (r *run) assemble(ctx context.Context, began time.Time) *result.Result {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	rec := r.record()
	out := &result.Result{
		Schema: result.Schema, Stopped: r.stopped, Scenario: r.scenario(), Topology: r.topology(),
		Overshoots: r.overshoots(asking, rec), Faults: r.wounds(rec), Timeline: rec.Timeline(), Events: r.diary.all(),
		Latencies: rec.Latencies(), Blast: rec.Blast(), Recovery: rec.Recovery(), Invariants: rec.Invariants(r.crashes()),
		Evidence: result.Evidence{Load: rec.Load(), BaselineProblems: rec.BaselineProblems(), Samples: r.watch.samples},
		Raw:      result.Raw{Admissions: r.raw(rec), Logs: r.logs()},
	}
	out.Hypotheses = append(out.Hypotheses, measure.Promise(out.Overshoots))
	for _, e := range r.Scenario.Expect {
		out.Hypotheses = append(out.Hypotheses, rec.Check(e))
	}
	for _, p := range r.phases {
		out.Phases = append(out.Phases, result.Phase{Name: string(p.Kind), Kind: p.Kind, FromSeconds: p.From.Seconds(), ToSeconds: p.To.Seconds()})
	}
	out.Reproduction = r.reproduction(began)
	out.Verdict = verdict.Of(out)
	return out
}

// record is what was written down, in order.
func (r *run) record() *measure.Record {
	s := r.Scenario
	rec := &measure.Record{
		Cost: s.Load.Cost, Limit: s.Limit(), Requests: r.load.Requests(), Phases: r.phases,
		OfRegions: r.watch.regions, OfCoordinators: r.watch.coordinators,
	}
	slices.SortFunc(rec.Requests, func(a, b load.Request) int {
		return cmp.Or(cmp.Compare(a.Received, b.Received), cmp.Compare(a.Sent, b.Sent))
	})
	if s.Quota.Partition.Mode == policy.FailClosed {
		rec.TTL = s.Quota.Lease.TTL
	}
	regions := r.fleet.Of(result.Region)
	for _, p := range regions {
		rec.Regions = append(rec.Regions, p.Name)
		rec.RoundTrips = append(rec.RoundTrips, r.usual(p).RoundTrip)
	}
	for _, f := range r.faults {
		if q := quotaOf(f.fault.Policy, s); f.fault.Kind == scenario.ChangeLimit && q != nil {
			rec.Final = float64(q.Limit.Tokens) / q.Limit.Per.Seconds()
		}
		rec.Faults = append(rec.Faults, measure.Outage{From: f.from, To: f.to, Region: -1})
		for i, p := range regions {
			if slices.Contains(f.gone, p) {
				rec.Faults = append(rec.Faults, measure.Outage{From: f.from, To: f.to, Region: i})
			}
			if f.fault.Kind == scenario.Freeze && slices.Contains(f.gone, p) || f.silent(p, r.fleet.Of(result.Coordinator)) {
				rec.Silences = append(rec.Silences, measure.Silence{From: f.struck, To: f.healing, Region: i, Frozen: f.fault.Kind == scenario.Freeze})
			}
		}
	}
	return rec
}

// silent says that a fault cuts a region off from every coordinator, in one
// direction at least, for all of its time.
func (f *injected) silent(region *fleet.Process, coordinators []*fleet.Process) bool {
	if f.fault.Kind != scenario.Cut {
		return false
	}
	for _, c := range coordinators {
		if !slices.ContainsFunc(f.cut, func(p [2]*fleet.Process) bool {
			return p == [2]*fleet.Process{region, c} || p == [2]*fleet.Process{c, region}
		}) {
			return false
		}
	}
	return true
}

// overshoots judges the promise: the larger limit over all of the run, and, where
// the policy was changed, the new limit from when the longest lease of the old one
// has passed.
func (r *run) overshoots(ctx context.Context, rec *measure.Record) []result.Overshoot {
	s := r.Scenario
	key := make([]string, len(s.Load.Descriptor))
	for i, p := range s.Load.Descriptor {
		key[i] = p.Key + "=" + p.Value
	}
	j := measure.Judged{Quota: s.Quota, Key: strings.Join(key, " ")}
	var after *measure.Judged
	for _, f := range r.faults {
		if f.fault.Kind != scenario.ChangeLimit || !f.bite.Proven {
			continue
		}
		changed := quotaOf(f.fault.Policy, s)
		if changed == nil {
			continue
		}
		if at, ok := r.inForceSince(rec); ok {
			longest := max(s.Quota.Lease.TTL, s.Quota.Partition.FloorLease)
			after = &measure.Judged{Quota: changed, Key: j.Key + " (the new limit, once all older leases have ended)", From: at + settle(longest)}
		}
		if larger(changed, s.Quota) {
			j.Quota = changed
		}
	}
	all := []result.Overshoot{rec.Overshoot(j)}
	if after != nil {
		all = append(all, rec.Overshoot(*after))
	}
	bound := r.fleet.Bound(ctx, s.Quota.ID)
	for i := range all {
		all[i].SystemBound = bound
	}
	return all
}

func quotaOf(text string, s *scenario.Scenario) *policy.Quota {
	set, err := policy.Parse("policy", []byte(text))
	if err != nil {
		return nil // it was parsed before
	}
	return set.Quota(s.Quota.ID)
}

// larger says that a promises at least as much as b, whatever the interval.
func larger(a, b *policy.Quota) bool {
	rate := func(l policy.Limit) float64 { return float64(l.Tokens) / float64(l.Per) }
	return a.Limit.Burst >= b.Limit.Burst && rate(a.Limit) >= rate(b.Limit)
}

// inForceSince is when a coordinator was first seen to grant under a newer policy.
func (r *run) inForceSince(rec *measure.Record) (time.Duration, bool) {
	for _, s := range rec.OfCoordinators {
		if s.Granting && s.Revision > r.revision {
			return s.At, true
		}
	}
	return 0, false
}

func (r *run) wounds(rec *measure.Record) []result.Fault {
	all := []result.Fault{}
	for _, f := range r.faults {
		if f.mark != "" {
			f.bite = noticed(rec, f)
		}
		all = append(all, result.Fault{
			Name: cmp.Or(f.mark, string(f.fault.Kind)), Targets: names(f.targets), Description: cmp.Or(f.mark, f.fault.String()),
			FromSeconds: f.from.Seconds(), ToSeconds: f.to.Seconds(), Bite: f.bite,
		})
	}
	return all
}

func (r *run) crashes() []string {
	var all []string
	for _, p := range r.fleet.All() {
		all = append(all, p.Crashes()...)
	}
	return all
}

func (r *run) raw(rec *measure.Record) result.Admissions {
	a := result.Admissions{Regions: rec.Regions, Sent: []int64{}, Received: []int64{}, Cost: []int64{}, Region: []int{}, Bucket: []int{}}
	for _, q := range rec.Requests {
		if q.Outcome != load.Admitted || len(a.Sent) == mostRaw {
			continue
		}
		a.Sent, a.Received = append(a.Sent, int64(q.Sent)), append(a.Received, int64(q.Received))
		a.Cost, a.Region, a.Bucket = append(a.Cost, rec.Cost), append(a.Region, q.Region), append(a.Bucket, 0)
	}
	return a
}

func (r *run) logs() []result.Log {
	all := []result.Log{}
	for _, p := range r.fleet.All() {
		all = append(all, result.Log{Node: p.Name, Lines: p.Tail()})
	}
	return all
}

func (r *run) scenario() result.Scenario {
	s := r.Scenario
	return result.Scenario{
		Name: s.Name, Title: s.Title, Purpose: s.Purpose, Safety: s.Safety, Source: string(s.Source), Policy: s.Policy,
	}
}

func (r *run) topology() result.Topology {
	t := result.Topology{Nodes: []result.Node{}, Links: []result.Link{}}
	for _, p := range r.fleet.All() {
		n := result.Node{Name: p.Name, Kind: p.Kind, Address: p.Place.Addr()}
		n.PID, _ = p.PID()
		if p.Kind == result.Region {
			n.Region = p.Name
		}
		t.Nodes = append(t.Nodes, n)
	}
	for _, g := range r.Scenario.Topology.Regions {
		for _, c := range r.fleet.Of(result.Coordinator) {
			t.Links = append(t.Links, result.Link{From: g.Name, To: c.Name, RoundTripSeconds: g.RoundTrip.Seconds(), LossPercent: 100 * g.Loss})
		}
	}
	return t
}

// reproduction is all but what the caller knows: version, commit, command and
// scale.
func (r *run) reproduction(began time.Time) result.Reproduction {
	sum := sha256.Sum256(r.Scenario.Source)
	return result.Reproduction{
		Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH + kernel(), CPUs: runtime.NumCPU(), Seed: r.Scenario.Seed,
		ScenarioSHA256: hex.EncodeToString(sum[:]), Mode: r.Network.Mode(), Started: began.UTC(), Seconds: time.Since(began).Seconds(),
	}
}
