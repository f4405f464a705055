package bucket_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/a1009580/leasehold/bucket"
)

// Faults that people met in rate limiters, each as a test whose name says it. Those of windows are in
// field_windows_test.go.

const (
	second = time.Second
	day    = 24 * time.Hour
)

// epoch is a clock that counts from 1970, for faults that a start at 0 would hide.
const epoch = 1_760_000_000 * second

func TestOVF01_LongIdleDoesNotWrap(t *testing.T) {
	for _, idle := range []time.Duration{12 * time.Hour, 30 * day, 400 * day, bucket.Forever} {
		b := bucket.Full(0, bucket.Rate{Tokens: 1_000_000, Per: time.Minute}, 1_000_000)
		assert.True(t, b.Take(0, 1_000_000).OK)
		r := b.Take(idle, 1)
		assert.True(t, r.OK, "%v", idle)
		assert.EqualValues(t, 999_999, r.Remaining)
		assert.EqualValues(t, 999_999, b.Take(idle, 0).Remaining)
	}
}

func TestOVF03_IdleAccruesNothingAboveTheBurst(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: bucket.MaxTokens, Per: 1}, bucket.MaxTokens)
	now := time.Duration(0)
	tick := func(step time.Duration, n int) {
		for range n {
			now += step
			b.Advance(now)
			if b.Level > b.Burst || b.Rem != 0 {
				assert.Fail(t, "stored above the cap", "%+v", b)
				return
			}
		}
	}
	tick(second, 86_400)
	tick(time.Minute, 364*24*60)

	b.Reconfigure(now, bucket.Rate{Tokens: 100, Per: second}, 100)
	admitted := 0
	for range 10_000 {
		if b.Take(now, 1).OK {
			admitted++
		}
	}
	assert.Equal(t, 100, admitted)
}

func TestOVF05_DerivedBurstIsClamped(t *testing.T) {
	assert.Equal(t, bucket.MaxTokens, bucket.Scale(math.MaxInt64, 3, 1))
	assert.Error(t, bucket.Rate{Tokens: math.MaxInt64, Per: second}.Validate())
	for _, burst := range []int64{bucket.Scale(math.MaxInt64, 3, 1), math.MaxInt64} {
		b := bucket.Full(0, bucket.Rate{Tokens: math.MaxInt64, Per: second}, burst)
		assert.Equal(t, burst-1, b.Take(0, 1).Remaining)
		assert.Equal(t, burst-1, b.Take(0, 0).Remaining)
		b.Reconfigure(second, bucket.Rate{Tokens: 10, Per: second}, 10)
		assert.EqualValues(t, 10, b.Take(second, 0).Remaining)
	}
}

func TestFLT01_ShortPollsNeitherGainNorLose(t *testing.T) {
	b := bucket.Full(epoch, bucket.Rate{Tokens: 1000, Per: second}, 2)
	admitted := 0
	const poll = 400 * time.Microsecond
	for now := epoch; now < epoch+600*second; now += poll {
		if b.Take(now, 1).OK {
			admitted++
		}
	}
	assert.InDelta(t, 600_000, admitted, 2)
}

func TestFLT03_LowRateAtEpochTime(t *testing.T) {
	b := bucket.Full(epoch, bucket.Rate{Tokens: 1, Per: 10_000 * second}, 1)
	r := b.Take(epoch, 1)
	assert.True(t, r.OK)
	assert.Zero(t, r.RetryAfter)
	r = b.Take(epoch+second/2, 1)
	assert.False(t, r.OK)
	assert.Equal(t, 9_999*second+second/2, r.RetryAfter)
}

func TestCOST01_DenialConsumesNothing(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: 10, Per: 10 * second}, 10)
	assert.True(t, b.Take(0, 8).OK)
	before := b
	for _, n := range []int64{5, 1_000_000, math.MaxInt64} {
		r := b.Take(0, n)
		assert.False(t, r.OK)
		assert.EqualValues(t, 2, r.Remaining)
		assert.Equal(t, 8*second, r.Reset)
		assert.Equal(t, before, b)
	}
	assert.True(t, b.Take(0, 2).OK)
}

func TestCOST03_CostOfExactlyTheBurstIsPossible(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: 5, Per: 5 * second}, 5)
	assert.True(t, b.Take(0, 1).OK)
	r := b.Take(0, 5)
	assert.False(t, r.OK)
	assert.False(t, r.Never)
	assert.Equal(t, second, r.RetryAfter)
	assert.False(t, b.Take(r.RetryAfter-1, 5).OK)
	assert.True(t, b.Take(r.RetryAfter, 5).OK)
	assert.True(t, b.Take(r.RetryAfter, 6).Never)
}

func TestCOST05_DebtGrantsNothingNegative(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: 50, Per: second}, 50)
	b.Debit(0, 80)
	assert.EqualValues(t, -30, b.Level)
	assert.Zero(t, b.TakeUpTo(0, 10))
	assert.EqualValues(t, -30, b.Level)
	r := b.Take(0, 0)
	assert.False(t, r.OK)
	assert.Zero(t, r.Remaining, "debt is not a negative remaining")
	assert.Equal(t, 620*time.Millisecond, r.RetryAfter)
	assert.Zero(t, b.TakeUpTo(600*time.Millisecond, 10))
	assert.EqualValues(t, 1, b.TakeUpTo(620*time.Millisecond, 10))
}

func TestCOST07_CostZeroSpendsNothing(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: 5, Per: second}, 5)
	for range 100 {
		r := b.Take(0, 0)
		assert.True(t, r.OK)
		assert.EqualValues(t, 5, r.Remaining)
	}
	assert.True(t, b.Take(0, 5).OK)
	for range 100 {
		r := b.Take(0, 0)
		assert.False(t, r.OK)
		assert.Equal(t, second/5, r.RetryAfter)
	}
	assert.True(t, b.Take(second/5, 1).OK)
}

func TestCOST09_ShareOfZeroDeniesAll(t *testing.T) {
	share := bucket.Scale(3, 1, 4)
	assert.Zero(t, share)
	b := bucket.Full(0, bucket.Rate{Tokens: share, Per: second}, share)
	var c bucket.WindowCounter
	for now := time.Duration(0); now < time.Minute; now += second {
		for _, n := range []int64{0, 1, 3} {
			assert.False(t, b.Take(now, n).OK)
			assert.False(t, c.Take(fixed(t, second), time.Unix(0, int64(now)), share, n).OK)
		}
		assert.Zero(t, b.TakeUpTo(now, 3))
	}
}

func TestWIN05_NoJumpToFullBesideTheRefill(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: 3, Per: second}, 3)
	admitted, denied := 0, false
	for now := time.Duration(0); now < time.Minute; now += 100 * time.Millisecond {
		r := b.Take(now, 1)
		if r.OK {
			admitted++
		}
		assert.False(t, denied && r.Remaining > 0, "full right after a denial")
		denied = !r.OK
	}
	assert.LessOrEqual(t, admitted, 3+3*60)
	assert.GreaterOrEqual(t, admitted, 3*60)
}

func TestCLK01_TimeRunningBackMintsNothing(t *testing.T) {
	b := bucket.Full(100*second, bucket.Rate{Tokens: 10, Per: second}, 10)
	assert.True(t, b.Take(100*second, 10).OK)
	for range 1000 {
		assert.False(t, b.Take(99*second, 1).OK)
		assert.False(t, b.Take(100*second, 1).OK)
		assert.Zero(t, b.TakeUpTo(-math.MaxInt64, 1))
	}
	assert.Equal(t, 100*second, b.At)

	m := bucket.NewMeter(100*second, b.Rate)
	start := m.Mark(100 * second)
	for range 1000 {
		m.SetTokens(99*second, 10)
		m.SetTokens(100*second, 10)
	}
	assert.Equal(t, start, m.Mark(100*second))
}

// The bucket's time is monotonic: it does not see a wall clock that jumps.
func TestCLK03_RefillIsByMonotonicTime(t *testing.T) {
	b := bucket.Empty(0, bucket.Rate{Tokens: 1, Per: second}, 100)
	admitted := int64(0)
	for now := time.Duration(0); now <= 300*second; now += 3 * second {
		admitted += b.TakeUpTo(now, bucket.MaxTokens)
	}
	assert.EqualValues(t, 300, admitted)
}

// A raise adds room, not tokens: what governs at once is the new rate's wait. A window counts what is used, so
// there the room itself is at once usable.
func TestCFG01_RaiseGovernsAtOnce(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: 1, Per: time.Hour}, 1)
	assert.True(t, b.Take(0, 1).OK)
	assert.Equal(t, time.Hour-second, b.Take(second, 1).RetryAfter)
	b.Reconfigure(second, bucket.Rate{Tokens: 100, Per: time.Hour}, 100)
	r := b.Take(second, 1)
	assert.Equal(t, 36*second-second/100, r.RetryAfter, "the old wait is gone; a hundredth of a token was there")
	assert.Zero(t, r.Remaining)
	assert.True(t, b.Take(second+r.RetryAfter, 1).OK)

	w, at := fixed(t, time.Hour), time.Unix(1_760_000_400, 0)
	var c bucket.WindowCounter
	assert.True(t, c.Take(w, at, 1, 1).OK)
	assert.False(t, c.Take(w, at, 1, 1).OK)
	r = c.Take(w, at.Add(second), 100, 1)
	assert.True(t, r.OK)
	assert.EqualValues(t, 98, r.Remaining)
}

func TestCFG03_UnchangedReloadMintsNothing(t *testing.T) {
	rate := bucket.Rate{Tokens: 100, Per: time.Hour}
	b := bucket.Full(0, rate, 100)
	assert.True(t, b.Take(0, 100).OK)
	twin := b
	for now := time.Duration(0); now < 20*second; now += second {
		b.Reconfigure(now, rate, 100)
		assert.False(t, b.Take(now, 1).OK)
	}
	twin.Advance(19 * second)
	assert.Equal(t, twin, b, "and loses nothing either")
}

func TestHDR01_RetryAfterAndResetAreNotZeroOnceUsedUp(t *testing.T) {
	w, start := fixed(t, time.Minute), time.Unix(1_760_000_040, 0)
	var c bucket.WindowCounter
	assert.True(t, c.Take(w, start, 2, 1).OK)
	assert.True(t, c.Take(w, start.Add(second), 2, 1).OK)
	r := c.Take(w, start.Add(2*second), 2, 1)
	assert.False(t, r.OK)
	assert.Equal(t, 58*second, r.Reset)
	assert.Equal(t, r.Reset, r.RetryAfter)
}

func TestHDR05_RemainingStaysWithinTheLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	limit := func() int64 { return rng.Int64N([]int64{2, 100, 1_000_000, bucket.MaxTokens + 1}[rng.IntN(4)]) }
	b := bucket.Full(0, bucket.Rate{Tokens: limit(), Per: second}, limit())
	w := fixed(t, second)
	var c bucket.WindowCounter
	now := time.Duration(0)
	for range 1_000_000 {
		switch rng.IntN(20) {
		case 0:
			b.Reconfigure(now, bucket.Rate{Tokens: limit(), Per: 1 + time.Duration(rng.Int64N(int64(day)))}, limit())
		case 1, 2:
			b.Refund(now, limit())
		case 3:
			b.Debit(now, limit())
		case 4, 5, 6, 7:
			now = later(now, time.Duration(rng.Int64N(int64(time.Hour)))>>rng.IntN(40))
		}
		cost := limit()>>rng.IntN(50) - 1
		r := b.Take(now-time.Duration(rng.Int64N(10)), cost)
		s := c.Take(w, time.Unix(0, int64(now)), b.Burst, cost)
		if r.Remaining < 0 || r.Remaining > b.Burst || s.Remaining < 0 || s.Remaining > b.Burst {
			assert.Fail(t, "out of range", "%+v %+v of %+v", r, s, b)
			return
		}
	}
}

func TestHDR07_PeekAndTakeStateTheSameWait(t *testing.T) {
	b := bucket.Full(0, bucket.Rate{Tokens: 7, Per: second}, 7)
	assert.True(t, b.Take(0, 7).OK)
	for now := time.Duration(0); now < second/7; now += time.Millisecond {
		assert.Equal(t, b.Take(now, 0), b.Take(now, 1))
	}
	w, at := fixed(t, time.Minute), time.Unix(1_760_000_040, 0)
	var c bucket.WindowCounter
	assert.True(t, c.Take(w, at, 7, 7).OK)
	assert.Equal(t, c.Take(w, at, 7, 0), c.Take(w, at, 7, 1))
}
