package envoy

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// What a bucket admits in its lifetime, second by second, is never above the cost
// that was charged for it, and that never above the budget.
func TestABucketAdmitsNoMoreThanItsCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget, seconds := rapid.Int64Range(1, 1<<40).Draw(t, "budget"), rapid.Int64Range(1, 60).Draw(t, "seconds")
		b, cost := bucketOf(budget, seconds)
		assert.LessOrEqual(t, cost, budget)
		assert.Positive(t, cost)
		level, admitted := int64(b.GetMaxTokens()), int64(0)
		for s := range seconds + 1 {
			if s > 0 && s%b.GetFillInterval().GetSeconds() == 0 {
				level = min(level+int64(b.GetTokensPerFill().GetValue()), int64(b.GetMaxTokens()))
			}
			admitted += level
			level = 0
		}
		assert.LessOrEqual(t, admitted, cost)
		assert.Positive(t, b.GetFillInterval().GetSeconds(), "whole seconds")
		if budget > 10*seconds && budget < math.MaxUint32 {
			assert.Greater(t, cost, budget*8/10, "and little of the budget is left over")
		}
	})
}

func TestSharesAreInProportionAndNeverMoreThanThereIs(t *testing.T) {
	for _, c := range []struct{ wants, all, free, others, want int64 }{
		{10, 10, 100, 0, 10},
		{10, 10, 4, 0, 4},
		{10, 40, 100, 0, 10},
		{10, 40, 20, 0, 5},
		{30, 40, 20, 0, 15},
		{1, 1000, 20, 0, 1},
		{10, 40, 0, 0, 0},
		{10, 40, -1, 0, 0},
		{20, 40, 10, 20, 10},
		{20, 40, 20, 10, 15},
		{20, 40, 20, 20, 20}, // what others hold counts
	} {
		assert.Equal(t, c.want, share(c.wants, c.all, c.free, c.others), "%+v", c)
	}
}

func TestDemandIsSmoothed(t *testing.T) {
	assert.Equal(t, int64(7), usage{requests: 7}.rate(0), "a first report has no time")
	assert.Equal(t, int64(20), usage{requests: 10, elapsed: 500 * time.Millisecond}.rate(0))
	assert.Equal(t, int64(15), usage{requests: 10, elapsed: time.Second}.rate(20))
	assert.Equal(t, int64(3), usage{requests: 1, elapsed: time.Second}.rate(4))
	assert.Equal(t, int64(math.MaxUint32), usage{requests: math.MaxUint32 << 1, elapsed: 1}.rate(0))
	hold := want(11, 5)
	assert.Equal(t, int64(14*6), hold)
}

func TestAnAssignmentLivesNoLongerThanItsLeaseAndItsWindow(t *testing.T) {
	assert.Equal(t, int64(5), lifetime(5*time.Second, time.Hour, false))
	assert.Equal(t, int64(1), lifetime(1900*time.Millisecond, 0, false))
	assert.Equal(t, int64(2), lifetime(5*time.Second, 2900*time.Millisecond, true))
	assert.Equal(t, int64(0), lifetime(5*time.Second, 900*time.Millisecond, true))
}
