package limiter

import (
	"fmt"
	"slices"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// joint is the room that one decision about several parts needs.
type joint struct {
	rules  *rules
	domain *policy.Domain
	// denied says that the request is denied whatever its buckets hold.
	denied bool
	// parts are the buckets that are charged, each once, quotas theirs.
	parts  []lease.Part
	quotas []*quota
	// links lead from the parts of the request to their buckets.
	links []link
	n     int // parts of the request, of which each tells
	each  [MaxParts]joined

	partOf   [maxQuotas]lease.Part
	quotaOf  [maxQuotas]*quota
	linkOf   [MaxParts]link
	matching [maxQuotas + 4]*policy.Quota
	key      [policy.MaxKeyBytes]byte
}

// joined is what one part of the request matches: links from first to last.
type joined struct {
	rule        *policy.Rule
	replaced    bool
	unbounded   *quota
	reason      Reason // if it is clear before the buckets are asked
	capped      bool   // a quota enforces the cap
	first, last int
}

// link leads to a bucket that is charged, or to one that is given back to: back is
// nil if that one is not known here. Each hit of the part is worth scale tokens.
type link struct {
	at    int
	back  *lease.Cell
	quota *quota
	scale int64
}

// releaseJoint forgets what a joint points to, so that the pool keeps no cell
// alive.
func (l *Limiter) releaseJoint(s *joint) {
	clear(s.parts)
	clear(s.quotas)
	clear(s.links)
	clear(s.each[:s.n])
	s.rules, s.domain, s.parts, s.quotas, s.links = nil, nil, nil, nil, nil
	l.joint.Put(s)
}

// join finds what the parts are charged to.
func (l *Limiter) join(domain string, parts []Part, s *joint) error {
	for {
		r := l.rules.Load()
		if r == nil {
			return l.unready()
		}
		d := r.set.Domain(domain)
		if d == nil {
			l.unknownDomain.Add(1)
			return ErrUnknownDomain
		}
		s.rules, s.domain, s.denied = r, d, false
		s.parts, s.quotas, s.links = s.partOf[:0], s.quotaOf[:0], s.linkOf[:0]
		ok, err := l.joinAll(parts, s)
		if ok || err != nil {
			return err
		}
		if l.rules.Load() == r {
			l.awaitOwner()
		}
	}
}

// joinAll returns false when the holder no longer enforces one of the quotas.
func (l *Limiter) joinAll(parts []Part, s *joint) (bool, error) {
	s.n = len(parts)
	clear(s.each[:s.n])
	if s.domain.HasRules() {
		for i := range parts {
			var err error
			if s.each[i].rule, err = s.domain.Rule(parts[i].Descriptor); err != nil {
				return false, err
			}
		}
		s.replace(len(parts))
	}
	for i := range parts {
		ok, err := l.joinPart(&parts[i], &s.each[i], s)
		if !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// replace drops the rules that others of the request replace.
func (s *joint) replace(n int) {
	for i := range n {
		r := s.each[i].rule
		for j := 0; r != nil && r.Name != "" && j < n; j++ {
			by := s.each[j].rule
			s.each[i].replaced = s.each[i].replaced || j != i && by != nil && slices.Contains(by.Replaces, r.Name)
		}
	}
}

// joinPart finds the buckets of one part.
func (l *Limiter) joinPart(p *Part, j *joined, s *joint) (bool, error) {
	if p.N < 0 {
		return false, ErrNegativeCost
	}
	*j = joined{rule: j.rule, replaced: j.replaced, first: len(s.links), last: len(s.links)}
	found := s.matching[:0]
	var err error
	switch {
	case !s.domain.HasRules():
		if found, err = s.domain.Matching(p.Descriptor, found); err != nil {
			return false, err
		}
	case j.rule == nil || j.replaced:
	case j.rule.Deny:
		j.reason = Impossible
	default:
		found = append(found, j.rule.Quota)
	}
	if p.Cap != nil && p.Cap.Hits <= 0 {
		j.reason = Impossible
	}
	for _, q := range found {
		if ok, err := l.linkTo(s.rules.quotas[q], p, j, s); !ok || err != nil {
			return false, err
		}
	}
	j.last = len(s.links)
	if p.Cap != nil && !j.capped && j.reason == 0 && !p.Refund {
		return false, ErrNoCeiling
	}
	if j.reason == 0 && j.first == j.last && j.unbounded == nil && s.domain.Unmatched == policy.Deny && !p.Refund {
		j.reason = Unmatched
	}
	s.denied = s.denied || j.reason != 0 && !j.advises(p) && !p.Refund
	return true, nil
}

// advises says that the part denies nothing. A limit that the request brings is
// meant.
func (j *joined) advises(p *Part) bool { return j.rule != nil && j.rule.Advises() && p.Cap == nil }

// linkTo leads a part to its bucket of a quota.
func (l *Limiter) linkTo(q *quota, p *Part, j *joined, s *joint) (bool, error) {
	if q.Limit.Unbounded {
		j.unbounded = q
		return true, nil
	}
	to := link{quota: q, scale: 1}
	if p.Cap != nil && len(q.Match) == len(p.Descriptor) {
		if to.scale = p.Cap.scale(q.Quota); to.scale == 0 {
			return true, nil // denied whatever there is
		}
		j.capped = true
	}
	if capacity := q.Limit.Capacity(); to.scale > capacity && !p.Refund {
		return false, fmt.Errorf("%w: %s holds %d tokens at most, a hit would cost %d", ErrCapTooLow, q.ID, capacity, to.scale)
	}
	var key []byte
	var err error
	if j.rule != nil {
		key, err = policy.AppendRuleKey(s.key[:0], j.rule, p.Descriptor)
	} else {
		key, err = policy.AppendKey(s.key[:0], q.Quota, p.Descriptor)
	}
	if err != nil {
		return false, err
	}
	cell, ok := l.holder.Lookup(q.ID, key)
	switch {
	case p.Refund && ok:
		to.back = cell
	case p.Refund: // nothing was admitted here
	case !ok:
		if cell = l.holder.Cell(q.ID, string(key)); cell == nil {
			return false, nil
		}
		if cell.ID().Key != string(key) { // compared, not allocated
			q.tally.add(countOverflow)
		}
		fallthrough
	default:
		if to.at, ok = s.charge(cell, q, satMul(p.N, to.scale), j.advises(p)); !ok {
			return false, ErrTooManyQuotas
		}
	}
	s.links = append(s.links, to)
	return true, nil
}

// charge adds a cost to a bucket, and returns its place among the parts; false
// when there are too many.
func (s *joint) charge(cell *lease.Cell, q *quota, cost int64, advisory bool) (int, bool) {
	for i := range s.parts {
		p := &s.parts[i]
		if p.Cell != cell {
			continue
		}
		p.Advisory = p.Advisory && advisory
		if s.domain.HasRules() {
			p.Cost = satAdd(p.Cost, cost)
		} else {
			p.Cost = max(p.Cost, cost)
		}
		return i, true
	}
	if len(s.parts) == maxQuotas {
		return 0, false
	}
	s.parts = append(s.parts, lease.Part{Cell: cell, Cost: cost, Advisory: advisory})
	s.quotas = append(s.quotas, q)
	return len(s.parts) - 1, true
}
