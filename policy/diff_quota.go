package policy

import (
	"cmp"
	"fmt"
	"strings"
)

// quota reports how two revisions of one quota differ.
func (r *diff) quota(a, b *Quota) {
	r.limit(a.ID, a.Limit, b.Limit)
	r.field(a.ID, "match", matchText(a.Match), matchText(b.Match))
	if a.Limit.Unbounded || b.Limit.Unbounded {
		return // all else means nothing to one of them
	}
	r.field(a.ID, "lease ttl", a.Lease.TTL, b.Lease.TTL)
	r.field(a.ID, "lease size", leaseSize(a.Lease), leaseSize(b.Lease))
	r.mode(a.ID, &a.Partition, &b.Partition)
	r.field(a.ID, "floor", a.Partition.Floor, b.Partition.Floor)
	if a.Partition.Mode == b.Partition.Mode {
		r.field(a.ID, "floor lease", a.Partition.FloorLease, b.Partition.FloorLease)
	}
	r.field(a.ID, "max_keys", a.MaxKeys, b.MaxKeys)
	for _, x := range a.Regions {
		if y, ok := b.Region(x.Name); !ok {
			r.add(Changed, a.ID, "region %s no longer listed", x.Name)
		} else {
			r.field(a.ID, "region "+x.Name, x, y)
		}
	}
	for _, y := range b.Regions {
		if _, ok := a.Region(y.Name); !ok {
			r.add(Changed, a.ID, "region %s listed (%v)", y.Name, y)
		}
	}
}

// mode reports a change of the failure mode, or of what it lets a cut-off holder spend.
func (r *diff) mode(id string, a, b *Partition) {
	was, is := a.adds(), b.adds()
	bound := ""
	if was != is {
		bound = fmt.Sprintf("the bound for each holder and cut changes from %s to %s", was, is)
	}
	switch {
	case a.Mode != b.Mode && bound != "":
		r.add(Changed, id, "partition mode changed from %v to %v; %s", a.Mode, b.Mode, bound)
	case a.Mode != b.Mode:
		r.add(Changed, id, "partition mode changed from %v to %v", a.Mode, b.Mode)
	case bound != "":
		r.add(Changed, id, "mode %v: %s", b.Mode, bound)
	}
}

// limit reports a raise or a cut where that is plain: rate and burst of a token bucket one by one, the
// tokens of a window if all else is the same.
func (r *diff) limit(id string, a, b Limit) {
	bounded := !a.Unbounded && !b.Unbounded
	like := a
	like.Tokens = b.Tokens
	switch {
	case a == b:
	case bounded && a.Algorithm == TokenBucket && b.Algorithm == TokenBucket:
		if a.Tokens != b.Tokens || a.Per != b.Per {
			r.step(id, "limit", compareRates(b, a), rateText(a), rateText(b))
		}
		if a.Burst != b.Burst {
			r.step(id, "burst", cmp.Compare(b.Burst, a.Burst), a.Burst, b.Burst)
		}
	case bounded && like == b:
		r.step(id, "limit", cmp.Compare(b.Tokens, a.Tokens), a, b)
	case b.Unbounded:
		r.step(id, "limit", 1, a, b)
	case a.Unbounded:
		r.step(id, "limit", -1, a, b)
	default:
		r.step(id, "limit", 0, a, b)
	}
}

func (r *diff) step(id, what string, direction int, a, b any) {
	kind := map[int]ChangeKind{-1: Cut, 0: Changed, 1: Raised}[direction]
	r.add(kind, id, "%s %v from %v to %v", what, kind, a, b)
}

// compareRates compares the rates exactly: a.Tokens/a.Per with b.Tokens/b.Per.
func compareRates(a, b Limit) int {
	return compareProducts(a.Tokens, int64(b.Per), b.Tokens, int64(a.Per))
}

func rateText(l Limit) string { return fmt.Sprintf("%d per %v", l.Tokens, l.Per) }

func matchText(entries []Entry) string {
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = e.Key + ": " + literal(e.pattern())
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func leaseSize(l Lease) string {
	if l.Size == 0 {
		return "auto"
	}
	return fmt.Sprint(l.Size)
}

// String describes the region in words.
func (r Region) String() string {
	s := fmt.Sprintf("weight %d, nodes %d", r.Weight, r.Nodes)
	if r.Min > 0 {
		s += fmt.Sprintf(", min %d", r.Min)
	}
	if r.Max > 0 {
		s += fmt.Sprintf(", max %d", r.Max)
	}
	return s
}
