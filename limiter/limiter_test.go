package limiter_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const head = "apiVersion: leasehold/v1\ndomain: api\n"

// perKey is a policy of one quota for each key, without floors.
func perKey(limit string) string {
	return head + "quotas: [{name: key, match: {api_key: '*'}, limit: " + limit + ", partition: {mode: fail_closed}}]\n"
}

const ample = "{tokens: 10000, per: 1m}"

// region starts a limiter that leases from c.
func region(t testing.TB, c *limitertest.Coordinator, change ...func(*limiter.Options)) *limiter.Limiter {
	t.Helper()
	o := limiter.Options{
		Region: "eu", Node: "n1", Coordinators: []string{limitertest.Address}, DialOptions: []grpc.DialOption{c.Dial()}, Clock: clock.New(1),
	}
	for _, f := range change {
		f(&o)
	}
	l, err := limiter.New(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = l.Close(ctx)
	})
	return l
}

// ready waits until the limiter can decide and is connected.
func ready(t testing.TB, l *limiter.Limiter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, l.Ready(ctx))
	for !l.Connected() {
		require.NoError(t, ctx.Err(), "not connected: %+v", l.Status())
		time.Sleep(time.Millisecond)
	}
}

func key(k string) limiter.Request {
	return limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: "api_key", Value: k}}}
}

// allow decides about one request and expects a decision.
func allow(t testing.TB, l *limiter.Limiter, r limiter.Request, n int64) limiter.Decision {
	t.Helper()
	d, err := l.AllowN(t.Context(), r, n)
	require.NoError(t, err)
	require.Equal(t, d.Allowed, d.Reason.Allows())
	require.GreaterOrEqual(t, d.Remaining, int64(0), "HDR-05")
	require.LessOrEqual(t, d.Remaining, d.Limit, "HDR-05")
	require.Equal(t, !d.Allowed && d.Reason != limiter.Impossible && d.Reason != limiter.Unmatched, d.RetryAfter > 0, "%+v", d)
	return d
}

func TestAColdKeyWaitsForItsFirstLeaseAndIsAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample), Delay: 100 * time.Millisecond})
		l := region(t, c)
		ready(t, l)
		began := time.Now()
		d := allow(t, l, key("a"), 1)
		assert.True(t, d.Allowed, "%+v", d)
		assert.Equal(t, limiter.WithinQuota, d.Reason)
		assert.Equal(t, "api/key", d.Quota)
		assert.Equal(t, int64(10000), d.Limit)
		assert.Less(t, time.Since(began), 350*time.Millisecond)
		began = time.Now()
		for range 20 {
			assert.True(t, allow(t, l, key("a"), 1).Allowed)
			time.Sleep(50 * time.Millisecond)
		}
		assert.Equal(t, time.Second, time.Since(began), "warm keys wait for nothing")
		c.Check()
	})
}
