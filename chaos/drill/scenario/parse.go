package scenario

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/a1009580/leasehold/policy"
)

// The ranges of what a scenario may say.
const (
	maxPhase   = 24 * time.Hour
	leastPhase = time.Second
	maxRegions = 16
	maxRate    = 100_000
)

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,40}$`)

// Parse reads a scenario. file names it in errors, of which all are returned,
// each as "file:line:column: message".
func Parse(file string, data []byte) (*Scenario, error) {
	d := &decoder{file: file}
	root, err := d.root(data)
	if err != nil {
		return nil, err
	}
	o := d.object(root, "", "apiVersion", "name", "title", "purpose", "safety", "seed", "least_time_scale",
		"topology", "policy", "load", "phases", "faults", "expect", "stop")
	s := &Scenario{Seed: 1, LeastScale: 1, Source: bytes.Clone(data)}
	if v := o.require("apiVersion"); v != nil && v.GetToken().Value != Version {
		d.errorf(v.GetToken(), "apiVersion", "must be %s, not %s", Version, show(v))
	}
	s.Name = d.name(o.require("name"), "name")
	s.Title = d.text(o.require("title"), "title")
	s.Purpose = strings.TrimSpace(d.text(o.require("purpose"), "purpose"))
	s.Safety = d.boolean(o.get("safety"), "safety")
	if n := o.get("seed"); n != nil {
		s.Seed = uint64(d.integer(n, "seed", 0, 1<<53))
	}
	if n := o.get("least_time_scale"); n != nil {
		s.LeastScale = d.number(n, "least_time_scale", 0.01, 1)
	}
	s.Topology = d.topology(o.require("topology"))
	s.Load = d.load(o.require("load"), &s.Topology)
	s.Policy = d.text(o.require("policy"), "policy")
	s.Phases = d.phases(o.require("phases"))
	s.Faults = d.faults(o.require("faults"), s)
	s.Expect = d.expectations(o.get("expect"), &s.Topology)
	s.Stop = d.stop(o.get("stop"))
	if len(d.errs) == 0 {
		d.quota(o.get("policy"), s)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return s, nil
}

func (d *decoder) name(n ast.Node, path string) string {
	s := d.text(n, path)
	if n != nil && !nameForm.MatchString(s) {
		d.errorf(n.GetToken(), path, "must be 1 to 41 of the characters a-z, 0-9 and -, with a letter first, not %s", show(n))
	}
	return s
}

func (d *decoder) topology(n ast.Node) Topology {
	t := Topology{Etcd: 3, Coordinators: 2, ElectionTTL: 2 * time.Second}
	o := d.object(n, "topology", "etcd", "coordinators", "election_ttl", "regions")
	if o == nil {
		return t
	}
	if v := o.get("etcd"); v != nil {
		if t.Etcd = int(d.integer(v, "topology.etcd", 1, 3)); t.Etcd == 2 {
			d.errorf(v.GetToken(), "topology.etcd", "must be 1 or 3: two members stand still as soon as one does")
		}
	}
	if v := o.get("coordinators"); v != nil {
		t.Coordinators = int(d.integer(v, "topology.coordinators", 1, 3))
	}
	if v := o.get("election_ttl"); v != nil {
		t.ElectionTTL = d.duration(v, "topology.election_ttl", time.Second, time.Minute)
	}
	regions := d.object(o.require("regions"), "topology.regions")
	if regions == nil {
		return t
	}
	if n := len(regions.keys); n < 1 || n > maxRegions {
		d.errorf(regions.at, "topology.regions", "must be 1 to %d, not %d", maxRegions, n)
	}
	taken := Topology{Etcd: 3, Coordinators: 3}
	for _, name := range regions.keys {
		path := regions.name(name)
		if !nameForm.MatchString(name) || slices.Contains(taken.Targets(), name) {
			d.errorf(regions.at, path, "%q cannot be the name of a region", name)
		}
		r := Region{Name: name}
		if f := d.object(regions.get(name), path, "round_trip", "loss"); f != nil {
			r.RoundTrip = d.duration(f.get("round_trip"), f.name("round_trip"), 0, 10*time.Second)
			r.Loss = d.percent(f.get("loss"), f.name("loss"), 0.5)
		}
		t.Regions = append(t.Regions, r)
	}
	return t
}

func (d *decoder) load(n ast.Node, t *Topology) Load {
	l := Load{Cost: 1, Rates: map[string][]Rate{}}
	o := d.object(n, "load", "domain", "descriptor", "cost", "rates")
	if o == nil {
		return l
	}
	l.Domain = d.text(o.require("domain"), "load.domain")
	if c := o.get("cost"); c != nil {
		l.Cost = d.integer(c, "load.cost", 1, 1_000_000)
	}
	if entries := d.object(o.require("descriptor"), "load.descriptor"); entries != nil {
		for _, key := range entries.keys {
			l.Descriptor = append(l.Descriptor, policy.Pair{Key: key, Value: d.text(entries.get(key), entries.name(key))})
		}
	}
	rates := d.object(o.require("rates"), "load.rates")
	if rates == nil {
		return l
	}
	for _, region := range rates.keys {
		if !slices.ContainsFunc(t.Regions, func(r Region) bool { return r.Name == region }) {
			d.errorf(rates.get(region).GetToken(), rates.path, "there is no region %q", region)
		}
		l.Rates[region] = d.rates(rates.get(region), rates.name(region))
	}
	return l
}

// rates reads one number, or a list of steps.
func (d *decoder) rates(n ast.Node, path string) []Rate {
	if _, steps := n.(*ast.SequenceNode); !steps {
		return []Rate{{PerSecond: d.number(n, path, 0, maxRate)}}
	}
	var all []Rate
	for i, step := range d.list(n, path) {
		o := d.object(step, fmt.Sprintf("%s[%d]", path, i), "from", "per_second")
		if o == nil {
			continue
		}
		r := Rate{
			From:      d.duration(o.require("from"), o.name("from"), 0, 3*maxPhase),
			PerSecond: d.number(o.require("per_second"), o.name("per_second"), 0, maxRate),
		}
		switch {
		case i == 0 && r.From != 0:
			d.errorf(o.at, o.path, "the first step must be from 0s")
		case i > 0 && r.From <= all[len(all)-1].From:
			d.errorf(o.at, o.path, "must be later than the step before")
		}
		all = append(all, r)
	}
	return all
}

func (d *decoder) phases(n ast.Node) Phases {
	o := d.object(n, "phases", "baseline", "fault", "recovery")
	if o == nil {
		return Phases{}
	}
	phase := func(name string) time.Duration {
		return d.duration(o.require(name), o.name(name), leastPhase, maxPhase)
	}
	return Phases{phase("baseline"), phase("fault"), phase("recovery")}
}

func (d *decoder) stop(n ast.Node) Stop {
	s := Stop{Overshoot: -1, FailedShare: 1}
	o := d.object(n, "stop", "overshoot", "failed_share")
	if o == nil {
		return s
	}
	if v := o.get("overshoot"); v != nil {
		s.Overshoot = d.integer(v, "stop.overshoot", 0, 1<<53)
	}
	if v := o.get("failed_share"); v != nil {
		s.FailedShare = d.percent(v, "stop.failed_share", 1)
	}
	return s
}

// quota finds the one quota that the load meets.
func (d *decoder) quota(n ast.Node, s *Scenario) {
	at := n.GetToken()
	set, err := policy.Parse("policy", []byte(s.Policy))
	if err != nil {
		d.errorf(at, "policy", "%v", err)
		return
	}
	domain := set.Domain(s.Load.Domain)
	if domain == nil {
		d.errorf(at, "policy", "has no domain %q, which the load is of", s.Load.Domain)
		return
	}
	quotas, err := domain.Matching(s.Load.Descriptor, nil)
	switch {
	case err != nil:
		d.errorf(at, "load.descriptor", "%v", err)
	case len(quotas) != 1:
		d.errorf(at, "policy", "%d quotas match the load's descriptor; it must be one", len(quotas))
	case quotas[0].Limit.Unbounded || quotas[0].Limit.Algorithm != policy.TokenBucket:
		d.errorf(at, "policy", "%s is no token bucket with a limit, which is what drills can judge", quotas[0].ID)
	default:
		s.Quota = quotas[0]
	}
}
