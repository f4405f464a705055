package limiter

import (
	"cmp"
	"slices"
	"time"

	"github.com/a1009580/leasehold/policy"
)

// Status is what a limiter is about.
type Status struct {
	Region, Node string
	// Ready says that a policy is known, so that requests can be decided.
	// Connected says that a session with a coordinator is open: without one the
	// limiter is degraded and lives on what it has.
	Ready     bool
	Connected bool
	// Welcomed says that there ever was a session.
	Welcomed bool

	Cluster        string
	Coordinator    string // of the open session
	Epoch          string // of the newest session, as history.revision
	Session        uint64
	Since          time.Duration // how long the session is open
	Heard          time.Duration // how long ago something came
	RoundTrip      time.Duration // 0 if not known
	PolicyRevision uint64
	LastError      string // why the last attempt or session ended
	Link           Link

	UnknownDomain int64 // requests of unknown domains
	Quotas        []QuotaStatus
	Domains       []DomainStatus
}

// QuotaStatus is one quota in a Status: what was decided, and what is held.
type QuotaStatus struct {
	Quota     string // domain/name
	Limit     string // in words
	Mode      string // what becomes of it when the region is cut off
	Unbounded bool

	Allowed    int64
	Exhausted  int64
	NoLease    int64
	CutOff     int64
	Impossible int64
	Overflow   int64 // decisions of keys that shared a bucket
	// FalselyDenied are the denials, of all of them, for which the coordinator had
	// the tokens, as it last told: what leasing costs in comparison with a
	// central bucket.
	FalselyDenied int64
	Advised       int64 // decisions of rules that had too little and only watch
	Refunded      int64 // tokens of admissions that were taken back

	Buckets    int64
	Credited   int64 // tokens that were ever granted here
	Returned   int64
	Unspent    int64
	FloorOwned bool
	FloorSpent int64 // tokens that were ever spent here from floors
	Overspent  int64 // and unreserved, while cut off
	// WorstOver is the most that was spent unreserved of one bucket, of a window quota in one window, and WorstSince how
	// long ago that last rose.
	WorstOver  int64
	WorstSince time.Duration
	// LeaseEnds is how long until the last lease of which anything is unspent ends, 0 if there is none.
	LeaseEnds time.Duration
}

// Denied is the number of all denials.
func (q *QuotaStatus) Denied() int64 { return q.Exhausted + q.NoLease + q.CutOff + q.Impossible }

// DomainStatus is one domain in a Status.
type DomainStatus struct {
	Domain    string
	NoQuota   int64 // allowed without a quota
	Unmatched int64 // denied without a quota
}

// Connected says that a session with a coordinator is open.
func (l *Limiter) Connected() bool { return l.holder.Connected() }

// Status returns a consistent picture. It visits every bucket in memory.
func (l *Limiter) Status() Status {
	l.mu.Lock()
	now := l.now()
	sums := l.holder.Sums(now)
	c := l.state
	s := Status{
		Region: l.opts.Region, Node: l.opts.Node, Connected: l.holder.Connected(), Welcomed: l.welcomed.Load(),
		Cluster: l.holder.State().Cluster, Coordinator: c.coordinator, Epoch: c.session.Epoch.String(), Session: c.session.N,
		RoundTrip: l.holder.RoundTrip(), PolicyRevision: l.revision, UnknownDomain: l.unknownDomain.Load(),
		Link: l.linkNow(now),
	}
	l.mu.Unlock()
	if s.Connected {
		s.Since, s.Heard = now-c.since, now-c.heard
	}
	if c.lastError != nil {
		s.LastError = c.lastError.Error()
	}
	r := l.rules.Load()
	if r == nil {
		return s
	}
	s.Ready = true
	for _, q := range r.quotas {
		s.Quotas = append(s.Quotas, q.status())
	}
	slices.SortFunc(s.Quotas, func(a, b QuotaStatus) int { return cmp.Compare(a.Quota, b.Quota) })
	for i := range sums {
		h := &sums[i]
		j, ok := slices.BinarySearchFunc(s.Quotas, h.Quota, func(q QuotaStatus, id string) int { return cmp.Compare(q.Quota, id) })
		if ok {
			q := &s.Quotas[j]
			q.Buckets, q.Credited, q.Returned, q.Unspent, q.FloorOwned = h.Cells, h.Credited, h.Returned, h.Unspent, h.FloorOwned
			q.FloorSpent, q.Overspent, q.WorstOver = h.FloorSpent, h.Overspent, h.WorstOver
			if h.WorstOver > 0 {
				q.WorstSince = now - h.WorstAt
			}
			if h.Ends > 0 {
				q.LeaseEnds = h.Ends - now
			}
		}
	}
	for _, d := range r.set.Domains {
		t := r.noQuota[d.Name]
		s.Domains = append(s.Domains, DomainStatus{Domain: d.Name, NoQuota: t.sum(countAllowed), Unmatched: t.sum(countExhausted)})
	}
	return s
}

func (q *quota) status() QuotaStatus {
	return QuotaStatus{
		Quota: q.ID, Limit: q.Limit.String(), Mode: q.Partition.Mode.String(), Unbounded: q.Limit.Unbounded,
		Allowed: q.tally.sum(countAllowed), Exhausted: q.tally.sum(countExhausted), NoLease: q.tally.sum(countNoLease),
		CutOff: q.tally.sum(countCutOff), Impossible: q.tally.sum(countImpossible), Overflow: q.tally.sum(countOverflow),
		FalselyDenied: q.tally.falsely.Load(),
		Advised:       q.tally.sum(countAdvised), Refunded: q.tally.sum(countRefunded),
	}
}

// Policy returns the policy in force, nil if none is known. It is immutable.
func (l *Limiter) Policy() *policy.Set {
	if r := l.rules.Load(); r != nil {
		return r.set
	}
	return nil
}
