package policy

import (
	"math"
	"slices"
	"strings"
)

const (
	// maxLevels is how deep descriptors may be nested.
	maxLevels = 16
	// maxText is the longest key, value and name of a rule, in bytes.
	maxText = 256
	// maxDomain is the longest name of a domain with rules: with that of a quota it names a bucket in the
	// protocol, which has room for 256 bytes.
	maxDomain = 180
)

// lending are the nodes that say how the quotas of rules are leased: those of a descriptor's metadata, and for
// what it does not say, those of its domain's.
type lending struct{ own, domain *object }

func (l lending) get(name string) *node {
	if n := l.own.get(name); n != nil {
		return n
	}
	return l.domain.get(name)
}

// refuse reports what a descriptor says of its own.
func (l lending) refuse(why string) {
	for _, name := range lendingFields {
		l.own.refuse(name, why)
	}
}

var lendingFields = []string{"algorithm", "burst", "lease", "partition", "regions", "max_keys"}

// metadata reads the fields that this project adds to the format.
func (d *decoder) metadata(n *node, path string) *object {
	if n != nil {
		if o := d.object(n, path, lendingFields...); o != nil {
			return o
		}
	}
	return &object{d: d, path: path}
}

// domainText reads the name of a domain with rules: proxies name them in their own way, such as default/eg/http.
func (d *decoder) domainText(n *node, first map[string]*node) string {
	name := d.scalar(n, "domain")
	switch {
	case n == nil:
	case name == "" || len(name) > maxDomain || strings.TrimSpace(name) != name:
		d.errorf(n, "domain", "must be 1 to %d bytes that begin and end with no space, not %s", maxDomain, n)
	case first[name] != nil:
		d.errorf(n, "domain", "%s is already defined at %d:%d", quote(name), first[name].line, first[name].column)
	default:
		first[name] = n
	}
	return name
}

// scalar reads text for which YAML may also have read a number or a boolean, as written; null is empty.
func (d *decoder) scalar(n *node, path string) string {
	switch {
	case n == nil || n.kind == null:
		return ""
	case n.kind == mapping || n.kind == list:
		d.errorf(n, path, "must be a string, not %s", n)
		return ""
	}
	return n.text
}

// flag reads a boolean.
func (d *decoder) flag(o *object, name string) bool {
	n := o.get(name)
	if n == nil || n.kind == typed && n.text == "false" {
		return false
	}
	if n.kind != typed || n.text != "true" {
		d.errorf(n, o.at(name), "must be true or false, not %s", n)
	}
	return n.text == "true"
}

// ruled reads what a domain with rules has below it.
func (d *decoder) ruled(o *object, domain *Domain) {
	domain.rules = &rules{}
	names := make(map[string]*node)
	all := d.metadata(o.get("metadata"), "metadata")
	d.siblings(o.get("descriptors"), "descriptors", domain, domain.rules, nil, all, names)
}

// siblings reads one list of descriptors.
func (d *decoder) siblings(n *node, path string, domain *Domain, to *rules, above []level, all *object, names map[string]*node) {
	if n == nil || n.kind == null {
		return
	}
	if n.kind != list {
		d.errorf(n, path, "must be a list, not %s", n)
		return
	}
	if len(above) >= maxLevels {
		d.errorf(n, path, "nested more than %d deep", maxLevels)
		return
	}
	first := make(map[Pair]*node, len(n.kids))
	for _, kid := range n.kids {
		o := d.object(kid, path, "key", "value", "rate_limit", "shadow_mode", "quota_mode", "detailed_metric", "value_to_metric",
			"share_threshold", "metadata", "descriptors")
		if o == nil {
			continue
		}
		p := &place{level: d.level(o)}
		p.detailedMetric, p.valueToMetric = d.flag(o, "detailed_metric"), d.flag(o, "value_to_metric")
		same := Pair{p.key, d.scalar(o.get("value"), "value")}
		if before := first[same]; before != nil {
			d.errorf(kid, path, "the same key and value stand here twice, first at %d:%d", before.line, before.column)
		}
		first[same] = kid
		own := d.metadata(o.get("metadata"), path+".metadata")
		p.rule = d.rule(o, domain, p.path(above), lending{own, all}, names)
		if p.rule == nil && o.get("metadata") != nil {
			d.errorf(o.get("metadata"), path+".metadata", "is about a rate_limit, and there is none")
		}
		to.add(p)
		d.siblings(o.get("descriptors"), path, domain, &p.next, p.path(above), all, names)
	}
}

// path is that of a place below others.
func (p *place) path(above []level) []level { return append(slices.Clone(above), p.level) }

// level reads what a descriptor matches.
func (d *decoder) level(o *object) level {
	l := level{key: d.scalar(o.require("key"), "key"), kind: anyValue}
	n := o.get("key")
	if n != nil && n.kind <= typed && (l.key == "" || len(l.key) > maxText) {
		d.errorf(n, "key", "must be 1 to %d bytes, not %s", maxText, n)
	} else if strings.HasSuffix(l.key, "*") {
		d.errorf(n, "key", "a wildcard stands at the end of a value, not of a key")
	}
	v := o.get("value")
	if l.value = d.scalar(v, "value"); len(l.value) > maxText {
		d.errorf(v, "value", "has %d bytes; the most is %d", len(l.value), maxText)
	}
	if l.value != "" {
		l.kind = exactValue
	}
	if prefix, ok := strings.CutSuffix(l.value, "*"); ok {
		l.kind, l.value = valuePrefix, prefix
	}
	if l.share = d.flag(o, "share_threshold"); l.share && l.kind != valuePrefix {
		d.errorf(o.get("share_threshold"), "share_threshold", "only a value that ends in * has one")
	}
	return l
}

// rule reads a descriptor's rate_limit, nil if there is none.
func (d *decoder) rule(o *object, domain *Domain, path []level, lend lending, names map[string]*node) *Rule {
	n := o.get("rate_limit")
	shadow, quotaMode := d.flag(o, "shadow_mode"), d.flag(o, "quota_mode")
	if n == nil || n.kind == null {
		return nil
	}
	limit := d.object(n, "rate_limit", "name", "replaces", "unit", "requests_per_unit", "unlimited")
	if limit == nil {
		return nil
	}
	r := &Rule{Shadow: shadow, QuotaMode: quotaMode, path: path}
	r.Name = d.scalar(limit.get("name"), "rate_limit.name")
	r.Replaces = d.replaces(limit.get("replaces"), r.Name)
	unlimited := d.flag(limit, "unlimited")
	if unlimited {
		limit.refuse("unit", "an unlimited descriptor has none")
		limit.refuse("requests_per_unit", "an unlimited descriptor has none")
	} else {
		unit := limit.require("unit")
		if r.Unit = parseUnit(d.scalar(unit, "rate_limit.unit")); unit != nil && r.Unit == 0 {
			d.errorf(unit, "rate_limit.unit", "must be second, minute, hour, day, week, month or year, not %s", unit)
		}
		r.Requests = d.integer(limit.require("requests_per_unit"), "rate_limit.requests_per_unit", 0, math.MaxUint32, "")
	}
	if r.Deny = !unlimited && r.Requests == 0; r.Deny {
		lend.refuse("a limit of 0 has nothing to lend")
		return r
	}
	r.Quota = d.ruleQuota(n, domain, r, unlimited, lend)
	if before := names[r.Quota.Name]; before != nil {
		d.errorf(n, "rate_limit", "cannot be told apart from that at %d:%d", before.line, before.column)
	}
	names[r.Quota.Name] = n
	domain.Quotas = append(domain.Quotas, r.Quota)
	return r
}

// replaces reads the names of the rules that a rule replaces.
func (d *decoder) replaces(n *node, own string) []string {
	if n == nil || n.kind == null {
		return nil
	}
	if n.kind != list {
		d.errorf(n, "rate_limit.replaces", "must be a list, not %s", n)
		return nil
	}
	var names []string
	for _, kid := range n.kids {
		o := d.object(kid, "rate_limit.replaces", "name")
		if o == nil {
			continue
		}
		name := d.scalar(o.require("name"), "rate_limit.replaces.name")
		switch {
		case o.get("name") == nil:
		case name == "":
			d.errorf(kid, "rate_limit.replaces", "an empty name replaces nothing")
		case name == own:
			d.errorf(kid, "rate_limit.replaces", "a limit cannot replace itself")
		}
		names = append(names, name)
	}
	return names
}
