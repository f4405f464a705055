package limiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// MaxParts is the most parts of one request.
const MaxParts = 64

// Part is one descriptor of a request that has several, as proxies send them.
type Part struct {
	// Descriptor holds the entries, each key once, in any order; in a domain with
	// rules they may repeat, and their order counts.
	Descriptor []Pair
	// N is the cost in hits; 0 takes nothing and asks whether 1 would be
	// admitted. Refund gives N back instead: see AllowParts.
	N      int64
	Refund bool
	// Cap, if it is not nil, is a limit that the request itself asks for. It makes
	// the limit of a quota stricter and never looser: a hit costs as many tokens as
	// make the cap of the limit, rounded up. It is for quotas whose match names
	// every entry of the descriptor, so that it takes nothing from others; what else
	// matches is charged as usual.
	Cap *Cap
}

// Cap is so many hits in some time, 0 or more. Per is above 0.
type Cap struct {
	Hits int64
	Per  time.Duration
}

// PartDecision is what was decided of one part by itself: that others denied the
// request does not show in it.
type PartDecision struct {
	Reason Reason
	// Quota is the one that decided, as its policy has it: nil if no quota with a
	// bucket matched, and for a refund to a bucket that is not known here. It must
	// not be changed.
	Quota *policy.Quota
	// Rule is what matched in a domain with rules, else nil.
	Rule *policy.Rule
	// Limit, Remaining and Most are those of a Decision in hits of this part, the
	// cap taken into account; Reset and RetryAfter are those of a Decision.
	Limit      int64
	Remaining  int64
	Most       int64
	Reset      time.Duration
	RetryAfter time.Duration
	// Refunded is how many hits were given back.
	Refunded int64
}

// Errors of a request with parts.
var (
	// ErrTooManyParts says that there are more than MaxParts. (HTTP 400,
	// INVALID_ARGUMENT.)
	ErrTooManyParts = fmt.Errorf("limiter: more than %d descriptors in one request", MaxParts)
	// ErrNoCeiling says that a part has a Cap and no quota with a bucket that it
	// could make stricter: nothing would be limited. (HTTP 400,
	// FAILED_PRECONDITION.)
	ErrNoCeiling = errors.New("limiter: the descriptor brings a limit of its own, but no quota matches it that could enforce it")
	// ErrCapTooLow says that a quota which a Cap would make stricter cannot hold the
	// tokens of a single hit at once. (HTTP 400, FAILED_PRECONDITION.)
	ErrCapTooLow = errors.New("limiter: the limit that the descriptor brings is too low for the quota that matches it")
	// ErrHasRules says that a domain is written with descriptors: handles and waiters
	// know no such domains. (HTTP 400, INVALID_ARGUMENT.)
	ErrHasRules = errors.New("limiter: the domain is written with descriptors")
)

// AllowParts decides about a request of several parts: it is admitted by all
// quotas that any of them matches and charged to all, or to none (law 14). A
// bucket that several parts match is charged once, the largest of their costs; in
// a domain with rules it is charged for each of them. Rules in shadow mode or quota mode deny
// nothing. What became of each part is appended to into.
//
// Refunds are done when the rest of the request is admitted. A refund takes back
// what was admitted in this process from the open lease of the same bucket, and at
// most that; the tokens return to the bucket when the coordinator hears of it, as
// far as there is room.
//
// It waits for first leases as AllowN does, for all parts together. Its errors are
// those of AllowN, ErrTooManyParts, ErrNoCeiling and ErrCapTooLow; nothing is then
// taken.
func (l *Limiter) AllowParts(ctx context.Context, domain string, parts []Part, into []PartDecision) (bool, []PartDecision, error) {
	if err := ctx.Err(); err != nil {
		return false, into, err
	}
	if len(parts) > MaxParts {
		return false, into, ErrTooManyParts
	}
	s := l.joint.Get().(*joint) //nolint:errcheck // the pool holds nothing else
	defer l.releaseJoint(s)
	for {
		if err := l.join(domain, parts, s); err != nil {
			return false, into, err
		}
		v := lease.Verdict{Outcome: lease.Admitted, At: l.now()}
		if len(s.parts) > 0 {
			v = l.takeParts(ctx, s)
		}
		if v.Outcome == lease.Forgotten {
			continue
		}
		allowed := v.Outcome == lease.Admitted && !s.denied
		return allowed, l.tellParts(s, parts, &v, allowed, into), nil
	}
}

// byRule is AllowN in a domain with rules, for those who know no order of
// entries.
func (l *Limiter) byRule(ctx context.Context, req Request, n int64) (Decision, error) {
	desc := req.Descriptor
	if r := l.rules.Load(); r != nil {
		if d := r.set.Domain(req.Domain); d != nil {
			var err error
			if desc, err = d.Arrange(desc); err != nil {
				return Decision{}, err
			}
		}
	}
	var room [1]PartDecision
	allowed, parts, err := l.AllowParts(ctx, req.Domain, []Part{{Descriptor: desc, N: n}}, room[:0])
	if err != nil {
		return Decision{}, err
	}
	p := &parts[0]
	d := Decision{Allowed: allowed, Reason: p.Reason, Limit: p.Limit, Remaining: p.Remaining, Reset: p.Reset, RetryAfter: p.RetryAfter, Most: p.Most}
	if p.Quota != nil {
		d.Quota = p.Quota.ID
	}
	if allowed && !p.Reason.Allows() {
		d.Reason, d.RetryAfter = Advised, 0
	}
	if d.Reason != Impossible {
		d.Most = 0
	}
	return d, nil
}

// takeParts decides, and waits for the first leases of cold buckets. A request that
// is denied whatever its buckets hold only looks at them.
func (l *Limiter) takeParts(ctx context.Context, s *joint) lease.Verdict {
	if s.denied {
		for i := range s.parts {
			s.parts[i].Cost = 0
		}
		return lease.DecideParts(l.now, s.parts)
	}
	if s.watches() {
		l.warm(ctx, s)
	}
	return l.decideParts(ctx, s.parts)
}

// warm waits for the first leases of buckets that deny nothing: what their rules
// would have said is worth as much waiting, also of a request that another denies.
func (l *Limiter) warm(ctx context.Context, s *joint) {
	var peek [maxQuotas]lease.Part
	for i := range s.parts {
		peek[i].Cell = s.parts[i].Cell
	}
	lease.DecideParts(l.now, peek[:len(s.parts)]) // it asks for all of them at once
	n := 0
	for i := range s.parts {
		if s.parts[i].Advisory && peek[i].Outcome == lease.Cold {
			peek[n] = lease.Part{Cell: s.parts[i].Cell}
			n++
		}
	}
	if n > 0 {
		l.decideParts(ctx, peek[:n])
	}
}

// watches says that one of the buckets denies nothing.
func (s *joint) watches() bool {
	for i := range s.parts {
		if s.parts[i].Advisory {
			return true
		}
	}
	return false
}

// decideParts decides, and waits for the first lease of a cold cell, at most until
// ctx ends or ColdWait is over: then it decides anew whenever something came.
func (l *Limiter) decideParts(ctx context.Context, parts []lease.Part) lease.Verdict {
	v := lease.DecideParts(l.now, parts)
	if v.Outcome != lease.Cold || l.opts.ColdWait <= 0 || !l.reached() {
		return v
	}
	timer := l.clock.NewTimer(l.opts.ColdWait)
	defer timer.Stop()
	for {
		changed := parts[v.Cell].Cell.Changed() // before the decision, so that no grant is missed
		before := v.Cell
		v = lease.DecideParts(l.now, parts)
		if v.Outcome != lease.Cold || !l.reached() {
			return v
		}
		if v.Cell == before && !l.came(ctx, changed, timer) {
			return v
		}
	}
}
