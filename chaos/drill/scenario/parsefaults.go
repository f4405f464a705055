package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/a1009580/leasehold/policy"
)

// faultFields are the fields of each kind, of which those before the bar must be
// there.
var faultFields = map[FaultKind][2][]string{
	Cut:         {{"from", "to"}, {"way"}},
	Flap:        {{"from", "to", "closed", "open"}, {"way"}},
	Slow:        {{"nodes", "round_trip"}, {"loss"}},
	Kill:        {{"nodes"}, {}},
	Freeze:      {{"nodes"}, {}},
	Restart:     {{"nodes"}, {}},
	WipeStore:   {{}, {}},
	RestoreOld:  {{}, {}},
	ChangeLimit: {{"policy"}, {}},
}

// FaultKinds returns the names of all kinds, sorted.
func FaultKinds() []string {
	var names []string
	for k := range faultFields {
		names = append(names, string(k))
	}
	slices.Sort(names)
	return names
}

func (d *decoder) faults(n ast.Node, s *Scenario) []Fault {
	var all []Fault
	items := d.list(n, "faults")
	if n != nil && len(items) == 0 {
		d.errorf(n.GetToken(), "faults", "a drill needs at least one fault")
	}
	for i, item := range items {
		if f, ok := d.fault(item, fmt.Sprintf("faults[%d]", i), s); ok {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return all
}

// fault reads a mapping of at, for, and one kind.
func (d *decoder) fault(n ast.Node, path string, s *Scenario) (f Fault, ok bool) {
	o := d.object(n, path, append([]string{"at", "for"}, FaultKinds()...)...)
	if o == nil {
		return f, false
	}
	f.At = d.duration(o.require("at"), o.name("at"), 0, maxPhase)
	f.For = d.duration(o.require("for"), o.name("for"), 10*time.Millisecond, maxPhase)
	f.Line = o.at.Position.Line
	if f.At+f.For > s.Phases.Fault && s.Phases.Fault > 0 {
		d.errorf(o.at, path, "ends %v after the fault phase began, which lasts %v: it must heal within it", f.At+f.For, s.Phases.Fault)
	}
	kinds := slices.DeleteFunc(slices.Clone(o.keys), func(k string) bool { return k == "at" || k == "for" })
	if len(kinds) != 1 {
		d.errorf(o.at, path, "must be of one kind, one of %s", strings.Join(FaultKinds(), ", "))
		return f, false
	}
	f.Kind = FaultKind(kinds[0])
	fields := faultFields[f.Kind]
	known := append(slices.Clone(fields[0]), fields[1]...)
	if len(known) == 0 {
		if m, empty := o.get(kinds[0]).(*ast.MappingNode); !empty || len(m.Values) > 0 {
			d.errorf(o.get(kinds[0]).GetToken(), o.name(kinds[0]), "must be {}")
		}
		return f, true
	}
	p := d.object(o.get(kinds[0]), o.name(kinds[0]), known...)
	if p == nil {
		return f, false
	}
	for _, name := range fields[0] {
		p.require(name)
	}
	d.details(p, &f, s)
	return f, true
}

// details reads what the kinds have of their own.
func (d *decoder) details(p *object, f *Fault, s *Scenario) {
	f.Way = Both
	if w := p.get("way"); w != nil {
		f.Way = Way(d.word(w, p.name("way"), string(Both), string(Out), string(In)))
	}
	targets := s.Topology.Targets()
	one := func(field string) string {
		if n := p.get(field); n != nil {
			return d.word(n, p.name(field), targets...)
		}
		return ""
	}
	f.From, f.To = one("from"), one("to")
	f.Closed = d.duration(p.get("closed"), p.name("closed"), 100*time.Millisecond, maxPhase)
	f.Open = d.duration(p.get("open"), p.name("open"), 100*time.Millisecond, maxPhase)
	f.RoundTrip = d.duration(p.get("round_trip"), p.name("round_trip"), 0, 10*time.Second)
	f.Loss = d.percent(p.get("loss"), p.name("loss"), 0.5)
	if n := p.get("nodes"); n != nil {
		if f.Kind == Slow {
			targets = []string{Regions}
			for _, r := range s.Topology.Regions {
				targets = append(targets, r.Name)
			}
		}
		f.Nodes = d.nodes(n, p.name("nodes"), targets)
	}
	if n := p.get("policy"); n != nil {
		f.Policy = d.text(n, p.name("policy"))
		if _, err := policy.Parse("policy", []byte(f.Policy)); err != nil {
			d.errorf(n.GetToken(), p.name("policy"), "%v", err)
		}
	}
}

// nodes reads one target or a list of them.
func (d *decoder) nodes(n ast.Node, path string, targets []string) []string {
	items := []ast.Node{n}
	if s, ok := n.(*ast.SequenceNode); ok {
		items = s.Values
	}
	var all []string
	for _, item := range items {
		all = append(all, d.word(item, path, targets...))
	}
	if len(all) == 0 {
		d.errorf(n.GetToken(), path, "must name at least one process")
	}
	return all
}

// expectationFields are like faultFields.
var expectationFields = map[ExpectationKind][2][]string{
	Admitted:    {{"phase"}, {"region", "at_least", "at_most", "after"}},
	Recovers:    {{"within", "at_least"}, {"region"}},
	Leads:       {{"within"}, {}},
	StaysReady:  {{"region"}, {}},
	NoticesLoss: {{}, {}},
	Adopts:      {{"within"}, {}},
}

func (d *decoder) expectations(n ast.Node, t *Topology) []Expectation {
	var all []Expectation
	var kinds []string
	for k := range expectationFields {
		kinds = append(kinds, string(k))
	}
	slices.Sort(kinds)
	ids := map[string]bool{}
	for i, item := range d.list(n, "expect") {
		path := fmt.Sprintf("expect[%d]", i)
		o := d.object(item, path, kinds...)
		if o == nil {
			continue
		}
		if len(o.keys) != 1 {
			d.errorf(o.at, path, "must be of one kind, one of %s", strings.Join(kinds, ", "))
			continue
		}
		e, ok := d.expectation(o, ExpectationKind(o.keys[0]), t)
		if !ok {
			continue
		}
		if ids[e.ID()] {
			d.errorf(o.at, path, "the same is expected twice (%s)", e.ID())
		}
		ids[e.ID()] = true
		all = append(all, e)
	}
	return all
}

func (d *decoder) expectation(o *object, kind ExpectationKind, t *Topology) (e Expectation, ok bool) {
	e.Kind = kind
	fields := expectationFields[kind]
	known := append(slices.Clone(fields[0]), fields[1]...)
	if len(known) == 0 {
		return e, true
	}
	p := d.object(o.get(string(kind)), o.name(string(kind)), known...)
	if p == nil {
		return e, false
	}
	for _, name := range fields[0] {
		p.require(name)
	}
	var regions []string
	for _, r := range t.Regions {
		regions = append(regions, r.Name)
	}
	e.Phase = d.word(p.get("phase"), p.name("phase"), "baseline", "fault", "recovery")
	e.Region = d.word(p.get("region"), p.name("region"), regions...)
	e.Least = d.percent(p.get("at_least"), p.name("at_least"), 10)
	if n := p.get("at_most"); n != nil {
		most := d.percent(n, p.name("at_most"), 10)
		e.Most = &most
	}
	e.After = d.duration(p.get("after"), p.name("after"), 0, maxPhase)
	e.Within = d.duration(p.get("within"), p.name("within"), 10*time.Millisecond, maxPhase)
	if kind == Admitted && p.get("at_least") == nil && p.get("at_most") == nil {
		d.errorf(p.at, p.path, "needs at_least or at_most")
	}
	return e, true
}
