package bucket_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/bucket"
)

func TestZeroTokenBucketDeniesAll(t *testing.T) {
	var b bucket.TokenBucket
	for _, n := range []int64{0, 1, math.MaxInt64} {
		r := b.Take(time.Hour, n)
		assert.False(t, r.OK)
		assert.True(t, r.Never)
		assert.Equal(t, bucket.Forever, r.RetryAfter)
	}
	assert.Zero(t, b.TakeUpTo(time.Hour, 5))
}

func TestNegativeCostIsRefused(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: 10, Per: time.Second}, 10)
	b.Take(0, 4)
	before := b
	for _, n := range []int64{-1, math.MinInt64} {
		r := b.Take(0, n)
		assert.Equal(t, bucket.Result{Invalid: true, Remaining: 6, RetryAfter: bucket.Forever, Reset: 400 * time.Millisecond}, r)
		assert.Zero(t, b.TakeUpTo(0, n))
		assert.Zero(t, b.Refund(0, n))
		b.Debit(0, n)
		assert.Equal(t, before, b)
	}
}

func TestRefundStopsAtTheBurst(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: 10, Per: time.Second}, 10)
	b.Take(0, 3)
	assert.EqualValues(t, 2, b.Refund(0, 2))
	b.Advance(50 * time.Millisecond)
	assert.NotZero(t, b.Rem)
	assert.EqualValues(t, 1, b.Refund(50*time.Millisecond, math.MaxInt64))
	assert.EqualValues(t, 10, b.Level)
	assert.Zero(t, b.Rem, "full: no fraction on top")
}

func TestZeroRateNeverRefills(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Per: time.Second}, 3)
	assert.True(t, b.Take(0, 3).OK)
	r := b.Take(math.MaxInt64, 1)
	assert.False(t, r.OK)
	assert.False(t, r.Never, "the burst could hold it; only the rate cannot bring it")
	assert.Equal(t, bucket.Forever, r.RetryAfter)
	assert.Equal(t, bucket.Forever, r.Reset)
}

func TestNothingWrapsAtTheEnds(t *testing.T) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, bucket.MaxTokens, math.MaxInt64 - 1, math.MaxInt64}
	for _, tokens := range ends {
		for _, per := range ends {
			for _, burst := range ends {
				rate := bucket.Rate{Tokens: tokens, Per: time.Duration(per)}
				b := bucket.Full(math.MinInt64, rate, burst)
				for _, n := range ends {
					b.Debit(0, n)
					b.Debit(0, n)
					for _, now := range ends {
						r := b.Take(time.Duration(now), n)
						assert.False(t, r.OK && r.RetryAfter != 0)
						assert.GreaterOrEqual(t, r.Remaining, int64(0))
						assert.LessOrEqual(t, r.Remaining, max(burst, 0))
						assert.GreaterOrEqual(t, b.TakeUpTo(time.Duration(now), n), int64(0))
					}
					b.Refund(0, n)
					assert.LessOrEqual(t, b.Level, max(burst, 0))
				}
			}
		}
	}
}

func TestDebtDoesNotWrapIntoCredit(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: bucket.MaxTokens, Per: time.Second}, bucket.MaxTokens)
	for range 5 {
		b.Debit(0, math.MaxInt64)
		assert.Negative(t, b.Level)
	}
	assert.EqualValues(t, -1<<62, b.Level)
	assert.Zero(t, b.TakeUpTo(500*time.Second, math.MaxInt64))
	assert.Equal(t, bucket.MaxTokens, b.TakeUpTo(514*time.Second, math.MaxInt64))
}

func TestHandMadeBucketIsHeldToItsBurst(t *testing.T) {
	b := bucket.TokenBucket{Rate: bucket.Rate{Tokens: 1, Per: 1}, Burst: 5, Level: 1000}
	assert.EqualValues(t, 4, b.Take(0, 1).Remaining)
}

// Every answer is that of a bucket in rationals, and every wait is the least one.
func TestTokenBucketAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate, burst := rates().Draw(t, "rate"), tokens().Draw(t, "burst")
		now := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "start"))
		b := bucket.Full(now, rate, burst)
		twin := &twinBucket{rate: rate, burst: burst, level: rat(burst), at: now}
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) { // without a touch: each operation has to catch up by itself
				now = later(now, max(spans().Draw(t, "d"), -5))
			},
			"advance": func(*rapid.T) {
				b.Advance(now)
				twin.advance(now)
			},
			"take": func(t *rapid.T) {
				n := rapid.OneOf(rapid.Int64Range(-2, 20), tokens()).Draw(t, "n")
				want := twin.take(now, n)
				r := b.Take(now, n)
				assert.Equal(t, want, r.OK)
				checkAnswer(t, b, n, r)
			},
			"take up to": func(t *rapid.T) {
				n := tokens().Draw(t, "n")
				twin.advance(now)
				want := max(min(n, twin.whole()), 0)
				twin.add(-want)
				assert.Equal(t, want, b.TakeUpTo(now, n))
			},
			"debit": func(t *rapid.T) {
				n := tokens().Draw(t, "n")
				twin.advance(now)
				if twin.level.Cmp(rat(-bucket.MaxTokens)) < 0 {
					n = 0
				}
				twin.add(-n)
				b.Debit(now, n)
			},
			"refund": func(t *rapid.T) {
				n := tokens().Draw(t, "n")
				twin.advance(now)
				before := twin.whole()
				twin.add(n)
				twin.level = minRat(twin.level, rat(twin.burst))
				assert.Equal(t, twin.whole()-before, b.Refund(now, n))
			},
			"reconfigure": func(t *rapid.T) {
				rate, burst := rates().Draw(t, "rate"), tokens().Draw(t, "burst")
				b.Reconfigure(now, rate, burst)
				twin.reconfigure(now, rate, burst)
			},
			"": func(t *rapid.T) {
				assert.Zero(t, twin.level.Cmp(levelOf(b)), "want %v, have %v", twin.level, levelOf(b))
				assert.Less(t, b.Rem, uint64(b.Rate.Per))
				assert.LessOrEqual(t, b.Level, b.Burst)
				assert.Equal(t, twin.at, b.At)
			},
		})
	})
}

// checkAnswer holds an answer against the bucket as it is after it.
func checkAnswer(t *rapid.T, b bucket.TokenBucket, n int64, r bucket.Result) {
	assert.GreaterOrEqual(t, r.Remaining, int64(0))
	assert.LessOrEqual(t, r.Remaining, b.Burst)
	assert.Equal(t, n < 0, r.Invalid)
	assert.Equal(t, n >= 0 && max(n, 1) > b.Burst, r.Never)
	if full := b; r.Reset < bucket.Forever-b.At {
		full.Advance(b.At + r.Reset)
		assert.Equal(t, full.Burst, full.Level)
		if early := b; r.Reset > 0 {
			early.Advance(b.At + r.Reset - 1)
			assert.Less(t, early.Level, early.Burst)
		}
	}
	switch {
	case r.OK:
		assert.Zero(t, r.RetryAfter)
	case r.Never, r.Invalid:
		assert.Equal(t, bucket.Forever, r.RetryAfter)
	default:
		assert.Positive(t, r.RetryAfter)
		assert.LessOrEqual(t, r.RetryAfter, r.Reset)
		if r.RetryAfter < bucket.Forever-b.At {
			soon, ripe := b, b
			assert.False(t, soon.Take(b.At+r.RetryAfter-1, n).OK)
			assert.True(t, ripe.Take(b.At+r.RetryAfter, n).OK)
		}
	}
}
