package bucket_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/bucket"
)

func TestMeterTable(t *testing.T) {
	const s = time.Second
	m := bucket.NewMeter(10*s, bucket.Rate{Tokens: 100, Per: time.Minute})
	start := m.Mark(0)
	assert.Equal(t, bucket.Mark{}, start, "before its start a meter reads its start")

	m.SetTokens(40*s, 50)
	assert.Equal(t, bucket.Rate{Tokens: 50, Per: time.Minute}, m.Rate())
	tokens, rem := m.Since(start, m.Mark(40*s), 0, 1000)
	assert.EqualValues(t, 50, tokens, "half a minute at 100")
	assert.Zero(t, rem)
	tokens, rem = m.Since(start, m.Mark(53*s), 0, 1000)
	assert.EqualValues(t, 60, tokens, "and 13 s at 50")
	assert.EqualValues(t, 50*s, rem, "10.83 tokens: five sixths are carried")

	m.SetTokens(20*s, 0) // time does not run back: this is at 40 s
	assert.Equal(t, m.Mark(40*s), m.Mark(time.Hour))
	tokens, rem = m.Since(m.Mark(40*s), start, 7, 1000)
	assert.Zero(t, tokens, "marks the wrong way round")
	assert.EqualValues(t, 7, rem)
	tokens, rem = m.Since(start, m.Mark(40*s), 7, 50)
	assert.EqualValues(t, 50, tokens)
	assert.Zero(t, rem, "filled: the remainder is dropped")
}

func TestMeterNeverWraps(t *testing.T) {
	m := bucket.NewMeter(math.MinInt64, bucket.Rate{Tokens: math.MaxInt64, Per: 1})
	start, end := m.Mark(math.MinInt64), m.Mark(math.MaxInt64)
	tokens, _ := m.Since(start, end, 0, math.MaxInt64)
	assert.Equal(t, int64(math.MaxInt64), tokens)
	tokens, _ = m.Since(end, start, 0, math.MaxInt64)
	assert.Zero(t, tokens)
	m.SetTokens(math.MaxInt64, math.MinInt64)
	assert.Equal(t, end, m.Mark(math.MaxInt64))
}

func TestMeterSumsAcross64Bits(t *testing.T) {
	rate := bucket.Rate{Tokens: bucket.MaxTokens, Per: 1000 * time.Hour}
	m := bucket.NewMeter(0, rate)
	for now := time.Duration(0); now < 1000*time.Second; now += time.Second {
		m.SetTokens(now, rate.Tokens)
	}
	tokens, rem := m.Since(bucket.Mark{}, m.Mark(1000*time.Second), 0, bucket.MaxTokens)
	want, wantRem := rate.Accrue(1000*time.Second, 0, bucket.MaxTokens)
	assert.Equal(t, want, tokens)
	assert.Equal(t, wantRem, rem)
}

// A meter agrees with the sum, in rationals, of every piece of constant rate.
func TestMeterIsTheIntegral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rates().Draw(t, "rate")
		now := spans().Draw(t, "start")
		m := bucket.NewMeter(now, rate)
		sum := new(big.Rat)
		fromMark, fromSum := m.Mark(now), new(big.Rat)
		rem := rapid.Uint64Range(0, uint64(rate.Per)-1).Draw(t, "rem")

		for range rapid.IntRange(1, 8).Draw(t, "pieces") {
			next := later(now, max(spans().Draw(t, "piece"), 0))
			sum = new(big.Rat).Add(sum, accrual(rate, new(big.Rat).Sub(rat(int64(next)), rat(int64(now)))))
			now = next
			if rapid.Bool().Draw(t, "pin") {
				fromMark, fromSum = m.Mark(now), sum
			}
			if rapid.Bool().Draw(t, "set") {
				rate.Tokens = tokens().Draw(t, "set tokens")
				m.SetTokens(now, rate.Tokens)
			}
		}
		room := rapid.OneOf(tokens(), rapid.Int64()).Draw(t, "room")
		want := new(big.Rat).Add(new(big.Rat).Sub(sum, fromSum), fraction(rem, rate.Per))
		if want.Cmp(rat(room)) >= 0 {
			want = rat(max(room, 0))
		}
		got, left := m.Since(fromMark, m.Mark(now), rem, room)
		have := new(big.Rat).Add(rat(got), fraction(left, rate.Per))
		assert.Zero(t, want.Cmp(have), "want %v, have %v", want, have)
	})
}

// Whether a bucket is refilled at every tick or once at the end, it holds the same.
func TestMeterLateRefillEqualsEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := bucket.NewMeter(0, bucket.Rate{Tokens: tokens().Draw(t, "tokens"), Per: periods().Draw(t, "per")})
		room := tokens().Draw(t, "room")
		first := m.Mark(0)
		last, level, rem := first, int64(0), uint64(0)
		now := time.Duration(0)
		for range rapid.IntRange(1, 10).Draw(t, "ticks") {
			now = later(now, max(spans().Draw(t, "tick"), 0))
			mark := m.Mark(now)
			var gained int64
			gained, rem = m.Since(last, mark, rem, room-level)
			last, level = mark, level+gained
			m.SetTokens(now, tokens().Draw(t, "set"))
		}
		once, onceRem := m.Since(first, last, 0, room)
		assert.Equal(t, once, level)
		assert.Equal(t, onceRem, rem)
	})
}
