package limiter

import (
	"context"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Standing is how one quota with a bucket stands after a request that it matched.
// Its figures mean what those of a Decision do: Remaining counts what the
// coordinator had left unless the quota is Short.
type Standing struct {
	// Quota is the quota as its policy has it, which must not be changed.
	Quota     *policy.Quota
	Limit     int64 // tokens
	Remaining int64 // tokens, 0 <= Remaining <= Limit
	Reset     time.Duration
	// Short says that the quota had too few tokens for the request, RetryAfter
	// how long until it could have enough: 0 if it never will.
	Short      bool
	RetryAfter time.Duration
}

// AllowDetailed is AllowN, and appends to into how every quota with a bucket
// that matches stands, in the order of their names; the one that decided stands as
// the Decision says. It costs somewhat more, and is for surfaces that tell all
// of it, such as headers of HTTP. Its errors are those of AllowN.
func (l *Limiter) AllowDetailed(ctx context.Context, req Request, n int64, into []Standing) (Decision, []Standing, error) {
	s := l.scratch.Get().(*scratch) //nolint:errcheck // the pool holds nothing else
	defer l.release(s)
	d, v, err := l.decide(ctx, req, n, s)
	if err != nil {
		return d, into, err
	}
	if r := l.rules.Load(); len(s.cells) == 0 && d.Limit > 0 && r != nil {
		// In a domain with rules a request matches one rule, which has one quota.
		if q := r.set.Quota(d.Quota); q != nil {
			into = append(into, standingOf(q, &d))
		}
	}
	roundTrip := time.Duration(l.roundTrip.Load())
	for i := range s.cells {
		into = append(into, l.standing(&s.matched, &v, i, n, &d, roundTrip))
	}
	return d, into, nil
}

// standing looks at one of the quotas that were matched.
func (l *Limiter) standing(m *matched, v *lease.Verdict, i int, n int64, d *Decision, roundTrip time.Duration) Standing {
	s := Standing{Quota: m.quotas[i].Quota}
	if s.Quota.ID == d.Quota {
		return standingOf(s.Quota, d)
	}
	o := l.view(m, v, i, n, roundTrip)
	switch {
	case !d.Allowed && n > o.Most:
		s.Short = true
	case !d.Allowed && o.Retry > 0:
		s.Short, s.RetryAfter = true, l.wait(&o, roundTrip)
	case !d.Allowed: // by others: what it has left is told as if all had admitted
		enough := *v
		enough.Outcome = lease.Admitted
		o = l.view(m, &enough, i, n, roundTrip)
	}
	s.Limit, s.Remaining, s.Reset = o.Limit, o.Remaining, max(o.Reset, s.RetryAfter)
	return s
}

// standingOf is how the quota that decided stands.
func standingOf(q *policy.Quota, d *Decision) Standing {
	return Standing{Quota: q, Limit: d.Limit, Remaining: d.Remaining, Reset: d.Reset, Short: !d.Allowed, RetryAfter: d.RetryAfter}
}
