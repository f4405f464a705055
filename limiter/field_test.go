package limiter_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// Faults that people met in rate limiters, beside those that stand with what
// they are about.

func TestWAIT05_AnIdleGapDoesNotSwitchTheLimitOff(t *testing.T) {
	for _, burst := range []int64{1, 2} {
		t.Run(fmt.Sprint("burst ", burst), func(t *testing.T) {
			run(t, perKey(fmt.Sprintf("{tokens: 1, per: 1s, burst: %d}", burst)), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
				require.NoError(t, l.Wait(t.Context(), key("a")))
				time.Sleep(30 * time.Second)
				began, soon := time.Now(), int64(0)
				for range 20 {
					require.NoError(t, l.Wait(t.Context(), key("a")))
					if time.Since(began) < 500*time.Millisecond {
						soon++
					}
				}
				assert.LessOrEqual(t, soon, burst)
				assert.Positive(t, soon)
				assert.GreaterOrEqual(t, time.Since(began), time.Duration(20-burst)*990*time.Millisecond, "one a second from then on")
			})
		})
	}
}

// TestMEM03_KeysThatAreAlwaysDeniedAreForgotten while the coordinator is gone:
// nothing is ever admitted or granted that could bring a sweep about.
func TestMEM03_KeysThatAreAlwaysDeniedAreForgotten(t *testing.T) {
	const keys, pace = 10_000, 20 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		l := region(t, c, func(o *limiter.Options) { o.ColdWait = -1 })
		ready(t, l)
		c.SetFaults(limitertest.Faults{Refusing: true})
		c.Break()
		synctest.Wait()
		var most int64
		for i := range keys {
			require.False(t, allow(t, l, key(fmt.Sprint(i)), 1).Allowed)
			time.Sleep(pace)
			if i%100 == 0 {
				most = max(most, l.Status().Quotas[0].Buckets)
			}
		}
		t.Logf("at most %d of %d keys were held", most, keys)
		assert.Less(t, most, int64(40*time.Second/pace), "those of the last seconds")
		time.Sleep(40 * time.Second)
		assert.Zero(t, l.Status().Quotas[0].Buckets)
	})
}

// TestLSE11_ARegionThatMissedAThousandPoliciesHasTheNewest when it comes back: it
// takes up the newest as it is, and follows no history.
func TestLSE11_ARegionThatMissedAThousandPoliciesHasTheNewest(t *testing.T) {
	run(t, perKey("{tokens: 1, per: 1h}"), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		c.SetFaults(limitertest.Faults{Refusing: true})
		c.Break()
		for i := range 1000 {
			c.SetPolicy(perKey(fmt.Sprintf("{tokens: %d, per: 1h}", 2+i)))
		}
		time.Sleep(time.Minute)
		assert.Equal(t, uint64(1), l.Status().PolicyRevision)
		c.SetFaults(limitertest.Faults{})
		time.Sleep(10 * time.Second)
		ready(t, l)
		assert.Equal(t, uint64(1001), l.Status().PolicyRevision)
		d := allow(t, l, key("a"), 1)
		assert.True(t, d.Allowed)
		assert.Equal(t, int64(1001), d.Limit)
	})
}
