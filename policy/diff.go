package policy

import (
	"cmp"
	"fmt"
	"slices"
)

// Change is one difference between two revisions of a policy, in words for people.
type Change struct {
	Kind ChangeKind
	ID   string // of the quota, or the name of the domain
	Text string // such as "limit raised from 100 per 1m0s to 200 per 1m0s"
}

// String returns "api/search: limit raised from ...".
func (c Change) String() string { return c.ID + ": " + c.Text }

// ChangeKind classifies a change.
type ChangeKind uint8

// Raised and Cut are for limits: what a quota admits. A change that is not plainly one of them, such as that
// of the algorithm, is Changed.
const (
	Added ChangeKind = iota
	Removed
	Raised
	Cut
	Changed
)

var changeKinds = []string{"added", "removed", "raised", "cut", "changed"}

// String returns the kind as a word.
func (k ChangeKind) String() string { return word(changeKinds, int(k)) }

// Diff tells what changes when next replaces old, by ID. Either may be nil, which is a set without domains.
// It is empty exactly if the two are equal.
func Diff(old, next *Set) []Change {
	var r diff
	a, b := old.all(), next.all()
	renamed := renames(a, b)
	for id, q := range a {
		if b[id] == nil {
			r.add(Removed, id, "removed (%v)", q.Limit)
		} else {
			r.quota(q, b[id])
		}
	}
	for id, q := range b {
		switch {
		case a[id] != nil:
		case renamed[id] != "":
			r.add(Added, id, "added (%v) with the match and limit of %s, which is removed: a renamed quota is a new quota and does not inherit the balance", q.Limit, renamed[id])
		default:
			r.add(Added, id, "added (%v)", q.Limit)
		}
	}
	r.domains(old, next)
	slices.SortStableFunc(r.changes, func(x, y Change) int { return cmp.Compare(x.ID, y.ID) })
	return r.changes
}

func (s *Set) all() map[string]*Quota {
	if s == nil {
		return nil
	}
	return s.quotas
}

// renames guesses which added quota was which removed one: same match, same limit, each taken once.
func renames(a, b map[string]*Quota) map[string]string {
	gone := make(map[string][]string)
	for id, q := range a {
		if b[id] == nil {
			gone[q.shape()] = append(gone[q.shape()], id)
		}
	}
	for _, ids := range gone {
		slices.Sort(ids)
	}
	renamed := make(map[string]string)
	for _, id := range sorted(b) {
		if ids := gone[b[id].shape()]; a[id] == nil && len(ids) > 0 {
			renamed[id], gone[b[id].shape()] = ids[0], ids[1:]
		}
	}
	return renamed
}

// shape is what a rename keeps.
func (q *Quota) shape() string { return matchText(q.Match) + " " + q.Limit.String() }

func sorted(m map[string]*Quota) []string {
	ids := make([]string, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

type diff struct{ changes []Change }

func (r *diff) add(k ChangeKind, id, format string, args ...any) {
	r.changes = append(r.changes, Change{k, id, fmt.Sprintf(format, args...)})
}

// field reports a field that differs.
func (r *diff) field(id, name string, a, b any) {
	if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
		r.add(Changed, id, "%s changed from %s to %s", name, x, y)
	}
}

func (r *diff) domains(old, next *Set) {
	for _, d := range old.list() {
		if next == nil || next.Domain(d.Name) == nil {
			r.add(Removed, d.Name, "domain removed")
		} else {
			r.field(d.Name, "unmatched", d.Unmatched, next.Domain(d.Name).Unmatched)
			r.rules(d, next.Domain(d.Name))
		}
	}
	for _, d := range next.list() {
		if old == nil || old.Domain(d.Name) == nil {
			r.add(Added, d.Name, "domain added")
		}
	}
}

func (s *Set) list() []*Domain {
	if s == nil {
		return nil
	}
	return s.Domains
}
