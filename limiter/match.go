package limiter

import (
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// scratch is the room that one decision needs. It is pooled, because a key
// escapes into the lookup of its cell and would be allocated each time.
type scratch struct {
	matched
	matching [maxQuotas + 4]*policy.Quota
	quotaOf  [maxQuotas]*quota
	cellOf   [maxQuotas]*lease.Cell
	key      [policy.MaxKeyBytes]byte
}

// release forgets what a scratch points to, so that the pool keeps no cell
// alive.
func (l *Limiter) release(s *scratch) {
	clear(s.quotaOf[:len(s.quotas)])
	clear(s.cellOf[:len(s.cells)])
	s.matched = matched{}
	l.scratch.Put(s)
}

// match finds the quotas that a request is charged to, and their cells.
func (l *Limiter) match(domain string, desc []Pair, s *scratch) error {
	// Cells are of the policy that the holder enforces: when that changes
	// between the two looks, look again.
	for {
		r := l.rules.Load()
		if r == nil {
			return l.unready()
		}
		if err := l.matchQuotas(r, domain, desc, s); err != nil {
			return err
		}
		ok, err := l.findCells(desc, s)
		if ok || err != nil {
			return err
		}
		if l.rules.Load() == r {
			l.awaitOwner()
		}
	}
}

// awaitOwner waits until the holder has adopted the policy that it is just
// adopting. This is the one place where a decision waits for its owner.
func (l *Limiter) awaitOwner() (adopted uint64) { //nolint:unparam // read so that the section is not empty
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision
}

// matchQuotas finds the quotas without their cells.
func (l *Limiter) matchQuotas(r *rules, domain string, desc []Pair, s *scratch) error {
	d := r.set.Domain(domain)
	if d == nil {
		l.unknownDomain.Add(1)
		return ErrUnknownDomain
	}
	if d.HasRules() {
		return ErrHasRules
	}
	found, err := d.Matching(desc, s.matching[:0])
	if err != nil {
		return err
	}
	s.rules, s.domain, s.unbounded = r, d, nil
	s.quotas, s.cells = s.quotaOf[:0], s.cellOf[:0]
	for _, p := range found {
		q := r.quotas[p]
		switch {
		case q.Limit.Unbounded:
			s.unbounded = q
		case len(s.quotas) == maxQuotas:
			return ErrTooManyQuotas
		default:
			s.quotas = append(s.quotas, q)
		}
	}
	return nil
}

// findCells looks up the cell of every quota that was matched. It returns false
// when the holder no longer enforces one of them.
func (l *Limiter) findCells(desc []Pair, s *scratch) (bool, error) {
	s.cells = s.cellOf[:0]
	for _, q := range s.quotas {
		key, err := policy.AppendKey(s.key[:0], q.Quota, desc)
		if err != nil {
			return false, err
		}
		cell, ok := l.holder.Lookup(q.ID, key)
		if !ok {
			if cell = l.holder.Cell(q.ID, string(key)); cell == nil {
				return false, nil
			}
			if cell.ID().Key != string(key) { // compared, not allocated
				q.tally.add(countOverflow)
			}
		}
		s.cells = append(s.cells, cell)
	}
	return true, nil
}
