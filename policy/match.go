package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Entry is one condition of a quota on a request.
type Entry struct {
	Key   string // 1 to 64 of a-z A-Z 0-9 _ . -
	Value string // the exact value, at most MaxKeyBytes; may be empty, which is not the same as absent
	Any   bool   // any value, and a bucket of its own for each
}

// Pair is one entry of a request's descriptor. Both parts may hold any bytes. The value counts byte by byte:
// case, white space and the Unicode form (NFC or NFD) matter.
type Pair struct{ Key, Value string }

// Matched is a quota that a request is charged to, and the key of its bucket.
type Matched struct {
	Quota *Quota
	Key   string
}

const (
	// MaxDescriptor is the most entries of a request.
	MaxDescriptor = 64

	maxMatch = 16
)

// Match appends to dst all quotas that the request must be admitted by, by name, each with its bucket's key.
// None is no error; see Domain.Unmatched. On an error dst is returned as it was: ErrDuplicateEntry or
// ErrTooManyEntries for any such descriptor, ErrKeyTooLong.
//
// It allocates the keys of quotas with Any entries, and dst if it has no room. Where even that is too much,
// use Matching and AppendKey.
func (d *Domain) Match(desc []Pair, dst []Matched) ([]Matched, error) {
	var room [maxMatch]*Quota
	quotas, err := d.Matching(desc, room[:0])
	if err != nil {
		return dst, err
	}
	var bytes [128]byte
	matched := dst
	for _, q := range quotas {
		key, err := AppendKey(bytes[:0], q, desc)
		if err != nil {
			return dst, err
		}
		matched = append(matched, Matched{q, string(key)})
	}
	return matched, nil
}

// Matching appends to dst the quotas that Match finds, without their keys. It allocates only if dst has no
// room. In a domain with rules there are none; see Domain.Rule.
func (d *Domain) Matching(desc []Pair, dst []*Quota) ([]*Quota, error) {
	if err := checkEntries(desc); err != nil {
		return dst, err
	}
	found := d.index.appendMatching(dst, desc)
	slices.SortFunc(found[len(dst):], func(a, b *Quota) int { return cmp.Compare(a.order, b.order) })
	return found, nil
}

// checkEntries refuses a descriptor with too many entries, or with a key twice.
func checkEntries(desc []Pair) error {
	if len(desc) > MaxDescriptor {
		return fmt.Errorf("%w: %d, the most is %d", ErrTooManyEntries, len(desc), MaxDescriptor)
	}
	for i := range desc {
		for j := range i {
			if desc[i].Key == desc[j].Key {
				return ErrDuplicateEntry
			}
		}
	}
	return nil
}

// matches reports whether the request carries every entry.
func (q *Quota) matches(desc []Pair) bool {
	for i := range q.Match {
		e := &q.Match[i]
		v, ok := lookup(desc, e.Key)
		if !ok || !e.Any && v != e.Value {
			return false
		}
	}
	return true
}

func lookup(desc []Pair, key string) (string, bool) {
	for i := range desc {
		if desc[i].Key == key {
			return desc[i].Value, true
		}
	}
	return "", false
}

// match reads a quota's entries. A value that is a star stands for any; after one backslash more than it is
// meant to have, it stands for itself.
func (d *decoder) match(n *node) []Entry {
	pairs, ok := d.pairs(n, "match")
	if !ok || len(pairs) == 0 {
		return nil
	}
	if len(pairs) > maxMatch {
		d.errorf(n, "match", "has %d entries; the most is %d", len(pairs), maxMatch)
	}
	entries := make([]Entry, 0, len(pairs))
	for _, p := range pairs {
		path := "match." + shorten(p.key.text)
		e := Entry{Key: d.name(p.key, "match"), Value: d.text(p.value, path)}
		if len(e.Value) > MaxKeyBytes {
			d.errorf(p.value, path, "has %d bytes; the most is %d", len(e.Value), MaxKeyBytes)
		}
		if e.Value == "*" {
			e = Entry{Key: e.Key, Any: true}
		} else if isEscapedStar(e.Value) {
			e.Value = e.Value[1:]
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
	return entries
}

func isEscapedStar(v string) bool {
	return strings.HasSuffix(v, `\*`) && strings.Trim(v[:len(v)-1], `\`) == ""
}

// pattern is the entry's value as a policy writes it.
func (e Entry) pattern() string {
	if e.Any {
		return "*"
	}
	if e.Value == "*" || isEscapedStar(e.Value) {
		return `\` + e.Value
	}
	return e.Value
}
