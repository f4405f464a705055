package policy

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Rule is what applies to the descriptors that end at one place of a domain's tree, in a domain that is written
// as envoyproxy/ratelimit writes it: with descriptors instead of quotas.
type Rule struct {
	// Quota is what limits, nil if Deny. Its Match shows the path to the rule, in order, a wildcard as any value; it
	// is the place in the tree that says what matches. Its limit is unbounded if the rule says unlimited.
	Quota *Quota
	// Deny says that the limit is 0: nothing is admitted, and there is no bucket.
	Deny bool
	// Shadow and QuotaMode say that the rule denies nothing: its outcome is counted, or told to the proxy.
	Shadow, QuotaMode bool
	// Name is how others refer to the rule in their Replaces: of the rules that match the descriptors of one
	// request, those that others replace do not apply.
	Name     string
	Replaces []string
	// Requests and Unit are the limit as it was written; Requests is 0 with Deny or if unlimited.
	Requests int64
	Unit     Unit

	path []level
}

// Advises says that the rule denies nothing.
func (r *Rule) Advises() bool { return r.Shadow || r.QuotaMode }

// level is one step of a rule's path.
type level struct {
	key   string
	value string // what the value must be, or begin with; "" if any does
	kind  levelKind
	share bool // of a prefix: all values share one bucket
}

type levelKind uint8

const (
	exactValue levelKind = iota
	valuePrefix
	anyValue
)

// entry shows the level as a quota's Match would.
func (l *level) entry() Entry {
	return Entry{Key: l.key, Value: map[bool]string{true: l.value}[l.kind == exactValue], Any: l.kind != exactValue}
}

// varies says that the level's value is a part of the bucket's key.
func (l *level) varies() bool { return l.kind == anyValue || l.kind == valuePrefix && !l.share }

// AppendRuleKey appends the canonical key of the bucket that r has for a descriptor that it matches: of each
// entry of which it allows several values, the value's length as a uvarint and its bytes; not of a wildcard
// that shares its threshold. What AppendKey promises of its keys holds for these.
func AppendRuleKey(dst []byte, r *Rule, desc []Pair) ([]byte, error) {
	key := dst
	for i := range r.path {
		l := &r.path[i]
		if !l.varies() {
			continue
		}
		v := desc[i].Value
		if len(v) <= MaxKeyBytes { // else this alone is too long: do not copy it
			key = binary.AppendUvarint(key, uint64(len(v)))
			key = append(key, v...)
		}
		if len(v) > MaxKeyBytes || len(key)-len(dst) > MaxKeyBytes {
			return dst, fmt.Errorf("%w: rule %s, entry %s; the most is %d bytes", ErrKeyTooLong, r.Quota.ID, shorten(l.key), MaxKeyBytes)
		}
	}
	return key, nil
}

// rules is the tree of a domain's descriptors.
type rules struct {
	children []*place // as written
	exact    map[Pair]*place
	prefixes []*place // in the order in which they are tried: as written
	any      map[string]*place
}

// place is one descriptor of the tree.
type place struct {
	level
	rule *Rule // nil: nothing applies to what ends here
	next rules

	detailedMetric, valueToMetric bool
}

// HasRules says that the domain is written with descriptors instead of quotas.
func (d *Domain) HasRules() bool { return d.rules != nil }

// Rule returns the rule for a descriptor, nil if there is none. The entries count in their order, and all of them
// do: it is the rule at the end of the path that they take through the tree. On each step an exact value goes
// before a prefix, a prefix before the key alone.
func (d *Domain) Rule(desc []Pair) (*Rule, error) {
	if len(desc) > MaxDescriptor {
		return nil, fmt.Errorf("%w: %d, the most is %d", ErrTooManyEntries, len(desc), MaxDescriptor)
	}
	if d.rules == nil || len(desc) == 0 {
		return nil, nil //nolint:nilnil // none is an answer
	}
	at := d.rules
	for i := range desc {
		p := at.step(&desc[i])
		switch {
		case p == nil:
			return nil, nil //nolint:nilnil // none is an answer
		case i == len(desc)-1:
			return p.rule, nil
		}
		at = &p.next
	}
	return nil, nil //nolint:nilnil // not reached: the last entry decides
}

// step returns the place that an entry leads to.
func (r *rules) step(e *Pair) *place {
	if p := r.exact[*e]; p != nil && e.Value != "" {
		return p
	}
	for _, p := range r.prefixes {
		if p.key == e.Key && strings.HasPrefix(e.Value, p.value) {
			return p
		}
	}
	return r.any[e.Key]
}

// Arrange returns the entries in the order in which they lead to a rule, for those who know no order; as they
// are if none does. Who knows no order has each key once: ErrDuplicateEntry, for such an entry could lead past
// every rule; or ErrTooManyEntries.
func (d *Domain) Arrange(desc []Pair) ([]Pair, error) {
	if err := checkEntries(desc); err != nil || d.rules == nil {
		return desc, err
	}
	sorted := slices.Clone(desc)
	slices.SortFunc(sorted, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	if d.rules.arrange(sorted, 0) {
		return sorted, nil
	}
	return desc, nil
}

// arrange orders desc from i on. Each place of the tree is visited once, since the keys on the way to it are
// those of desc.
func (r *rules) arrange(desc []Pair, i int) bool {
	for j := i; j < len(desc); j++ {
		p := r.step(&desc[j])
		if p == nil {
			continue
		}
		moved := desc[j]
		copy(desc[i+1:j+1], desc[i:j])
		desc[i] = moved
		if i == len(desc)-1 && p.rule != nil || p.next.arrange(desc, i+1) {
			return true
		}
		copy(desc[i:j], desc[i+1:j+1])
		desc[j] = moved
	}
	return false
}

// add files a place among its siblings.
func (r *rules) add(p *place) {
	r.children = append(r.children, p)
	switch p.kind {
	case exactValue:
		if r.exact == nil {
			r.exact = make(map[Pair]*place)
		}
		r.exact[Pair{p.key, p.value}] = p
	case valuePrefix:
		r.prefixes = append(r.prefixes, p)
	case anyValue:
		if r.any == nil {
			r.any = make(map[string]*place)
		}
		r.any[p.key] = p
	}
}
