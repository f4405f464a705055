package limiter

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	// the limits that match stricter and never looser: a hit costs as many tokens
	// of a quota as make the cap of its limit, rounded up.
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
	// bucket matched, and for a refund. It must not be changed.
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
// those of AllowN, ErrTooManyParts and ErrNoCeiling; nothing is then taken.
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

// takeParts decides, and waits for the first leases of cold cells. A request that
// is denied whatever its buckets have only looks at them.
func (l *Limiter) takeParts(ctx context.Context, s *joint) lease.Verdict {
	if s.denied {
		for i := range s.parts {
			s.parts[i].Cost = 0
		}
	}
	v := lease.DecideParts(l.now, s.parts)
	if s.denied || v.Outcome != lease.Cold || l.opts.ColdWait <= 0 || !l.holder.Connected() {
		return v
	}
	timer := l.clock.NewTimer(l.opts.ColdWait)
	defer timer.Stop()
	for {
		changed := s.parts[v.Cell].Cell.Changed() // before the decision, so that no grant is missed
		before := v.Cell
		v = lease.DecideParts(l.now, s.parts)
		if v.Outcome != lease.Cold {
			return v
		}
		if v.Cell != before {
			continue
		}
		select {
		case <-changed:
		case <-timer.C:
			return v
		case <-l.closing:
			return v
		case <-ctx.Done():
			return v
		}
	}
}

// scale is how many tokens of a limit a hit costs, so that the limit admits no
// more hits than the cap, at once and over time; 0 if the cap admits none.
func (c *Cap) scale(q *policy.Quota) int64 {
	if c == nil {
		return 1
	}
	if c.Hits <= 0 {
		return 0
	}
	n := ceilDiv(q.Limit.Capacity(), c.Hits)
	// The quota's tokens in the cap's time, rounded up: what must not buy more
	// than the cap's hits.
	if per := length(q); per > 0 {
		accrued := float64(q.Limit.Tokens) * (float64(c.Per) / float64(per)) * (1 + 1e-9)
		if accrued >= math.MaxInt64/2 {
			return math.MaxInt64
		}
		n = max(n, ceilDiv(int64(math.Ceil(accrued)), c.Hits))
	}
	return max(1, n)
}

// length is the time in which a quota admits its tokens; of calendar windows the
// shortest there can be.
func length(q *policy.Quota) time.Duration {
	if q.Limit.Per > 0 {
		return q.Limit.Per
	}
	return q.Limit.Unit.Least()
}

func ceilDiv(a, b int64) int64 { return (a-1)/b + 1 }
