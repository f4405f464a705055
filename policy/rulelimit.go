package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// ruleQuota makes the quota of a rule.
func (d *decoder) ruleQuota(n *node, domain *Domain, r *Rule, unlimited bool, lend lending) *Quota {
	q := &Quota{Domain: domain.Name, File: d.file, Line: n.line, Column: n.column, MaxKeys: defaultKeys, Lease: Lease{TTL: defaultTTL}, rule: r}
	if unlimited {
		q.Limit = Limit{Unbounded: true}
		lend.refuse("an unlimited descriptor has nothing to lend")
	} else {
		q.Limit, q.windows = d.ruleLimit(r, lend)
		if keys := lend.get("max_keys"); keys != nil {
			q.MaxKeys = int(d.integer(keys, "metadata.max_keys", 1, maxKeys, ""))
		}
		if n := lend.get("lease"); n != nil {
			q.Lease = d.lease(n, q.Limit.Capacity())
		}
		if n := lend.get("regions"); n != nil {
			q.Regions = d.regions(n, q.Limit.Capacity())
		}
		q.Partition = d.partition(lend.get("partition"), q)
	}
	for _, l := range r.path {
		q.Match = append(q.Match, l.entry())
	}
	q.Name = r.quotaName(q.Limit)
	q.ID = q.Domain + "/" + q.Name
	return q
}

// ruleLimit makes the limit of a rule. What has a unit of a minute or more is a window of that length, as it is
// in envoyproxy/ratelimit. Seconds are too short to be leased as windows; the token bucket that stands for them
// admits no more over any time than windows of a second may over an unlucky one.
func (d *decoder) ruleLimit(r *Rule, lend lending) (l Limit, w bucket.Windows) {
	l = Limit{Tokens: r.Requests, Per: r.Unit.Length(), Algorithm: FixedWindow}
	if r.Unit <= Second {
		l.Algorithm = TokenBucket
	}
	if n := lend.get("algorithm"); n != nil {
		i := slices.Index(algorithms, n.text)
		if l.Algorithm = Algorithm(max(i, 0)); i < 0 || !n.isText() {
			d.errorf(n, "metadata.algorithm", "must be %s, not %s", strings.Join(algorithms, " or "), n)
		}
	}
	burst := lend.get("burst")
	switch {
	case l.Algorithm == TokenBucket:
		if l.Burst = l.Tokens; burst != nil {
			l.Burst = d.tokens(burst, "metadata.burst", "")
		}
		return l, w
	case burst != nil && burst == lend.own.get("burst"):
		d.errorf(burst, "metadata.burst", "only a token_bucket has one")
	case l.Algorithm == FixedWindow && l.Per > 0:
		w, _ = bucket.FixedWindows(l.Per) // units are multiples of a millisecond
	case l.Algorithm == CalendarWindow:
		l.Per, l.Zone = 0, "UTC"
		unit, err := bucket.ParseUnit(r.Unit.String())
		if err != nil {
			d.errorf(lend.get("algorithm"), "metadata.algorithm", "there is no calendar_window of a %v", r.Unit)
			return l, w
		}
		if l.Unit = unit; unit == bucket.Month {
			l.AnchorDay = 1
		}
		w, _ = bucket.CalendarWindows(unit, time.UTC, l.AnchorDay) // UTC has all of them
	}
	return l, w
}
