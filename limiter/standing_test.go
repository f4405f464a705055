package limiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

const three = head + `quotas:
- {name: minute, match: {api_key: "*"}, limit: {tokens: 6, per: 1m, burst: 4}, partition: {mode: fail_closed}}
- {name: window, match: {api_key: "*"}, limit: {tokens: 5, per: 1h, algorithm: fixed_window}}
- {name: tenant, match: {tenant: "*"}, limit: {tokens: 1000, per: 1m}, partition: {mode: fail_closed}}
- {name: vip, match: {plan: vip}, limit: {tokens: unbounded}}
`

// detailed asks for a cost of n, and checks what must hold of every answer.
func detailed(t *testing.T, l *limiter.Limiter, n int64, pairs ...limiter.Pair) (limiter.Decision, map[string]limiter.Standing) {
	t.Helper()
	d, all, err := l.AllowDetailed(t.Context(), limiter.Request{Domain: "api", Descriptor: pairs}, n, nil)
	require.NoError(t, err)
	by := map[string]limiter.Standing{}
	for _, s := range all {
		by[s.Quota.Name] = s
		assert.GreaterOrEqual(t, s.Remaining, int64(0), "HDR-05")
		assert.LessOrEqual(t, s.Remaining, s.Limit, "HDR-05")
		assert.GreaterOrEqual(t, s.Reset, s.RetryAfter)
		if d.Reason != limiter.Impossible {
			assert.LessOrEqual(t, s.RetryAfter, d.RetryAfter, "the one that takes longest decides")
		}
		if s.Quota.ID == d.Quota {
			assert.Equal(t, [4]int64{d.Limit, d.Remaining, int64(d.Reset), int64(d.RetryAfter)},
				[4]int64{s.Limit, s.Remaining, int64(s.Reset), int64(s.RetryAfter)})
			assert.Equal(t, !d.Allowed, s.Short)
		}
	}
	return d, by
}

func TestDetailsTellOfEveryQuotaThatMatches(t *testing.T) {
	k, tenant := limiter.Pair{Key: "api_key", Value: "k"}, limiter.Pair{Key: "tenant", Value: "t"}
	run(t, three, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + 50*time.Millisecond)))
		d, by := detailed(t, l, 3, k, tenant, limiter.Pair{Key: "plan", Value: "vip"})
		require.True(t, d.Allowed, "%+v", d)
		assert.Len(t, by, 3, "an unbounded quota has no bucket")
		assert.Equal(t, int64(1), by["minute"].Remaining)
		assert.Equal(t, int64(2), by["window"].Remaining)
		assert.Equal(t, int64(997), by["tenant"].Remaining)

		d, by = detailed(t, l, 3, k, tenant)
		assert.Equal(t, "api/window", d.Quota, "both are short, and the window takes longer")
		assert.Equal(t, limiter.Exhausted, d.Reason)
		assert.Greater(t, d.RetryAfter, 59*time.Minute)
		assert.True(t, by["minute"].Short)
		assert.InDelta(t, 20, by["minute"].RetryAfter.Seconds(), 1)
		assert.False(t, by["tenant"].Short)
		assert.Zero(t, by["tenant"].RetryAfter)
		assert.InDelta(t, 997, by["tenant"].Remaining, 10, "a denial charges nobody")

		d, all, err := l.AllowDetailed(t.Context(), limiter.Request{Domain: "api"}, 1, nil)
		require.NoError(t, err)
		assert.Equal(t, limiter.NoQuota, d.Reason)
		assert.Empty(t, all)
		_, _, err = l.AllowDetailed(t.Context(), limiter.Request{Domain: "apo"}, 1, nil)
		require.ErrorIs(t, err, limiter.ErrUnknownDomain)
	})
}

// TestCOST03_ACostThatOneQuotaCanNeverGiveIsImpossible also when another one is
// asked first and is merely used up.
func TestCOST03_ACostThatOneQuotaCanNeverGiveIsImpossible(t *testing.T) {
	const text = head + `quotas:
- {name: a, match: {api_key: "*"}, limit: {tokens: 10, per: 1h}, partition: {mode: fail_closed}}
- {name: b, match: {api_key: "*"}, limit: {tokens: 5, per: 1h}, partition: {mode: fail_closed}}
- {name: c, match: {api_key: "*"}, limit: {tokens: 5, per: 1h}, partition: {mode: fail_closed}}
`
	k := limiter.Pair{Key: "api_key", Value: "k"}
	run(t, text, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		d, _ := detailed(t, l, 5, k)
		require.True(t, d.Allowed, "%+v", d)
		d, by := detailed(t, l, 6, k)
		assert.Equal(t, limiter.Impossible, d.Reason)
		assert.Equal(t, "api/b", d.Quota)
		assert.Equal(t, int64(5), d.Most)
		assert.Zero(t, d.RetryAfter)
		for _, name := range []string{"a", "b", "c"} {
			assert.True(t, by[name].Short, name)
		}
		assert.Positive(t, by["a"].RetryAfter)
		assert.Zero(t, by["b"].RetryAfter)
		assert.Zero(t, by["c"].RetryAfter)
	})
}

// TestHDR07_AnUnknownBucketHidesNoLongerWait is about a bucket of which nothing
// is known, beside one that is known to be used up for long.
func TestHDR07_AnUnknownBucketHidesNoLongerWait(t *testing.T) {
	const text = head + `quotas:
- {name: tenant, match: {tenant: "*"}, limit: {tokens: 100, per: 1h}, partition: {mode: fail_closed}}
- {name: whole, match: {}, limit: {tokens: 2, per: 1h}, partition: {mode: fail_closed}}
`
	run(t, text, func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		for range 2 {
			d, _ := detailed(t, l, 1, limiter.Pair{Key: "tenant", Value: "old"})
			require.True(t, d.Allowed, "%+v", d)
		}
		c.SetFaults(limitertest.Faults{Mute: true})
		d, by := detailed(t, l, 1, limiter.Pair{Key: "tenant", Value: "new"})
		assert.Equal(t, "api/whole", d.Quota)
		assert.Equal(t, limiter.Exhausted, d.Reason)
		assert.Greater(t, d.RetryAfter, 20*time.Minute)
		assert.True(t, by["tenant"].Short)
		assert.Equal(t, time.Second, by["tenant"].RetryAfter, "it may be full")
		c.SetFaults(limitertest.Faults{})
	})
}
