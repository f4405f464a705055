package limiter

import (
	"fmt"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// rules is one revision of the policy as decisions use it. It is immutable;
// what counts in it is shared with the revisions before and after.
type rules struct {
	revision uint64
	set      *policy.Set
	quotas   map[*policy.Quota]*quota
	noQuota  map[string]*tally // by domain
}

// quota is one quota of the policy.
type quota struct {
	*policy.Quota
	tally *tally
}

// readRules makes rules of a policy in its canonical form, and what a Holder
// must know of it.
func readRules(revision uint64, text []byte, before *rules) (*rules, []lease.QuotaLimits, error) {
	set, err := policy.Parse("policy", text)
	if err != nil {
		return nil, nil, fmt.Errorf("policy revision %d: %w", revision, err)
	}
	r := &rules{revision: revision, set: set, quotas: map[*policy.Quota]*quota{}, noQuota: map[string]*tally{}}
	for _, d := range set.Domains {
		r.noQuota[d.Name] = before.domainTally(d.Name)
		for _, q := range d.Quotas {
			r.quotas[q] = &quota{Quota: q, tally: before.quotaTally(q.ID)}
		}
	}
	return r, set.Limits(), nil
}

// quotaTally returns the tally of a quota that was there before, or a new one.
func (r *rules) quotaTally(id string) *tally {
	if r != nil {
		if q := r.set.Quota(id); q != nil {
			return r.quotas[q].tally
		}
	}
	return &tally{}
}

func (r *rules) domainTally(name string) *tally {
	if r != nil && r.noQuota[name] != nil {
		return r.noQuota[name]
	}
	return &tally{}
}

// maxQuotas is how many quotas with a bucket one request may match.
const maxQuotas = 16

// matched is what a request is charged to.
type matched struct {
	rules  *rules
	domain *policy.Domain
	// quotas are those with a bucket, cells their buckets; unbounded is one of
	// those without.
	quotas    []*quota
	cells     []*lease.Cell
	unbounded *quota
}
