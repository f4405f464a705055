package policy

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// MarshalCanonical returns the one text of this meaning: Parse of it gives an equal set, and equal sets give
// the same bytes. Defaults are spelled out, except the default floor, which may have no finite decimals. It
// is at most MaxBytes.
func (s *Set) MarshalCanonical() []byte { return bytes.Clone(s.canonical) }

func (s *Set) appendCanonical(b []byte) []byte {
	for _, d := range s.Domains {
		b = fmt.Appendf(b, "---\napiVersion: %s\ndomain: %s\nunmatched: %v\n", Version, literal(d.Name), d.Unmatched)
		if d.rules != nil {
			b = append(b, "descriptors:"...)
			if len(d.rules.children) == 0 {
				b = append(b, " []"...)
			}
			b = d.rules.appendCanonical(append(b, '\n'), "  ")
			continue
		}
		if len(d.Quotas) == 0 {
			b = append(b, "quotas: []\n"...)
			continue
		}
		b = append(b, "quotas:\n"...)
		for _, q := range d.Quotas {
			b = q.appendCanonical(b)
		}
	}
	return b
}

func (q *Quota) appendCanonical(b []byte) []byte {
	b = fmt.Appendf(b, "  - name: %s\n    match: {", literal(q.Name))
	for i, e := range q.Match {
		b = fmt.Appendf(b, "%s%s: %s", comma(i), literal(e.Key), literal(e.pattern()))
	}
	b = append(b, "}\n    limit: "...)
	b = q.Limit.appendCanonical(b)
	if q.Limit.Unbounded {
		return b
	}
	return q.appendLending(b)
}

// appendLending appends how the quota is leased, one field a line.
func (q *Quota) appendLending(b []byte) []byte {
	size := "auto"
	if q.Lease.Size > 0 {
		size = fmt.Sprint(q.Lease.Size)
	}
	b = fmt.Appendf(b, "    lease: {ttl: %v, size: %s}\n    partition: {mode: %v", q.Lease.TTL, size, q.Partition.Mode)
	if q.Partition.Mode == LocalFloor {
		if q.Partition.Floor != defaultFloor(int64(len(q.Regions))) {
			b = fmt.Appendf(b, ", floor: %v", q.Partition.Floor)
		}
		b = fmt.Appendf(b, ", floor_lease: %v", q.Partition.FloorLease)
	}
	b = q.Partition.appendUnreserved(b)
	b = append(b, "}\n    regions: {"...)
	for i, r := range q.Regions {
		b = fmt.Appendf(b, "%s%s: {weight: %d, nodes: %d", comma(i), literal(r.Name), r.Weight, r.Nodes)
		if r.Min > 0 {
			b = fmt.Appendf(b, ", min: %d", r.Min)
		}
		if r.Max > 0 {
			b = fmt.Appendf(b, ", max: %d", r.Max)
		}
		b = append(b, '}')
	}
	return fmt.Appendf(b, "}\n    max_keys: %d\n", q.MaxKeys)
}

func (p *Partition) appendUnreserved(b []byte) []byte {
	name := map[Mode]string{LocalFallback: "rate", FailOpen: "ceiling"}[p.Mode]
	switch {
	case name == "":
		return b
	case p.Unbounded:
		return fmt.Appendf(b, ", %s: %s", name, unbounded)
	}
	b = fmt.Appendf(b, ", %s: {tokens: %d, per: %v}, burst: %d", name, p.Rate.Tokens, p.Rate.Per, p.Burst)
	if p.For > 0 {
		b = fmt.Appendf(b, ", for: %v", p.For)
	}
	return b
}

func (l Limit) appendCanonical(b []byte) []byte {
	switch {
	case l.Unbounded:
		return append(b, "{tokens: unbounded}\n"...)
	case l.Algorithm == TokenBucket:
		return fmt.Appendf(b, "{tokens: %d, per: %v, burst: %d, algorithm: %v}\n", l.Tokens, l.Per, l.Burst, l.Algorithm)
	case l.Algorithm == FixedWindow:
		return fmt.Appendf(b, "{tokens: %d, per: %v, algorithm: %v}\n", l.Tokens, l.Per, l.Algorithm)
	}
	b = fmt.Appendf(b, "{tokens: %d, per: %v, algorithm: %v, zone: %s", l.Tokens, l.Unit, l.Algorithm, literal(l.Zone))
	if l.AnchorDay > 0 {
		b = fmt.Appendf(b, ", anchor_day: %d", l.AnchorDay)
	}
	return append(b, "}\n"...)
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// literal quotes any text for YAML.
func literal(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
