package partition

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Transition returns how long after a quota was changed what was granted under its old terms can still be
// spent: until the longest lease of tokens or of a floor has surely passed (law 12). A window's leases of
// tokens end with the window instead, which the caller knows.
func Transition(old *policy.Quota, ρ lease.Drift) time.Duration {
	longest := old.Lease.TTL
	if terms := old.Terms(); len(terms.Floors) > 0 {
		longest = max(longest, terms.FloorTTL)
	}
	return ρ.Outlast(longest)
}

// LoweredLimit returns by how much the promise of next can be exceeded because the limit was that of old
// before, span after the change, of which at most Transition counts:
//
//	max(0, B_old - B_new) + (1+ρ)·max(0, r_old - r_new)·span
//
// for token buckets, rounded up. For a window quota it is max(0, Q_old - Q_new), of the window in which the
// change fell; of a later one it is at most what the floors of before, together, are above Q_new. It is false if that is nothing, or if the two do not compare: an unbounded
// limit, another algorithm or other windows, which a running coordinator refuses.
func LoweredLimit(old, next *policy.Quota, ρ lease.Drift, span time.Duration) (Line, bool) {
	a, b := old.Limit, next.Limit
	if a.Unbounded || b.Unbounded || a.Algorithm != b.Algorithm || !old.Windows().Same(next.Windows()) {
		return Line{}, false
	}
	l := Line{Kind: Lowered, Holders: 1, Cuts: 1, Drift: ρ, Burst: max(0, a.Capacity()-b.Capacity())}
	l.Tokens = l.Burst
	if a.Algorithm == policy.TokenBucket {
		l.Time = max(0, min(span, Transition(old, ρ)))
		l.Rate = faster(a.Rate(), b.Rate())
		l.Tokens = add(l.Burst, ρ.AtMost(l.Rate, l.Time))
	}
	return l, l.Tokens > 0
}

// With returns the bound with a line added, such as that of what was told. Span and Allowed stay as they are, so that
// the percentage is of no more than what was promised.
func (r Result) With(l Line) Result {
	r.Lines = append([]Line(nil), r.Lines...)
	r.put(l)
	return r
}

// faster returns by how much a is above b, rounded up to whole tokens in the longer of their periods: a rate
// of nothing if it is not above.
func faster(a, b bucket.Rate) bucket.Rate {
	per := max(a.Per, b.Per)
	tokens := lease.Drift(0).AtMost(a, per)
	if a.Per <= 0 || b.Per <= 0 || tokens > bucket.MaxTokens {
		per, tokens = a.Per, a.Tokens // too large to be told more exactly
	}
	return bucket.Rate{Tokens: max(0, tokens-bucket.Scale(b.Tokens, int64(per), int64(b.Per))), Per: per}
}
