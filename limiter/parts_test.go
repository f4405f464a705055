package limiter_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

const parted = head + `quotas:
- {name: user, match: {user: "*"}, limit: {tokens: 10, per: 1h}, partition: {mode: fail_closed}}
- {name: path, match: {path: "*"}, limit: {tokens: 100, per: 1h}, partition: {mode: fail_closed}}
- {name: all, match: {}, limit: {tokens: 1000, per: 1h}, partition: {mode: fail_closed}}
- {name: vip, match: {plan: vip}, limit: {tokens: unbounded}}
`

func part(n int64, kv ...string) limiter.Part {
	p := limiter.Part{N: n}
	for i := 0; i < len(kv); i += 2 {
		p.Descriptor = append(p.Descriptor, limiter.Pair{Key: kv[i], Value: kv[i+1]})
	}
	return p
}

func refund(n int64, kv ...string) limiter.Part {
	p := part(n, kv...)
	p.Refund = true
	return p
}

// ask checks what must hold of every answer.
func ask(t *testing.T, l *limiter.Limiter, domain string, parts ...limiter.Part) (bool, []limiter.PartDecision) {
	t.Helper()
	allowed, all, err := l.AllowParts(t.Context(), domain, parts, nil)
	require.NoError(t, err)
	require.Len(t, all, len(parts))
	for _, d := range all {
		assert.NotZero(t, d.Reason)
		assert.GreaterOrEqual(t, d.Remaining, int64(0), "HDR-05")
		assert.LessOrEqual(t, d.Remaining, d.Limit, "HDR-05")
		assert.GreaterOrEqual(t, d.Reset, d.RetryAfter)
		assert.False(t, d.Reason.Allows() && d.RetryAfter > 0)
	}
	return allowed, all
}

func TestLaw14_ARequestOfSeveralPartsIsChargedToAllOrNone(t *testing.T) {
	run(t, parted, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		allowed, all := ask(t, l, "api", part(4, "user", "u"), part(30, "path", "/"))
		require.True(t, allowed)
		assert.Equal(t, int64(6), all[0].Remaining)
		assert.Equal(t, "api/user", all[0].Quota.ID)
		assert.Equal(t, int64(70), all[1].Remaining)

		allowed, all = ask(t, l, "api", part(7, "user", "u"), part(70, "path", "/"))
		assert.False(t, allowed)
		assert.Equal(t, limiter.Exhausted, all[0].Reason)
		assert.Equal(t, limiter.WithinQuota, all[1].Reason, "this one could have given it")
		assert.Equal(t, int64(70), all[1].Remaining)
		assert.InDelta(t, 360, all[0].RetryAfter.Seconds(), 1)

		allowed, all = ask(t, l, "api", part(6, "user", "u"), part(70, "path", "/"))
		assert.True(t, allowed, "the refused request took nothing")
		assert.Zero(t, all[0].Remaining)
		_, all = ask(t, l, "api", part(0))
		assert.Equal(t, int64(1000-30-70), all[0].Remaining, "a bucket that both match is charged once, the larger cost")
	})
}

func TestCOST07_APartOfNoCostIsAPeek(t *testing.T) {
	run(t, parted, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		for range 5 {
			allowed, all := ask(t, l, "api", part(0, "user", "u"))
			require.True(t, allowed)
			require.Equal(t, int64(10), all[0].Remaining)
		}
		ask(t, l, "api", part(10, "user", "u"))
		allowed, all := ask(t, l, "api", part(0, "user", "u"))
		assert.False(t, allowed)
		_, taken := ask(t, l, "api", part(1, "user", "u"))
		assert.Equal(t, all[0].RetryAfter, taken[0].RetryAfter, "HDR-07")
		assert.Equal(t, all[0].Remaining, taken[0].Remaining, "HDR-07")
	})
}

func TestFAIL09_PartsThatNoBucketDecides(t *testing.T) {
	run(t, parted+"---\n"+strings.Replace(head, "domain: api", "domain: strict", 1)+"unmatched: deny\nquotas: []\n---\n"+strings.Replace(head, "domain: api", "domain: lax", 1)+"quotas: []\n",
		func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
			allowed, all := ask(t, l, "lax", part(1, "user", "u"), part(1))
			assert.True(t, allowed)
			assert.Equal(t, limiter.NoQuota, all[1].Reason)
			allowed, all = ask(t, l, "strict", part(1, "user", "u"))
			assert.False(t, allowed)
			assert.Equal(t, limiter.Unmatched, all[0].Reason)
			allowed, all = ask(t, l, "api")
			assert.True(t, allowed)
			assert.Empty(t, all)

			_, _, err := l.AllowParts(t.Context(), "apo", nil, nil)
			require.ErrorIs(t, err, limiter.ErrUnknownDomain)
			_, _, err = l.AllowParts(t.Context(), "api", []limiter.Part{part(-1)}, nil)
			require.ErrorIs(t, err, limiter.ErrNegativeCost)
			_, _, err = l.AllowParts(t.Context(), "api", make([]limiter.Part, limiter.MaxParts+1), nil)
			require.ErrorIs(t, err, limiter.ErrTooManyParts)
			_, _, err = l.AllowParts(t.Context(), "api", []limiter.Part{part(1, "a", "", "a", "")}, nil)
			require.ErrorIs(t, err, limiter.ErrDuplicateEntry)
			_, _, err = l.AllowParts(t.Context(), "api", []limiter.Part{part(1, "user", strings.Repeat("x", 2000))}, nil)
			require.ErrorIs(t, err, limiter.ErrKeyTooLong)
			var many []limiter.Part
			for i := range 17 {
				many = append(many, part(1, "user", fmt.Sprint(i)))
			}
			_, _, err = l.AllowParts(t.Context(), "api", many, nil)
			require.ErrorIs(t, err, limiter.ErrTooManyQuotas)
		})
}

func TestARefundIsGrantedAgainAndNeverMoreThanWasAdmitted(t *testing.T) {
	run(t, parted, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		_, all := ask(t, l, "api", refund(5, "user", "nobody"))
		assert.Zero(t, all[0].Refunded)
		assert.Equal(t, limiter.WithinQuota, all[0].Reason)
		assert.Nil(t, all[0].Quota, "nothing is known of such a bucket here")
		assert.Zero(t, l.Status().Domains[0].NoQuota, "but a quota matches")
		allowed, _ := ask(t, l, "api", part(10, "user", "u"))
		require.True(t, allowed)
		allowed, all = ask(t, l, "api", refund(4, "user", "u"))
		assert.True(t, allowed)
		assert.Equal(t, int64(4), all[0].Refunded)
		require.NotNil(t, all[0].Quota)
		assert.Equal(t, []int64{10, 0}, []int64{all[0].Limit, all[0].Remaining}, "what is given back is the coordinator's first")
		time.Sleep(time.Second)
		allowed, _ = ask(t, l, "api", part(4, "user", "u"))
		assert.True(t, allowed)
		allowed, _ = ask(t, l, "api", part(1, "user", "u"), refund(8, "user", "u"))
		assert.False(t, allowed)
		_, all = ask(t, l, "api", refund(math.MaxInt64, "user", "u"))
		assert.Equal(t, int64(10), all[0].Refunded, "14 were admitted and 4 refunded; the denied request refunded nothing")
		time.Sleep(time.Second)
		allowed, _ = ask(t, l, "api", part(10, "user", "u"))
		assert.True(t, allowed)
		for _, q := range l.Status().Quotas {
			if q.Quota == "api/user" {
				assert.Equal(t, int64(14), q.Refunded)
			}
		}
	})
}

func TestACapMakesALimitStricterAndNeverLooser(t *testing.T) {
	run(t, parted, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		capped := func(n, hits int64, per time.Duration, kv ...string) limiter.Part {
			p := part(n, kv...)
			p.Cap = &limiter.Cap{Hits: hits, Per: per}
			return p
		}
		for i := range 5 {
			allowed, all := ask(t, l, "api", capped(1, 5, time.Hour, "user", "strict"))
			require.True(t, allowed)
			assert.Equal(t, int64(5), all[0].Limit)
			assert.Equal(t, int64(4-i), all[0].Remaining)
		}
		allowed, _ := ask(t, l, "api", capped(1, 5, time.Hour, "user", "strict"))
		assert.False(t, allowed)
		allowed, all := ask(t, l, "api", capped(10, 1000, time.Minute, "user", "loose"))
		assert.True(t, allowed)
		assert.Equal(t, int64(10), all[0].Limit, "the policy is the ceiling")
		allowed, _ = ask(t, l, "api", capped(1, 1000, time.Minute, "user", "loose"))
		assert.False(t, allowed)
		allowed, all = ask(t, l, "api", capped(1, 0, time.Hour, "user", "none"))
		assert.False(t, allowed)
		assert.Equal(t, limiter.Impossible, all[0].Reason)
		allowed, all = ask(t, l, "api", capped(0, 7, time.Hour, "user", "uneven"))
		assert.True(t, allowed)
		assert.Equal(t, int64(5), all[0].Limit, "rounded down")

		_, _, err := l.AllowParts(t.Context(), "api", []limiter.Part{capped(1, 1, 2*time.Hour, "user", "u")}, nil)
		require.ErrorIs(t, err, limiter.ErrCapTooLow)
		require.ErrorContains(t, err, "api/user holds 10 tokens at most, a hit would cost 20")
	})
	run(t, head+"quotas: [{name: vip, match: {plan: vip}, limit: {tokens: unbounded}}]", func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		for _, kv := range [][]string{{"plan", "vip"}, {"plan", "none"}} {
			p := part(1, kv...)
			p.Cap = &limiter.Cap{Hits: 1, Per: time.Hour}
			_, _, err := l.AllowParts(t.Context(), "api", []limiter.Part{p}, nil)
			require.ErrorIs(t, err, limiter.ErrNoCeiling, "a limit that nothing enforces is not waved through")
		}
	})
}

const ruled = `domain: edge
descriptors:
- {key: ip, rate_limit: {name: ip, unit: hour, requests_per_unit: 3}}
- {key: ip, value: 6.6.6.6, rate_limit: {unit: second, requests_per_unit: 0}}
- {key: ip, value: 1.1.1.1}
- {key: tester, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 2}}
- {key: spill, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 2}}
- {key: banned, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 0}}
- {key: free, rate_limit: {unlimited: true}}
- key: user
  descriptors:
  - {key: ip, rate_limit: {replaces: [{name: ip}], unit: hour, requests_per_unit: 5}}
`

func TestRulesDecideByTheWholeDescriptor(t *testing.T) {
	run(t, ruled, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		allowed, all := ask(t, l, "edge", part(1, "ip", "1.2.3.4"), part(1, "ip", "1.2.3.4"))
		require.True(t, allowed)
		assert.Equal(t, int64(1), all[0].Remaining, "each descriptor counts")
		allowed, _ = ask(t, l, "edge", part(1, "ip", "1.2.3.4", "more", ""))
		assert.True(t, allowed, "no rule is that deep")
		allowed, all = ask(t, l, "edge", part(1, "ip", "6.6.6.6"), part(1, "ip", "1.2.3.5"))
		assert.False(t, allowed)
		assert.Equal(t, limiter.Impossible, all[0].Reason)
		assert.Equal(t, limiter.NoLease, all[1].Reason, "nobody waits for what does not matter")
		allowed, all = ask(t, l, "edge", part(1, "ip", "1.2.3.5"))
		assert.True(t, allowed)
		assert.Equal(t, int64(2), all[0].Remaining, "the denied request took nothing")
		allowed, all = ask(t, l, "edge", part(1, "ip", "1.1.1.1"), part(1, "free", ""), part(1, "unknown", ""))
		assert.True(t, allowed)
		assert.Equal(t, [3]limiter.Reason{limiter.NoQuota, limiter.Unbounded, limiter.NoQuota}, [3]limiter.Reason{all[0].Reason, all[1].Reason, all[2].Reason})
	})
}

func TestRulesThatWatchDenyNothing(t *testing.T) {
	run(t, ruled, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		for i := range 5 {
			allowed, all := ask(t, l, "edge", part(1, "tester", "t"), part(1, "spill", "s"))
			require.True(t, allowed)
			assert.Equal(t, i < 2, all[0].Reason.Allows())
			assert.Equal(t, i < 2, all[1].Reason.Allows())
		}
		allowed, all := ask(t, l, "edge", part(1, "banned", "b"))
		assert.True(t, allowed)
		assert.Equal(t, limiter.Impossible, all[0].Reason)
		var advised int64
		for _, q := range l.Status().Quotas {
			advised += q.Advised
			assert.Zero(t, q.Denied())
		}
		assert.Equal(t, int64(6), advised)
	})
}

// A request that is denied waits for the first leases of rules that watch all the
// same: else each would be a violation that was none.
func TestAFirstLeaseIsNoViolationOfARuleThatWatches(t *testing.T) {
	run(t, ruled, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		for denied := 0; denied < 3; {
			allowed, _ := ask(t, l, "edge", part(1, "ip", "1"))
			if denied++; allowed {
				denied = 0
			}
			time.Sleep(time.Second) // what is on its way may come
		}
		for _, kv := range [][]string{{"spill", "s"}, {"tester", "t"}} {
			allowed, all := ask(t, l, "edge", part(1, "ip", "1"), part(1, kv...))
			assert.False(t, allowed)
			assert.Equal(t, limiter.Exhausted, all[0].Reason)
			assert.NotEqual(t, limiter.NoLease, all[1].Reason, kv)
		}
	})
}

func TestARuleThatIsReplacedDoesNotApply(t *testing.T) {
	run(t, ruled, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		for range 5 {
			allowed, all := ask(t, l, "edge", part(1, "ip", "9.9.9.9"), part(1, "user", "u", "ip", "9.9.9.9"))
			require.True(t, allowed)
			assert.Equal(t, limiter.NoQuota, all[0].Reason)
			assert.Equal(t, int64(5), all[1].Limit)
		}
		allowed, _ := ask(t, l, "edge", part(1, "ip", "9.9.9.9"), part(1, "user", "u", "ip", "9.9.9.9"))
		assert.False(t, allowed)
		allowed, all := ask(t, l, "edge", part(1, "ip", "9.9.9.9"))
		assert.True(t, allowed)
		assert.Equal(t, int64(2), all[0].Remaining, "it was not charged meanwhile")
	})
}

func TestWhoKnowsNoOrderAsksADomainWithRulesToo(t *testing.T) {
	run(t, ruled, func(t *testing.T, _ *limitertest.Coordinator, l *limiter.Limiter) {
		req := limiter.Request{Domain: "edge", Descriptor: []limiter.Pair{{Key: "ip", Value: "1"}, {Key: "user", Value: "u"}}}
		d, err := l.Allow(t.Context(), req)
		require.NoError(t, err)
		assert.Equal(t, "edge/user..ip..hour", d.Quota)
		assert.Equal(t, int64(4), d.Remaining)
		watched := limiter.Request{Domain: "edge", Descriptor: []limiter.Pair{{Key: "tester", Value: "t"}}}
		for range 3 {
			d, err = l.Allow(t.Context(), watched)
			require.NoError(t, err)
			assert.True(t, d.Allowed)
		}
		assert.Equal(t, limiter.Advised, d.Reason)
		banned := limiter.Request{Domain: "edge", Descriptor: []limiter.Pair{{Key: "ip", Value: "6.6.6.6"}}}
		results := l.AllowBatch(t.Context(), []limiter.Item{{Request: banned, N: 1}, {Request: req, N: 1}})
		require.NoError(t, results[0].Err)
		assert.False(t, results[0].Decision.Allowed)
		assert.Equal(t, int64(3), results[1].Decision.Remaining)
		twice := limiter.Request{Domain: "edge", Descriptor: append(banned.Descriptor, limiter.Pair{Key: "ip", Value: "1"})}
		_, err = l.Allow(t.Context(), twice)
		require.ErrorIs(t, err, limiter.ErrDuplicateEntry, "an entry that was added leads past no rule")
		_, err = l.Handle(req)
		require.ErrorIs(t, err, limiter.ErrHasRules)
		require.ErrorIs(t, l.Wait(t.Context(), req), limiter.ErrHasRules)
	})
}

func TestFAIL01_PartsWaitTogetherForFirstLeasesAndNotForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: parted, Delay: 100 * time.Millisecond})
		l := region(t, c)
		ready(t, l)
		began := time.Now()
		allowed, _ := ask(t, l, "api", part(1, "user", "cold"), part(1, "path", "cold"))
		assert.True(t, allowed)
		assert.Less(t, time.Since(began), 400*time.Millisecond, "about one round trip for all three")
		c.SetFaults(limitertest.Faults{Mute: true})
		began = time.Now()
		allowed, all := ask(t, l, "api", part(1, "user", "colder"))
		assert.False(t, allowed)
		assert.Equal(t, limiter.NoLease, all[0].Reason)
		assert.LessOrEqual(t, time.Since(began), time.Second)
		c.SetFaults(limitertest.Faults{})
		c.Check()
	})
}
