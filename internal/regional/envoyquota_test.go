package regional

import (
	"fmt"
	"strings"
	"testing"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/a1009580/leasehold/limiter/limitertest"
)

func withQuotas(o *Options) { o.EnvoyQuota = true }

// fakeProxy is a proxy with one bucket, as the protocol describes it, which takes
// everything that it may: the same strategy again extends what it has, another
// begins a full bucket.
type fakeProxy struct {
	t        *testing.T
	stream   rlqs.RateLimitQuotaService_StreamRateLimitQuotasClient
	id       map[string]string
	actions  chan *rlqs.RateLimitQuotaResponse_BucketAction
	strategy *typev3.RateLimitStrategy
	until    time.Time
	level    uint32
	filled   time.Time
	allowed  uint64 // since the last report
	denied   uint64
	total    int64
	gone     bool // abandoned
	last     time.Time
}

func (r *rig) proxy(id map[string]string) *fakeProxy {
	r.t.Helper()
	stream, err := rlqs.NewRateLimitQuotaServiceClient(r.conn).StreamRateLimitQuotas(r.t.Context())
	require.NoError(r.t, err)
	p := &fakeProxy{t: r.t, stream: stream, id: id, actions: make(chan *rlqs.RateLimitQuotaResponse_BucketAction, 100), last: time.Now()}
	go func() {
		defer close(p.actions)
		for {
			a, err := stream.Recv()
			if err != nil {
				return
			}
			for _, b := range a.GetBucketAction() {
				p.actions <- b
			}
		}
	}()
	return p
}

func (p *fakeProxy) report(domain string) {
	p.t.Helper()
	require.NoError(p.t, p.stream.Send(&rlqs.RateLimitQuotaUsageReports{Domain: domain, BucketQuotaUsages: []*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{{
		BucketId: &rlqs.BucketId{Bucket: p.id}, TimeElapsed: durationpb.New(time.Since(p.last)), NumRequestsAllowed: p.allowed, NumRequestsDenied: p.denied,
	}}}))
	p.allowed, p.denied, p.last = 0, 0, time.Now()
}

// listen takes what came.
func (p *fakeProxy) listen() {
	for {
		select {
		case b, open := <-p.actions:
			if !open {
				return
			}
			if b.GetAbandonAction() != nil {
				p.gone, p.strategy = true, nil
				continue
			}
			a := b.GetQuotaAssignmentAction()
			require.NotNil(p.t, a.GetAssignmentTimeToLive(), "an explicit lifetime")
			live := a.GetAssignmentTimeToLive().AsDuration()
			require.Positive(p.t, live)
			require.LessOrEqual(p.t, live, 5*time.Second, "not beyond the lease")
			if p.strategy != nil && time.Now().Before(p.until) && proto.Equal(p.strategy, a.GetRateLimitStrategy()) {
				p.until = p.until.Add(live)
				continue
			}
			p.strategy, p.until, p.filled = a.GetRateLimitStrategy(), time.Now().Add(live), time.Now()
			p.level = a.GetRateLimitStrategy().GetTokenBucket().GetMaxTokens()
			require.Zero(p.t, a.GetRateLimitStrategy().GetTokenBucket().GetFillInterval().GetNanos(), "whole seconds")
		default:
			return
		}
	}
}

// request is one request of the proxy's client.
func (p *fakeProxy) request() bool {
	p.listen()
	b := p.strategy.GetTokenBucket()
	allowed := false
	switch {
	case p.strategy == nil || !time.Now().Before(p.until):
	case b == nil:
		allowed = p.strategy.GetBlanketRule() == typev3.RateLimitStrategy_ALLOW_ALL
	default:
		for every := b.GetFillInterval().AsDuration(); time.Since(p.filled) >= every; p.filled = p.filled.Add(every) {
			p.level = min(p.level+b.GetTokensPerFill().GetValue(), b.GetMaxTokens())
		}
		if allowed = p.level > 0; allowed {
			p.level--
		}
	}
	if allowed {
		p.allowed++
		p.total++
	} else {
		p.denied++
	}
	return allowed
}

const quotaPolicy = head + `quotas:
- {name: tenant, match: {tenant: "*"}, limit: {tokens: 100, per: 1s, burst: 1000}, partition: {mode: fail_closed}}
- {name: slow, match: {job: "*"}, limit: {tokens: 6, per: 1m}, partition: {mode: fail_closed}}
- {name: hour, match: {hourly: "*"}, limit: {tokens: 50, per: 10s, algorithm: fixed_window}}
- {name: vip, match: {plan: vip}, limit: {tokens: unbounded}}
`

func TestEnvoyQuota_ProxiesShareAndKeepTheLimit(t *testing.T) {
	run(t, quotaPolicy, func(t *testing.T, r *rig) {
		a, b := r.proxy(map[string]string{"tenant": "t"}), r.proxy(map[string]string{"tenant": "t"})
		all := []*fakeProxy{a, b}
		began := time.Now()
		for _, p := range all {
			p.request()
			p.report("api")
		}
		for i := range 6000 { // each asks for 100 a second, for a minute
			time.Sleep(10 * time.Millisecond)
			for _, p := range all {
				p.request()
				if i%100 == 99 {
					p.report("")
				}
			}
		}
		total, length := a.total+b.total, time.Since(began)
		most := 1000 + int64(100*1.001*length.Seconds()) + 1
		var held float64
		for _, q := range r.get("/v1/overshoot").body["quotas"].([]any) { //nolint:errcheck // or it panics
			if q := q.(map[string]any); q["quota"] == "api/tenant" { //nolint:errcheck // or it panics
				bound, err := q["proxies_bound_tokens"].(interface{ Float64() (float64, error) }).Float64() //nolint:errcheck // or it panics
				require.NoError(t, err)
				assert.InDelta(t, 1000+600, bound, 2)
				held, err = q["proxies_tokens"].(interface{ Float64() (float64, error) }).Float64() //nolint:errcheck // or it panics
				require.NoError(t, err)
				assert.Positive(t, held)
				assert.LessOrEqual(t, held, bound)
			}
		}
		t.Logf("%d of at most %d in %v", total, most, length)
		assert.LessOrEqual(t, total, most, "what is assigned is spent before")
		assert.GreaterOrEqual(t, float64(total), 0.55*float64(most), "and most of it is used")
		assert.Less(t, max(a.total, b.total), 2*min(a.total, b.total), "both get a part")
		assert.Contains(t, r.get("/metrics").text, `leasehold_proxy_held_tokens{quota="api/tenant"}`)
	}, withQuotas)
}

func TestEnvoyQuota_LittleIsDividedIntoWholeRequests(t *testing.T) {
	run(t, quotaPolicy, func(t *testing.T, r *rig) {
		p := r.proxy(map[string]string{"job": "j"})
		p.report("api")
		for i := range 1200 {
			time.Sleep(100 * time.Millisecond)
			p.request()
			if i%10 == 9 {
				p.report("")
			}
		}
		assert.LessOrEqual(t, p.total, int64(6+12+1))
		assert.GreaterOrEqual(t, p.total, int64(12), "six a minute reach it, too")
	}, withQuotas)
}

func TestEnvoyQuota_AWindowIsNotCarriedIntoTheNext(t *testing.T) {
	run(t, quotaPolicy, func(t *testing.T, r *rig) {
		time.Sleep(time.Until(time.Now().Truncate(10 * time.Second).Add(10*time.Second + time.Millisecond)))
		p := r.proxy(map[string]string{"hourly": "h"})
		p.request()
		p.report("api")
		for window := range 3 {
			before := p.total
			for i := range 1000 {
				time.Sleep(10 * time.Millisecond)
				p.request()
				if i%100 == 99 {
					p.report("")
				}
			}
			assert.LessOrEqual(t, p.total-before, int64(51), "window %d", window)
			assert.GreaterOrEqual(t, p.total-before, int64(25), "window %d", window)
		}
	}, withQuotas)
}

func TestEnvoyQuota_WhatIsNotLimitedAndWhatCannotBe(t *testing.T) {
	run(t, quotaPolicy+"---\n"+strings.Replace(head, "domain: api", "domain: strict", 1)+"unmatched: deny\nquotas: []\n", func(t *testing.T, r *rig) {
		for domain, rule := range map[string]typev3.RateLimitStrategy_BlanketRule{
			"api": typev3.RateLimitStrategy_ALLOW_ALL, "strict": typev3.RateLimitStrategy_DENY_ALL,
		} {
			p := r.proxy(map[string]string{"plan": "vip"})
			p.report(domain)
			time.Sleep(100 * time.Millisecond)
			p.listen()
			assert.Equal(t, rule, p.strategy.GetBlanketRule(), domain)
			assert.NotNil(t, p.strategy)
			assert.Equal(t, rule == typev3.RateLimitStrategy_ALLOW_ALL, p.request())
		}
	}, withQuotas)
}

func TestEnvoyQuota_AnIdleBucketIsAbandonedAndSubscribedToAgain(t *testing.T) {
	run(t, quotaPolicy, func(t *testing.T, r *rig) {
		p := r.proxy(map[string]string{"tenant": "t"})
		p.request()
		p.report("api")
		time.Sleep(10 * time.Second)
		p.listen()
		assert.True(t, p.request(), "it is renewed unprompted")
		for i := 0; i < 30 && !p.gone; i++ {
			p.allowed, p.denied = 0, 0
			p.report("")
			time.Sleep(970 * time.Millisecond) // never just when it is abandoned
			p.listen()
		}
		assert.True(t, p.gone)
		assert.False(t, p.request())
		p.report("")
		time.Sleep(100 * time.Millisecond)
		assert.True(t, p.request())
	}, withQuotas)
}

func TestEnvoyQuota_ACutRegionAssignsNothingItDoesNotHold(t *testing.T) {
	run(t, quotaPolicy, func(t *testing.T, r *rig) {
		p := r.proxy(map[string]string{"tenant": "t"})
		p.report("api")
		r.c.SetFaults(limitertest.Faults{Refusing: true})
		r.c.Break()
		for i := range 3000 {
			time.Sleep(10 * time.Millisecond)
			p.request()
			if i%100 == 99 {
				p.report("")
			}
		}
		had := p.total
		for range 500 {
			time.Sleep(10 * time.Millisecond)
			p.request()
		}
		assert.Equal(t, had, p.total, "FAIL: what was leased is used up")
		r.c.SetFaults(limitertest.Faults{})
		p.report("")
		time.Sleep(30 * time.Second)
	}, withQuotas)
}

func TestEnvoyQuota_OddReportsAreRefusedByPlace(t *testing.T) {
	run(t, quotaPolicy, func(t *testing.T, r *rig) {
		many := map[string]string{}
		for i := range 65 {
			many[fmt.Sprint(i)] = ""
		}
		for text, c := range map[string]struct {
			domain string
			id     map[string]string
			code   codes.Code
		}{
			"domain is empty":       {"", map[string]string{"tenant": "t"}, codes.InvalidArgument},
			"unknown domain":        {"apo", map[string]string{"tenant": "t"}, codes.NotFound},
			"has 0 entries":         {"api", nil, codes.InvalidArgument},
			"has 65 entries":        {"api", many, codes.InvalidArgument},
			"has 0 and 1 bytes":     {"api", map[string]string{"": "t"}, codes.InvalidArgument},
			"domain has 2000 bytes": {strings.Repeat("d", 2000), map[string]string{"tenant": "t"}, codes.InvalidArgument},
			"has 6 and 2000 bytes":  {"api", map[string]string{"tenant": strings.Repeat("t", 2000)}, codes.InvalidArgument},
		} {
			stream, err := rlqs.NewRateLimitQuotaServiceClient(r.conn).StreamRateLimitQuotas(t.Context())
			require.NoError(t, err)
			require.NoError(t, stream.Send(&rlqs.RateLimitQuotaUsageReports{Domain: c.domain, BucketQuotaUsages: []*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{
				{BucketId: &rlqs.BucketId{Bucket: c.id}},
			}}))
			_, err = stream.Recv()
			assert.Equal(t, c.code, status.Code(err), text)
			assert.ErrorContains(t, err, text)
		}
	}, withQuotas)
}

func TestEnvoyQuota_IsServedOnlyWhenAskedFor(t *testing.T) {
	run(t, quotaPolicy, func(t *testing.T, r *rig) {
		stream, err := rlqs.NewRateLimitQuotaServiceClient(r.conn).StreamRateLimitQuotas(t.Context())
		require.NoError(t, err)
		_, err = stream.Recv()
		assert.Equal(t, codes.Unimplemented, status.Code(err))
		assert.NotContains(t, r.get("/v1/overshoot").text, "proxies")
	})
}

// An orderly end does not wait for streams that never end by themselves.
func TestEnvoyQuota_StreamsEndWithTheRegion(t *testing.T) {
	run(t, quotaPolicy, func(t *testing.T, r *rig) {
		stream, err := rlqs.NewRateLimitQuotaServiceClient(r.conn).StreamRateLimitQuotas(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(&rlqs.RateLimitQuotaUsageReports{Domain: "api"}))
		began := time.Now()
		r.end()
		_, err = stream.Recv()
		assert.Equal(t, codes.Unavailable, status.Code(err))
		assert.Less(t, time.Since(began), 2*time.Second)
	}, withQuotas)
}
