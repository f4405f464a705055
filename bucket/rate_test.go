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

func TestRateValidate(t *testing.T) {
	for _, r := range []bucket.Rate{{0, 1}, {1, time.Second}, {bucket.MaxTokens, math.MaxInt64}} {
		assert.NoError(t, r.Validate(), "%+v", r)
	}
	for _, c := range []struct {
		rate bucket.Rate
		says string
	}{
		{bucket.Rate{Tokens: -1, Per: time.Second}, "tokens -1"},
		{bucket.Rate{Tokens: bucket.MaxTokens + 1, Per: time.Second}, "tokens 9007199254740993"},
		{bucket.Rate{Tokens: 1}, "per 0s"},
		{bucket.Rate{Tokens: 1, Per: -time.Second}, "per -1s"},
	} {
		err := c.rate.Validate()
		assert.ErrorIs(t, err, bucket.ErrRate)
		assert.ErrorContains(t, err, c.says)
	}
}

func TestAccrueTable(t *testing.T) {
	tenPerSecond := bucket.Rate{Tokens: 10, Per: time.Second}
	for _, c := range []struct {
		name    string
		rate    bucket.Rate
		elapsed time.Duration
		rem     uint64
		room    int64
		tokens  int64
		left    uint64
	}{
		{"a token each 100ms", tenPerSecond, 100 * time.Millisecond, 0, 5, 1, 0},
		{"a nanosecond short", tenPerSecond, 100*time.Millisecond - 1, 0, 5, 0, 999_999_990},
		{"the remainder completes it", tenPerSecond, 1, 999_999_990, 5, 1, 0},
		{"no time, the remainder stays", tenPerSecond, 0, 7, 5, 0, 7},
		{"time back, the remainder stays", tenPerSecond, -time.Hour, 7, 5, 0, 7},
		{"exactly full drops the remainder", tenPerSecond, 550 * time.Millisecond, 0, 5, 5, 0},
		{"one below full keeps it", tenPerSecond, 450 * time.Millisecond, 0, 5, 4, 500_000_000},
		{"far beyond full", tenPerSecond, math.MaxInt64, 0, 5, 5, 0},
		{"already full", tenPerSecond, time.Second, 9, 0, 0, 0},
		{"beyond full", tenPerSecond, time.Second, 9, -3, 0, 0},
		{"a remainder that is none", tenPerSecond, 0, uint64(time.Second), 5, 0, 0},
		{"no rate keeps the remainder", bucket.Rate{Per: time.Second}, time.Hour, 9, 5, 0, 9},
		{"negative rate", bucket.Rate{Tokens: -5, Per: time.Second}, time.Hour, 9, 5, 0, 9},
		{"no period", bucket.Rate{Tokens: 5}, time.Hour, 9, 5, 0, 0},
		{"negative period", bucket.Rate{Tokens: 5, Per: -1}, time.Hour, 9, 5, 0, 0},
		{"the largest product", bucket.Rate{Tokens: math.MaxInt64, Per: math.MaxInt64}, math.MaxInt64, 0, math.MaxInt64, math.MaxInt64, 0},
		{"a quotient above 64 bits", bucket.Rate{Tokens: math.MaxInt64, Per: 1}, math.MaxInt64, 0, math.MaxInt64, math.MaxInt64, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tokens, left := c.rate.Accrue(c.elapsed, c.rem, c.room)
			assert.Equal(t, c.tokens, tokens)
			assert.Equal(t, c.left, left)
		})
	}
}

func TestAccrueIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rates().Draw(t, "rate")
		elapsed := spans().Draw(t, "elapsed")
		rem := rapid.Uint64Range(0, uint64(r.Per)-1).Draw(t, "rem")
		room := rapid.OneOf(tokens(), rapid.Int64()).Draw(t, "room")

		total := new(big.Rat).Add(accrual(r, rat(int64(elapsed))), fraction(rem, r.Per))
		if total.Cmp(rat(room)) >= 0 {
			total = rat(max(room, 0))
		}
		got, left := r.Accrue(elapsed, rem, room)
		have := new(big.Rat).Add(rat(got), fraction(left, r.Per))
		assert.Zero(t, total.Cmp(have), "want %v, have %v", total, have)
		assert.Less(t, left, uint64(r.Per))
	})
}

func TestAccrueDoesNotDependOnTheCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rates().Draw(t, "rate")
		a := time.Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "a"))
		b := time.Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "b"))
		rem := rapid.Uint64Range(0, uint64(r.Per)-1).Draw(t, "rem")
		room := tokens().Draw(t, "room")

		whole, wholeRem := r.Accrue(a+b, rem, room)
		first, firstRem := r.Accrue(a, rem, room)
		second, secondRem := r.Accrue(b, firstRem, room-first)
		assert.Equal(t, whole, first+second)
		assert.Equal(t, wholeRem, secondRem)
	})
}

func TestTimeForIsTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rates().Draw(t, "rate")
		rem := rapid.Uint64Range(0, uint64(r.Per)-1).Draw(t, "rem")
		n := rapid.OneOf(tokens(), rapid.Int64()).Draw(t, "n")

		d, ok := r.TimeFor(n, rem)
		switch {
		case n <= 0:
			assert.True(t, ok)
			assert.Zero(t, d)
			return
		case r.Tokens == 0:
			assert.False(t, ok)
			assert.Equal(t, bucket.Forever, d)
			return
		}
		assert.True(t, ok)
		assert.Positive(t, d)
		if d < bucket.Forever {
			got, _ := r.Accrue(d, rem, n)
			assert.Equal(t, n, got)
		}
		got, _ := r.Accrue(d-1, rem, n)
		assert.Less(t, got, n, "a nanosecond less is enough too")
	})
}

func TestTimeForOutOfRange(t *testing.T) {
	for _, r := range []bucket.Rate{{}, {Tokens: 1}, {Tokens: -1, Per: 1}, {Tokens: 1, Per: -1}} {
		d, ok := r.TimeFor(1, 0)
		assert.False(t, ok)
		assert.Equal(t, bucket.Forever, d)
	}
	d, ok := bucket.Rate{Tokens: 1, Per: math.MaxInt64}.TimeFor(math.MaxInt64, 0)
	assert.True(t, ok)
	assert.Equal(t, bucket.Forever, d)
	d, _ = bucket.Rate{Tokens: 1, Per: time.Second}.TimeFor(1, math.MaxUint64)
	assert.Equal(t, time.Second, d, "a remainder that is none shortens nothing")
}

func TestCarryKeepsTheFractionAndNeverGrowsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := rates().Draw(t, "from"), rates().Draw(t, "to")
		rem := rapid.Uint64Range(0, uint64(from.Per)-1).Draw(t, "rem")

		carried := to.Carry(rem, from)
		was, is := fraction(rem, from.Per), fraction(carried, to.Per)
		assert.LessOrEqual(t, is.Cmp(was), 0)
		assert.Positive(t, fraction(carried+1, to.Per).Cmp(was), "one more would still not be too much")
		assert.Less(t, carried, uint64(to.Per))
	})
	assert.Zero(t, bucket.Rate{Tokens: 1, Per: 5}.Carry(3, bucket.Rate{}))
	assert.Zero(t, bucket.Rate{}.Carry(3, bucket.Rate{Tokens: 1, Per: 5}))
}

func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, num, den := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "num"), rapid.Int64().Draw(t, "den")
		got := bucket.Scale(a, num, den)
		if a <= 0 || num <= 0 || den <= 0 {
			assert.Zero(t, got)
			return
		}
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(num))
		want.Div(want, big.NewInt(den))
		if want.Cmp(big.NewInt(bucket.MaxTokens)) > 0 {
			want.SetInt64(bucket.MaxTokens)
		}
		assert.Equal(t, want.Int64(), got)
	})
	assert.EqualValues(t, 33, bucket.Scale(100, 1, 3))
}
