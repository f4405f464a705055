package demo

import (
	_ "embed"
	"fmt"
	"time"

	"github.com/a1009580/leasehold/policy"
)

// samplePolicy is the policy of a demo that was given none.
//
//go:embed policy.yaml
var samplePolicy []byte

// target says how the traffic's key becomes a request: which entry of the
// descriptor it is the value of, and what else every request carries.
type target struct {
	quota  *policy.Quota // whose limit the traffic is made for
	domain *policy.Domain
	entry  string
	rest   []policy.Pair
}

// aim finds the target of a policy: the first wildcard entry of its first quota,
// as the file is written, or the entry that was asked for.
func aim(set *policy.Set, entry string) (target, error) {
	q := firstQuota(set)
	if q == nil {
		return target{}, fmt.Errorf("the policy has no quota: there is nothing to show")
	}
	t := target{quota: q, domain: set.Domain(q.Domain), entry: entry}
	for _, e := range q.Match {
		if e.Any && t.entry == "" {
			t.entry = e.Key
		}
	}
	if t.entry == "" {
		return target{}, fmt.Errorf("quota %s matches no entry by \"*\": --trace-entry must say which entry of the descriptor the key is", q.ID)
	}
	for _, e := range q.Match {
		switch {
		case e.Key == t.entry:
		case e.Any:
			// One bucket for all: the demo's traffic differs by one entry only.
			t.rest = append(t.rest, policy.Pair{Key: e.Key, Value: "demo"})
		default:
			t.rest = append(t.rest, policy.Pair{Key: e.Key, Value: e.Value})
		}
	}
	return t, nil
}

// firstQuota is the one that stands first in the file.
func firstQuota(set *policy.Set) *policy.Quota {
	var first *policy.Quota
	for _, d := range set.Domains {
		for _, q := range d.Quotas {
			if first == nil || q.Line < first.Line || q.Line == first.Line && q.Column < first.Column {
				first = q
			}
		}
	}
	return first
}

// descriptor is what a request of a key carries.
func (t *target) descriptor(key string) []policy.Pair {
	return append([]policy.Pair{{Key: t.entry, Value: key}}, t.rest...)
}

// rate is how many tokens the quota admits in a second, in the long run.
func (t *target) rate() float64 {
	l := t.quota.Limit
	if l.Unbounded {
		return 0
	}
	per := l.Per
	if per == 0 { // a calendar window: as long as the present one
		w := t.quota.Windows()
		from, to := w.Bounds(w.Index(time.Now()))
		per = to.Sub(from)
	}
	return float64(l.Tokens) / per.Seconds()
}
