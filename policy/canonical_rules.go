package policy

import (
	"bytes"
	"fmt"
	"strings"
)

// appendCanonical appends the descriptors in the one form of their meaning. What a unit implies is spelled out
// in the metadata.
func (r *rules) appendCanonical(b []byte, indent string) []byte {
	for _, p := range r.children {
		b = p.appendCanonical(b, indent)
	}
	return b
}

func (p *place) appendCanonical(b []byte, indent string) []byte {
	b = fmt.Appendf(b, "%s- key: %s\n", indent, literal(p.key))
	indent += "  "
	switch p.kind {
	case anyValue:
	case exactValue:
		b = fmt.Appendf(b, "%svalue: %s\n", indent, literal(p.value))
	case valuePrefix:
		b = fmt.Appendf(b, "%svalue: %s\n", indent, literal(p.value+"*"))
	}
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"share_threshold", p.share},
		{"detailed_metric", p.detailedMetric},
		{"value_to_metric", p.valueToMetric},
		{"shadow_mode", p.rule != nil && p.rule.Shadow},
		{"quota_mode", p.rule != nil && p.rule.QuotaMode},
	} {
		if f.on {
			b = fmt.Appendf(b, "%s%s: true\n", indent, f.name)
		}
	}
	if p.rule != nil {
		b = p.rule.appendCanonical(b, indent)
	}
	if len(p.next.children) > 0 {
		b = fmt.Appendf(b, "%sdescriptors:\n", indent)
		b = p.next.appendCanonical(b, indent+"  ")
	}
	return b
}

func (r *Rule) appendCanonical(b []byte, indent string) []byte {
	b = fmt.Appendf(b, "%srate_limit: {", indent)
	if r.Name != "" {
		b = fmt.Appendf(b, "name: %s, ", literal(r.Name))
	}
	if len(r.Replaces) > 0 {
		b = append(b, "replaces: ["...)
		for i, name := range r.Replaces {
			b = fmt.Appendf(b, "%s{name: %s}", comma(i), literal(name))
		}
		b = append(b, "], "...)
	}
	if r.Quota != nil && r.Quota.Limit.Unbounded {
		return append(b, "unlimited: true}\n"...)
	}
	b = fmt.Appendf(b, "unit: %v, requests_per_unit: %d}\n", r.Unit, r.Requests)
	if r.Quota == nil {
		return b
	}
	l := &r.Quota.Limit
	b = fmt.Appendf(b, "%smetadata:\n%s  algorithm: %v\n", indent, indent, l.Algorithm)
	if l.Algorithm == TokenBucket {
		b = fmt.Appendf(b, "%s  burst: %d\n", indent, l.Burst)
	}
	for line := range bytes.Lines(r.Quota.appendLending(nil)) {
		b = append(b, indent...)
		b = append(b, strings.TrimPrefix(string(line), "  ")...)
	}
	return b
}
