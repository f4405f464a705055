package policy

import "github.com/a1009580/leasehold/lease"

// Terms returns what a ledger must know of every quota that is leased: all but the unbounded ones, in the order
// of their IDs.
func (s *Set) Terms() []lease.Terms {
	var terms []lease.Terms
	for _, d := range s.Domains {
		for _, q := range d.Quotas {
			if !q.Limit.Unbounded {
				terms = append(terms, q.Terms())
			}
		}
	}
	return terms
}

// Limits returns what a holder must know of every quota that is leased.
func (s *Set) Limits() []lease.QuotaLimits {
	terms := s.Terms()
	limits := make([]lease.QuotaLimits, len(terms))
	for i, t := range terms {
		limits[i] = lease.QuotaLimits{Terms: t, MaxKeys: int64(s.Quota(t.Quota).MaxKeys)}
	}
	return limits
}

// Terms returns the quota as the protocol sees it. An unbounded quota has none: it is never leased.
func (q *Quota) Terms() lease.Terms {
	t := lease.Terms{
		Quota: q.ID, Tokens: q.Limit.Tokens, Per: q.Limit.Per, Burst: q.Limit.Burst,
		TTL: q.Lease.TTL, Size: q.Lease.Size, FloorTTL: q.Partition.FloorLease,
		Unreserved: q.Partition.Unreserved(),
	}
	if q.Limit.Algorithm != TokenBucket {
		t.Windowed, t.Windows, t.Per, t.Burst = true, q.windows, 0, 0
	}
	for _, r := range q.Regions {
		t.Regions = append(t.Regions, lease.RegionTerms{Region: r.Name, Weight: r.Weight, Min: r.Min, Max: r.Max})
		tokens, burst := q.NodeFloor(r.Name)
		if q.Partition.Mode != LocalFloor || tokens == 0 || burst == 0 && !t.Windowed {
			continue
		}
		for range r.Nodes {
			t.Floors = append(t.Floors, lease.FloorTerms{Region: r.Name, Tokens: tokens, Burst: burst})
		}
	}
	return t
}
