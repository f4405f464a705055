package bucket_test

import (
	"math"
	"math/big"
	"time"

	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/bucket"
)

// The twins in this file do the same in rationals, one obvious step after the other.

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// accrual is the exact amount that a rate yields in some time, in tokens.
func accrual(r bucket.Rate, elapsed *big.Rat) *big.Rat {
	if elapsed.Sign() <= 0 {
		return new(big.Rat)
	}
	x := new(big.Rat).Mul(rat(r.Tokens), elapsed)
	return x.Quo(x, rat(int64(r.Per)))
}

// fraction is what a remainder is worth in tokens.
func fraction(rem uint64, per time.Duration) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(rem), big.NewInt(int64(per)))
}

// floor is the largest integer that is not above x.
func floor(x *big.Rat) *big.Int {
	q := new(big.Int)
	return q.Div(x.Num(), x.Denom()) // Euclidean, which for a positive denominator is the floor
}

func minRat(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// twinBucket is a token bucket whose level is a rational.
type twinBucket struct {
	rate  bucket.Rate
	burst int64
	level *big.Rat
	at    time.Duration
}

func (b *twinBucket) advance(now time.Duration) {
	if now <= b.at {
		return
	}
	elapsed := new(big.Rat).Sub(rat(int64(now)), rat(int64(b.at)))
	b.level = minRat(new(big.Rat).Add(b.level, accrual(b.rate, elapsed)), rat(b.burst))
	b.at = now
}

func (b *twinBucket) whole() int64 { return floor(b.level).Int64() }

func (b *twinBucket) add(n int64) { b.level = new(big.Rat).Add(b.level, rat(n)) }

func (b *twinBucket) take(now time.Duration, n int64) bool {
	b.advance(now)
	if n < 0 || b.whole() < max(n, 1) {
		return false
	}
	b.add(-n)
	return true
}

// reconfigure keeps the level but for the grain of the new period, in which no finer fraction can be said.
func (b *twinBucket) reconfigure(now time.Duration, rate bucket.Rate, burst int64) {
	b.advance(now)
	b.rate, b.burst = rate, burst
	grains := floor(new(big.Rat).Mul(b.level, rat(int64(rate.Per))))
	b.level = minRat(new(big.Rat).SetFrac(grains, big.NewInt(int64(rate.Per))), rat(burst))
}

// level of the real bucket, as a rational.
func levelOf(b bucket.TokenBucket) *big.Rat {
	return new(big.Rat).Add(rat(b.Level), fraction(b.Rem, b.Rate.Per))
}

// The generators draw small, human and extreme values alike.

func tokens() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(0, 20),
		rapid.Int64Range(0, 1_000_000),
		rapid.Int64Range(0, bucket.MaxTokens),
		rapid.SampledFrom([]int64{0, 1, bucket.MaxTokens - 1, bucket.MaxTokens}),
	)
}

func periods() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(1, 50), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour}),
		rapid.Map(rapid.Int64Range(1, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.Just(time.Duration(math.MaxInt64)),
	)
}

func spans() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(-5, 200), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.Map(rapid.Int64Range(0, int64(time.Hour)), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.SampledFrom([]time.Duration{0, math.MaxInt64, math.MinInt64}),
	)
}

func rates() *rapid.Generator[bucket.Rate] {
	return rapid.Custom(func(t *rapid.T) bucket.Rate {
		return bucket.Rate{Tokens: tokens().Draw(t, "tokens"), Per: periods().Draw(t, "per")}
	})
}

// later is now+d, saturated.
func later(now, d time.Duration) time.Duration {
	if d > 0 && now > math.MaxInt64-d {
		return math.MaxInt64
	}
	return now + d
}
