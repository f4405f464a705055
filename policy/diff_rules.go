package policy

import (
	"bytes"
	"fmt"
)

// rules tells that the descriptors of a domain changed in anything but their limits, which are told by quota.
func (r *diff) rules(a, b *Domain) {
	switch {
	case (a.rules == nil) != (b.rules == nil):
		r.add(Changed, a.Name, "changed between quotas and descriptors")
	case a.rules != nil && !bytes.Equal(a.rules.appendShape(nil, ""), b.rules.appendShape(nil, "")):
		r.add(Changed, a.Name, "descriptors changed in what they match, deny, replace or only watch")
	}
}

// appendShape appends all that the descriptors say beside how much they admit and how that is leased.
func (r *rules) appendShape(b []byte, above string) []byte {
	for _, p := range r.children {
		at := fmt.Sprintf("%s/%d%q=%q", above, p.kind, p.key, p.value)
		b = fmt.Appendf(b, "%s %t %t %t", at, p.share, p.detailedMetric, p.valueToMetric)
		if p.rule != nil {
			b = fmt.Appendf(b, " %t %t %t %q %q", p.rule.Deny, p.rule.Shadow, p.rule.QuotaMode, p.rule.Name, p.rule.Replaces)
			if p.rule.Deny {
				b = fmt.Appendf(b, " %v", p.rule.Unit)
			}
		}
		b = p.next.appendShape(append(b, '\n'), at)
	}
	return b
}
