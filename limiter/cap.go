package limiter

import (
	"math"
	"math/bits"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/policy"
)

// scale is how many tokens of a quota a hit costs, so that the quota admits no
// more hits than the cap, neither at once nor over time:
//
//	max(1, capacity/hits, tokens·(cap's time)/(quota's time)/hits), rounded up
//
// It is 0 for a cap that admits nothing, and saturates at the largest int64.
func (c *Cap) scale(q *policy.Quota) int64 {
	if c.Hits <= 0 {
		return 0
	}
	accrued := scaleUp(q.Limit.Tokens, c.Per, least(&q.Limit))
	return max(1, ceilDiv(q.Limit.Capacity(), c.Hits), ceilDiv(accrued, c.Hits))
}

// least is the shortest time in which a limit admits its tokens.
func least(l *policy.Limit) time.Duration {
	const day = 24 * time.Hour
	switch {
	case l.Per > 0:
		return l.Per
	case l.Unit == bucket.Minute:
		return time.Minute
	case l.Unit == bucket.Hour:
		return time.Hour
	case l.Unit == bucket.Day:
		return day - 3*time.Hour // a change of the clock
	case l.Unit == bucket.Week:
		return 7*day - 3*time.Hour
	case l.Unit == bucket.Month:
		return 28*day - 3*time.Hour
	default:
		return 365*day - 3*time.Hour
	}
}

// scaleUp is tokens·num/den, rounded up and saturated.
func scaleUp(tokens int64, num, den time.Duration) int64 {
	hi, lo := bits.Mul64(uint64(tokens), uint64(num))
	if hi >= uint64(den) {
		return math.MaxInt64
	}
	n, rest := bits.Div64(hi, lo, uint64(den))
	if rest > 0 {
		n++
	}
	return int64(min(n, math.MaxInt64))
}

// ceilDiv is a/b rounded up, of a >= 0 and b > 0.
func ceilDiv(a, b int64) int64 {
	n := a / b
	if a%b > 0 {
		n++
	}
	return n
}

// satMul multiplies what is 0 or more.
func satMul(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// satAdd adds what is 0 or more.
func satAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
