package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// quotaName names the quota of a rule after its path and what may not change under one name: the unit and the
// algorithm. Levels are joined by two dots, a key and its value by one: message_type.marketing..to_number..day.
// What is too long for a name, or has other characters, is cut and told apart by a hash of the whole.
func (r *Rule) quotaName(l Limit) string {
	var name, exact strings.Builder
	tidy := true
	for i := range r.path {
		p := &r.path[i]
		name.WriteString(p.key)
		tidy = tidy && isWord(p.key)
		exact.WriteString(literal(p.key))
		switch p.kind {
		case anyValue:
		case exactValue:
			name.WriteString("." + p.value)
			exact.WriteString("=" + literal(p.value))
			tidy = tidy && isWord(p.value)
		case valuePrefix:
			name.WriteString("." + p.value)
			exact.WriteString("^" + literal(p.value))
			tidy = false
		}
		name.WriteString("..")
		exact.WriteString("/")
	}
	suffix := r.limitName(l)
	if tidy && name.Len()+len(suffix) <= maxName {
		return name.String() + suffix
	}
	sum := sha256.Sum256([]byte(exact.String()))
	suffix = "-" + hex.EncodeToString(sum[:4]) + ".." + suffix
	head := strings.Map(func(c rune) rune {
		if c < 0x80 && isName(string(c)) {
			return c
		}
		return '-'
	}, strings.TrimSuffix(name.String(), ".."))
	return head[:min(len(head), maxName-len(suffix))] + suffix
}

// limitName names the unit, and the algorithm if it is not the unit's own.
func (r *Rule) limitName(l Limit) string {
	switch {
	case l.Unbounded:
		return "unlimited"
	case l.Algorithm == CalendarWindow:
		return r.Unit.String() + "-calendar"
	case l.Algorithm == TokenBucket && r.Unit != Second:
		return r.Unit.String() + "-bucket"
	case l.Algorithm == FixedWindow && r.Unit == Second:
		return r.Unit.String() + "-window"
	}
	return r.Unit.String()
}

// isWord says that s may stand in a name between dots.
func isWord(s string) bool { return isName(s) && !strings.Contains(s, ".") }
