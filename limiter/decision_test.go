package limiter_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// run has a test in a bubble of virtual time, with a coordinator and a region
// that is connected to it.
func run(t *testing.T, policy string, f func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: policy, Delay: 20 * time.Millisecond})
		l := region(t, c)
		ready(t, l)
		f(t, c, l)
		c.Check()
	})
}

const several = head + `quotas:
- {name: all, match: {}, limit: {tokens: 3, per: 1h}, partition: {mode: fail_closed}}
- {name: key, match: {api_key: "*"}, limit: {tokens: 100, per: 1h}, partition: {mode: fail_closed}}
`

func TestLaw14_ARequestIsChargedToAllItsQuotasOrToNone(t *testing.T) {
	run(t, several, func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		for range 3 {
			d := allow(t, l, key("a"), 1)
			assert.True(t, d.Allowed, "%+v", d)
			assert.Equal(t, "api/all", d.Quota, "the one with the fewest tokens left")
		}
		for range 5 {
			d := allow(t, l, key("a"), 1)
			assert.Equal(t, limiter.Exhausted, d.Reason)
			assert.Equal(t, "api/all", d.Quota)
		}
		time.Sleep(2 * time.Second)
		stats := c.Stats()
		assert.Equal(t, int64(3), stats["api/all"].Books.Spent)
		assert.Equal(t, int64(3), stats["api/key"].Books.Spent)
	})
}

func TestRequestsWithoutABucket(t *testing.T) {
	const text = head + `quotas: [{name: vip, match: {plan: vip}, limit: {tokens: unbounded}}]
---
apiVersion: leasehold/v1
domain: closed
unmatched: deny
quotas: []
`
	run(t, text, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		d := allow(t, l, limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: "plan", Value: "vip"}}}, 1<<60)
		assert.Equal(t, limiter.Decision{Allowed: true, Reason: limiter.Unbounded, Quota: "api/vip"}, d)
		d = allow(t, l, key("a"), 1)
		assert.Equal(t, limiter.Decision{Allowed: true, Reason: limiter.NoQuota}, d)
		d = allow(t, l, limiter.Request{Domain: "closed"}, 1)
		assert.Equal(t, limiter.Decision{Reason: limiter.Unmatched}, d)
		h, err := l.Handle(limiter.Request{Domain: "closed"})
		require.NoError(t, err)
		assert.False(t, h.Allow())
		require.NoError(t, l.Wait(t.Context(), key("a")))
		var impossible *limiter.ImpossibleError
		require.ErrorAs(t, l.Wait(t.Context(), limiter.Request{Domain: "closed"}), &impossible)
		s := l.Status()
		assert.Equal(t, []limiter.DomainStatus{{Domain: "api", NoQuota: 2}, {Domain: "closed", Unmatched: 2}}, s.Domains)
	})
}

func TestFAIL09_AnUnknownDomainIsAnErrorAndCounted(t *testing.T) {
	run(t, perKey(ample), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		_, err := l.Allow(t.Context(), limiter.Request{Domain: "apo"})
		require.ErrorIs(t, err, limiter.ErrUnknownDomain)
		require.ErrorIs(t, l.Wait(t.Context(), limiter.Request{Domain: "apo"}), limiter.ErrUnknownDomain)
		_, err = l.Handle(limiter.Request{Domain: "apo"})
		require.ErrorIs(t, err, limiter.ErrUnknownDomain)
		assert.Equal(t, int64(3), l.Status().UnknownDomain)
	})
}

func TestMalformedRequestsAreErrors(t *testing.T) {
	run(t, perKey(ample), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		twice := limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: "api_key", Value: "a"}, {Key: "api_key", Value: "b"}}}
		for _, c := range []struct {
			req  limiter.Request
			want error
		}{
			{limiter.Request{Domain: "api", Cost: -1}, limiter.ErrNegativeCost},
			{twice, limiter.ErrDuplicateEntry},
			{limiter.Request{Domain: "api", Descriptor: make([]limiter.Pair, 65)}, limiter.ErrTooManyEntries},
			{key(strings.Repeat("x", 1025)), limiter.ErrKeyTooLong},
			{key(strings.Repeat("x", 10<<20)), limiter.ErrKeyTooLong},
		} {
			d, err := l.Allow(t.Context(), c.req)
			require.ErrorIs(t, err, c.want)
			assert.Zero(t, d)
			require.ErrorIs(t, l.Wait(t.Context(), c.req), c.want)
			_, err = l.Handle(c.req)
			require.ErrorIs(t, err, c.want)
		}
		assert.Zero(t, l.Status().Quotas[0].Buckets)
	})
}

func TestKEY01_AnyBytesAreAKeyOfTheirOwn(t *testing.T) {
	run(t, perKey("{tokens: 2, per: 1h}"), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		keys := []string{
			"", " ", "a b", "a/b", "a:b", "../x", "\x00", "\n", "\U0001F600", "\u00e9", "e\u0301", "\u200f", "\xff\xfe",
			strings.Repeat("k", 1000), "\x80", "\xff\xff\xff\xff",
		}
		for _, k := range keys {
			for range 2 {
				assert.True(t, allow(t, l, key(k), 1).Allowed, "%q", k)
			}
			assert.False(t, allow(t, l, key(k), 1).Allowed, "%q", k)
		}
		assert.Equal(t, int64(len(keys)), l.Status().Quotas[0].Buckets)
	})
}

func TestKEY03_LongKeysWithACommonBeginningAreTwo(t *testing.T) {
	run(t, perKey("{tokens: 5, per: 1h}"), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		admitted := 0
		for _, k := range []string{strings.Repeat("k", 40) + strings.Repeat("a", 24), strings.Repeat("k", 40) + strings.Repeat("b", 24)} {
			for range 6 {
				if allow(t, l, key(k), 1).Allowed {
					admitted++
				}
			}
		}
		assert.Equal(t, 10, admitted)
	})
}

func TestCOST_ImpossibleAndPeekAndWhole(t *testing.T) {
	run(t, perKey("{tokens: 10, per: 1h}"), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		d := allow(t, l, key("a"), 11)
		assert.Equal(t, limiter.Impossible, d.Reason)
		assert.Equal(t, int64(10), d.Most)
		assert.Zero(t, d.RetryAfter)
		d = allow(t, l, key("a"), 10)
		assert.True(t, d.Allowed, "%+v", d)
		assert.Zero(t, d.Remaining)
		assert.False(t, allow(t, l, key("a"), 0).Allowed, "a peek asks for one")
		var impossible *limiter.ImpossibleError
		require.ErrorAs(t, l.WaitN(t.Context(), key("a"), 11), &impossible)
		assert.Equal(t, &limiter.ImpossibleError{Quota: "api/key", Cost: 11, Most: 10}, impossible)
	})
}

func TestFLT03_ALowRateAdmitsOnceAndSaysWhenNext(t *testing.T) {
	run(t, perKey("{tokens: 1, per: 10000s}"), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		assert.True(t, allow(t, l, key("fresh"), 1).Allowed)
		d := allow(t, l, key("fresh"), 1)
		assert.Equal(t, limiter.Exhausted, d.Reason)
		assert.Greater(t, d.RetryAfter, 9999*time.Second)
		assert.LessOrEqual(t, d.RetryAfter, 10000*time.Second)
	})
}

func TestHDR01_AWindowTellsItsEnd(t *testing.T) {
	run(t, perKey("{tokens: 2, per: 60s, algorithm: fixed_window}"), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)) + 50*time.Millisecond)
		began := time.Now().Truncate(time.Minute)
		for i := range 2 {
			assert.True(t, allow(t, l, key("a"), 1).Allowed)
			time.Sleep(time.Until(began.Add(time.Duration(i+1) * time.Second)))
		}
		d := allow(t, l, key("a"), 1)
		assert.False(t, d.Allowed)
		assert.Positive(t, d.Reset)
		assert.LessOrEqual(t, d.Reset, 58*time.Second)
		assert.Greater(t, d.Reset, 57*time.Second)
		assert.Equal(t, d.Reset, d.RetryAfter)
		time.Sleep(d.RetryAfter)
		d = allow(t, l, key("a"), 1)
		assert.True(t, d.Allowed, "whoever obeys the hint is admitted: %+v", d)
	})
}

func TestAKeyThatIsUsedSeldomIsNotDenied(t *testing.T) {
	run(t, perKey(ample), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		for i := range 200 { // around the moments at which its lease is returned and its bucket forgotten
			d := allow(t, l, key("a"), 1)
			require.True(t, d.Allowed, "%d: %+v", i, d)
			time.Sleep(5*time.Second + time.Duration(i)*7*time.Millisecond)
		}
	})
}

func TestHDR05_RemainingIsWithinTheLimitWhateverHappens(t *testing.T) {
	text := head + `quotas:
- {name: key, match: {api_key: "*"}, limit: {tokens: 100, per: 10s, burst: 50}, regions: {eu: {}, us: {}}}
- {name: window, match: {w: "*"}, limit: {tokens: 20, per: 5s, algorithm: fixed_window}}
`
	run(t, text, func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 5000 {
			r := limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: []string{"api_key", "w"}[random.IntN(2)], Value: "x"}}}
			allow(t, l, r, random.Int64N(60)) // which checks
			switch random.IntN(40) {
			case 0:
				time.Sleep(time.Duration(random.Int64N(int64(8 * time.Second))))
			case 1:
				time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
			}
			if i%1000 == 500 {
				c.Break()
			}
		}
	})
}

func TestHDR07_PeekAndTakeSayTheSame(t *testing.T) {
	run(t, perKey("{tokens: 7, per: 1m}"), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		for range 7 {
			require.True(t, allow(t, l, key("a"), 1).Allowed)
		}
		for range 10 {
			peek, take := allow(t, l, key("a"), 0), allow(t, l, key("a"), 1)
			assert.Equal(t, peek, take)
			assert.False(t, take.Allowed)
			time.Sleep(137 * time.Millisecond)
		}
	})
}

func TestWAIT03_AnEndedContextTakesNothing(t *testing.T) {
	run(t, perKey("{tokens: 1, per: 1h}"), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 10 {
			require.ErrorIs(t, l.Wait(ended, key("a")), context.Canceled)
			_, err := l.Allow(ended, key("a"))
			require.ErrorIs(t, err, context.Canceled)
		}
		assert.True(t, allow(t, l, key("a"), 1).Allowed)
	})
}

func TestWAIT01_CancelledWaitersLeakNothing(t *testing.T) {
	run(t, perKey("{tokens: 10, per: 1s, burst: 20}"), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		random := rand.New(rand.NewPCG(3, 4))
		results := make(chan int64, 300)
		for range 300 {
			n, patience := 1+random.Int64N(15), time.Duration(random.Int64N(int64(20*time.Second)))
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				err := l.WaitN(ctx, key("a"), n)
				switch {
				case err == nil:
					results <- n
				case errors.Is(err, context.DeadlineExceeded):
					results <- 0
				default:
					t.Error(err)
					results <- 0
				}
			}()
		}
		var admitted int64
		for range 300 {
			admitted += <-results
		}
		assert.Greater(t, admitted, int64(120), "of about 220 that there were")
		time.Sleep(10 * time.Second) // all is reported, and given back
		s, books := l.Status().Quotas[0], c.Stats()["api/key"].Books
		assert.Equal(t, admitted, books.Spent)
		assert.Equal(t, s.Credited, admitted+s.Returned+s.Unspent)
	})
}

func TestWaitersAreServedAsTokensCome(t *testing.T) {
	run(t, perKey("{tokens: 10, per: 1s, burst: 10}"), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		began := time.Now()
		for range 40 {
			require.NoError(t, l.Wait(t.Context(), key("a")))
		}
		took := time.Since(began)
		assert.GreaterOrEqual(t, took, 2900*time.Millisecond, "10 at once, 30 at 10 a second, and the drift")
		assert.Less(t, took, 4500*time.Millisecond)
	})
}

func TestABatchWaitsNoLongerThanOneRequest(t *testing.T) {
	run(t, perKey(ample), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		items := make([]limiter.Item, 500)
		for i := range items {
			items[i] = limiter.Item{Request: key(string(rune('A' + i))), N: 1}
		}
		items[7].N, items[8].Request.Domain, items[9].N = -1, "apo", 20000
		began := time.Now()
		results := l.AllowBatch(t.Context(), items)
		assert.Less(t, time.Since(began), 200*time.Millisecond)
		require.ErrorIs(t, results[7].Err, limiter.ErrNegativeCost)
		require.ErrorIs(t, results[8].Err, limiter.ErrUnknownDomain)
		assert.Equal(t, limiter.Impossible, results[9].Decision.Reason)
		for i, r := range results {
			if i < 7 || i > 9 {
				require.NoError(t, r.Err)
				require.True(t, r.Decision.Allowed, "%d: %+v", i, r.Decision)
			}
		}
		assert.Equal(t, int64(497), l.Status().Quotas[0].Allowed)
	})
}

func TestAFalseDenialIsCountedAsOne(t *testing.T) {
	run(t, perKey("{tokens: 100, per: 1h}"), func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		require.True(t, allow(t, l, key("a"), 1).Allowed)
		time.Sleep(time.Second)
		hasty, cancel := context.WithTimeout(t.Context(), time.Microsecond) // no time for a round trip
		defer cancel()
		d, err := l.AllowN(hasty, key("a"), 90) // more than was leased, and not more than there is
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.Less(t, d.RetryAfter, time.Second)
		assert.Equal(t, int64(1), l.Status().Quotas[0].FalselyDenied)
		time.Sleep(time.Second)
		require.True(t, allow(t, l, key("a"), 90).Allowed)
		require.False(t, allow(t, l, key("a"), 50).Allowed)
		assert.Equal(t, int64(1), l.Status().Quotas[0].FalselyDenied, "the bucket is empty: that denial is true")
	})
}
