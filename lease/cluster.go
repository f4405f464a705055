package lease

import (
	"fmt"

	"github.com/a1009580/leasehold/bucket"
)

// boot decides the first transaction of a leader: the cluster's record, with
// the longest lease that may be granted from now on, and the policy. Nothing is
// granted before it is committed (law 12). It is written even when nothing in
// it changed: that proves that the store takes our writes.
func (l *Ledger) boot() {
	next := l.cluster
	next.Longest = max(next.Longest, l.longestTerms())
	next.Election = l.election
	next.Levels = l.levels()
	l.shrinkAt = l.settles
	l.send(flight{kind: flightBoot, cluster: next}, []Write{
		{Key: clusterKey, Value: next.encode(), Expect: l.clusRev},
		{Key: policyKey, Value: l.policy.encode(), Expect: l.polRev},
	})
}

// tidyCluster lowers the longest lease once the older, longer ones have passed,
// and ends the distrust of a store that lost its past once every bucket would
// have filled since.
func (l *Ledger) tidyCluster(now Moment) {
	next := l.cluster
	if now.Mono >= l.shrinkAt || mutated("the longest lease lowered at once") {
		next.Longest, next.Changed = l.longestTerms(), false
	}
	if now.Mono >= l.settles {
		next.Election = l.cfg.ElectionTTL // those before us have ended
	}
	if now.Mono >= l.settles && l.grown(now.Mono) {
		next.Distrust, next.Levels = false, l.levels()
	}
	if next == l.cluster || l.tidying() || !l.granting(now) {
		return
	}
	l.send(flight{kind: flightCluster, cluster: next},
		[]Write{{Key: clusterKey, Value: next.encode(), Expect: l.clusRev}})
}

// tidying says that a write of the cluster's record is in flight.
func (l *Ledger) tidying() bool {
	for _, f := range l.flying {
		switch f.kind {
		case flightBoot, flightCluster, flightHistory, flightPolicy:
			return true
		case flightBooks, flightWindow, flightFloor, flightOrphans:
		}
	}
	return false
}

// lostHistory finds out whether a holder has seen more than this store has,
// and then begins a new history (law 13). The write is guarded by our key: if
// it is we who are out of date, it fails.
//
// What it has seen is compared with what it was told in its Welcome, as it did
// itself: its Hello is a witness's then, and never one of a holder that has
// nothing.
func (l *Ledger) lostHistory(s *session, h Hello) bool {
	// Revisions of different histories do not compare.
	if h.SeenEpoch.Compare(l.epoch) <= 0 && (h.SeenEpoch.History < l.epoch.History || h.SeenRevision <= s.welcomed) {
		return false
	}
	if h.SeenEpoch == l.epoch && h.SeenRevision <= l.revision {
		return true // it saw it from us, after that Welcome
	}
	if l.halted == nil && !l.retiring && !l.tidying() {
		next := l.cluster
		next.History = max(next.History, h.SeenEpoch.History) + 1
		if !l.cfg.TrustStore {
			next.Since, next.Distrust = next.History, !mutated("a wiped store born full")
		}
		l.retiring = true
		l.send(flight{kind: flightHistory, cluster: next},
			[]Write{{Key: clusterKey, Value: next.encode(), Expect: l.clusRev}})
	}
	return true
}

// policyChange is a policy that is being written.
type policyChange struct {
	record PolicyRecord
	terms  []Terms
}

// SetPolicy has a new policy written; when it is durable, it comes into force
// and every session is closed, so that all holders adopt it. It returns false
// while another change is on its way.
func (l *Ledger) SetPolicy(record PolicyRecord, terms []Terms) bool {
	if !l.booted || l.tidying() || l.next != nil {
		return false
	}
	l.next = &policyChange{record: record, terms: terms}
	next := l.cluster
	for i := range terms {
		next.Longest = max(next.Longest, terms[i].TTL)
	}
	next.Levels, next.Changed = l.levels(), true
	l.send(flight{kind: flightPolicy, cluster: next}, []Write{
		{Key: clusterKey, Value: next.encode(), Expect: l.clusRev},
		{Key: policyKey, Value: record.encode(), Expect: l.polRev},
	})
	return true
}

// adopt brings a durable policy into force.
func (l *Ledger) adopt(now Moment) {
	change := l.next
	l.next, l.policy = nil, change.record
	last := now.Mono + l.cfg.Drift.Outlast(l.cluster.Longest)
	l.shrinkAt = max(l.shrinkAt, last)
	// Refill is brought up to now before the policy changes (law 1).
	for _, b := range l.order {
		l.settle(now, b)
	}
	old := l.quotas
	l.quotas = nil
	for _, q := range old {
		if q.find(change.terms) == nil {
			q.removed, q.removedAt = true, last
			l.quotas = append(l.quotas, q)
		}
	}
	for i := range change.terms {
		l.quotas = append(l.quotas, l.change(now, old, &change.terms[i]))
	}
	sortQuotas(l.quotas)
	for _, b := range l.order {
		l.trim(b)
	}
	for n := range l.sessions {
		l.ready.Closed = append(l.ready.Closed, n)
	}
	clear(l.sessions)
}

// change returns the quota of new terms: the old one changed, or a new one.
func (l *Ledger) change(now Moment, old []*quota, t *Terms) *quota {
	for _, q := range old {
		if q.terms.Quota == t.Quota {
			l.replaceTerms(now, q, t)
			return q
		}
	}
	q := newQuota(*t, now.Mono)
	l.openQuota(q, now)
	return q
}

func (q *quota) find(terms []Terms) *Terms {
	for i := range terms {
		if terms[i].Quota == q.terms.Quota {
			return &terms[i]
		}
	}
	return nil
}

// replaceTerms changes a quota whose books are settled. Nothing is minted: a
// raise adds room, not tokens, and what is too much is trimmed (law 12).
func (l *Ledger) replaceTerms(now Moment, q *quota, t *Terms) {
	old := q.meter.Rate()
	free := map[*book]int64{}
	for _, b := range l.order {
		if b.quota == q && b.state == bookOpen {
			free[b] = b.free()
		}
	}
	l.mature(now.Mono, q)
	if q.terms.Tokens != t.Tokens || q.terms.Per != t.Per || q.terms.Burst != t.Burst {
		q.doubt(now.Mono + l.cfg.Drift.Outlast(l.cluster.Longest))
	}
	q.terms, q.removed = *t, false
	if old.Per != t.Per {
		q.meter = bucket.NewMeter(now.Mono, t.Rate())
		q.newborn.rem, q.newborn.mark = q.meter.Rate().Carry(q.newborn.rem, old), q.meter.Mark(now.Mono)
	}
	l.arrangeFloors(now, q)
	for b, before := range free {
		if mutated("Q changed by deltas") {
			b.used = max(0, b.used-t.Tokens/2)
		}
		room := b.free() - before // of a window quota: its pool is the limit less what is used
		q.books.Refilled += max(0, room)
		q.books.Destroyed += max(0, -room)
		q.stock.Pool += room
		if old.Per != t.Per {
			b.rem, b.mark = q.meter.Rate().Carry(b.rem, old), q.meter.Mark(now.Mono)
		}
	}
}

// Compatible returns an error when a policy change would give a quota's name
// to another kind of limit: its records would mean something else. Such a
// quota needs a new name.
func Compatible(old, next []Terms) error {
	for i := range next {
		for j := range old {
			a, b := &old[j], &next[i]
			if a.Quota == b.Quota && (a.Windowed != b.Windowed || !a.Windows.Same(b.Windows)) {
				return fmt.Errorf("quota %q changes its algorithm or its windows: give it a new name", a.Quota)
			}
		}
	}
	return nil
}
