package regional

import (
	"math"
	"strings"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rl "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/a1009580/leasehold/internal/envoy"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

const (
	over = rls.RateLimitResponse_OVER_LIMIT
	fine = rls.RateLimitResponse_OK
)

// desc makes a descriptor of keys and values by turns.
func desc(kv ...string) *rl.RateLimitDescriptor {
	d := &rl.RateLimitDescriptor{}
	for i := 0; i < len(kv); i += 2 {
		d.Entries = append(d.Entries, &rl.RateLimitDescriptor_Entry{Key: kv[i], Value: kv[i+1]})
	}
	return d
}

// hits sets a descriptor's own hits_addend.
func hits(n uint64, d *rl.RateLimitDescriptor) *rl.RateLimitDescriptor {
	d.HitsAddend = wrapperspb.UInt64(n)
	return d
}

func back(d *rl.RateLimitDescriptor) *rl.RateLimitDescriptor {
	d.IsNegativeHits = true
	return d
}

// should asks over the wire.
func (r *rig) should(domain string, addend uint32, all ...*rl.RateLimitDescriptor) *rls.RateLimitResponse {
	r.t.Helper()
	a, err := r.shouldErr(domain, addend, all...)
	require.NoError(r.t, err)
	require.Len(r.t, a.GetStatuses(), len(all))
	require.NotEqual(r.t, rls.RateLimitResponse_UNKNOWN, a.GetOverallCode())
	for _, s := range a.GetStatuses() {
		require.NotEqual(r.t, rls.RateLimitResponse_UNKNOWN, s.GetCode())
		if l := s.GetCurrentLimit(); l != nil {
			require.NotEqual(r.t, rls.RateLimitResponse_RateLimit_UNKNOWN, l.GetUnit())
			require.True(r.t, s.GetCode() == fine || s.GetDurationUntilReset().AsDuration() > 0, "HDR-01")
			require.Zero(r.t, s.GetDurationUntilReset().GetNanos(), "a proxy would cut it off")
		}
	}
	return a
}

func (r *rig) shouldErr(domain string, addend uint32, all ...*rl.RateLimitDescriptor) (*rls.RateLimitResponse, error) {
	client := rls.NewRateLimitServiceClient(r.conn)
	return client.ShouldRateLimit(r.t.Context(), &rls.RateLimitRequest{Domain: domain, Descriptors: all, HitsAddend: addend})
}

const two = head + `quotas:
- {name: user, match: {user: "*"}, limit: {tokens: 10, per: 1h}, partition: {mode: fail_closed}}
- {name: path, match: {path: "*"}, limit: {tokens: 600, per: 90s}, partition: {mode: fail_closed}}
- {name: vip, match: {plan: vip}, limit: {tokens: unbounded}}
`

func TestEnvoy_EveryDescriptorHasItsStatus(t *testing.T) {
	run(t, two, func(t *testing.T, r *rig) {
		a := r.should("api", 0, desc("user", "u"), hits(60, desc("path", "/")), desc("plan", "vip"), desc("none", ""))
		assert.Equal(t, fine, a.GetOverallCode())
		user, path, vip, none := a.GetStatuses()[0], a.GetStatuses()[1], a.GetStatuses()[2], a.GetStatuses()[3]
		assert.Equal(t, uint32(9), user.GetLimitRemaining(), "a hits_addend of 0 means 1")
		assert.Equal(t, "user", user.GetCurrentLimit().GetName())
		assert.Equal(t, uint32(10), user.GetCurrentLimit().GetRequestsPerUnit())
		assert.Equal(t, rls.RateLimitResponse_RateLimit_HOUR, user.GetCurrentLimit().GetUnit())
		assert.Equal(t, 6*time.Minute, user.GetDurationUntilReset().AsDuration())
		assert.Equal(t, uint32(540), path.GetLimitRemaining())
		assert.Equal(t, rls.RateLimitResponse_RateLimit_SECOND, path.GetCurrentLimit().GetUnit())
		assert.Equal(t, uint32(90), path.GetCurrentLimit().GetUnitMultiplier().GetValue())
		assert.Equal(t, uint32(math.MaxUint32), vip.GetLimitRemaining())
		assert.Nil(t, vip.GetCurrentLimit())
		assert.Nil(t, none.GetCurrentLimit())
		assert.Empty(t, a.GetResponseHeadersToAdd())
		assert.Empty(t, a.GetRequestHeadersToAdd())
		assert.Nil(t, a.GetDynamicMetadata())
		assert.Empty(t, a.GetRawBody())

		a = r.should("api", 9, desc("user", "u"), hits(0, desc("path", "/")))
		assert.Equal(t, fine, a.GetOverallCode())
		assert.Zero(t, a.GetStatuses()[0].GetLimitRemaining(), "the request's hits_addend")
		assert.GreaterOrEqual(t, a.GetStatuses()[1].GetLimitRemaining(), uint32(540), "COST-07: a peek takes nothing")
	})
}

func TestEnvoy_Law14_ADeniedRequestIsChargedToNobody(t *testing.T) {
	run(t, two, func(t *testing.T, r *rig) {
		r.should("api", 10, desc("user", "u"), hits(0, desc("path", "/")))
		for range 3 {
			a := r.should("api", 1, desc("user", "u"), hits(2, desc("path", "/")))
			assert.Equal(t, over, a.GetOverallCode())
			assert.Equal(t, over, a.GetStatuses()[0].GetCode())
			assert.InDelta(t, 360, a.GetStatuses()[0].GetDurationUntilReset().AsDuration().Seconds(), 2, "until it could be admitted")
			assert.Equal(t, fine, a.GetStatuses()[1].GetCode())
			assert.Equal(t, uint32(600), a.GetStatuses()[1].GetLimitRemaining())
			h := headersOf(a.GetResponseHeadersToAdd())
			assert.Contains(t, h["RateLimit"], `"user";r=0;t=3`)
			assert.Contains(t, h["RateLimit-Policy"], `"path";q=600;w=90`)
			assert.Equal(t, "36", h["Retry-After"][:2])
			assert.NotNil(t, a.GetDynamicMetadata())
		}
		peek := r.should("api", 1, hits(0, desc("user", "u")))
		assert.Equal(t, over, peek.GetOverallCode())
	})
}

func headersOf(list []*core.HeaderValue) map[string]string {
	h := map[string]string{}
	for _, v := range list {
		h[v.GetKey()] = v.GetValue()
	}
	return h
}

func TestEnvoy_ARefundIsGrantedAgain(t *testing.T) {
	run(t, two, func(t *testing.T, r *rig) {
		r.should("api", 10, desc("user", "u"))
		a := r.should("api", 1, back(hits(4, desc("user", "u"))))
		assert.Equal(t, fine, a.GetOverallCode())
		assert.Equal(t, "user", a.GetStatuses()[0].GetCurrentLimit().GetName())
		assert.Equal(t, time.Hour, a.GetStatuses()[0].GetDurationUntilReset().AsDuration())
		time.Sleep(time.Second)
		assert.Equal(t, fine, r.should("api", 4, desc("user", "u")).GetOverallCode())
		assert.Equal(t, over, r.should("api", 1, desc("user", "u")).GetOverallCode())
		r.should("api", 1, back(hits(math.MaxUint64, desc("user", "u"))), back(desc("user", "nobody")))
		time.Sleep(time.Second)
		assert.Equal(t, over, r.should("api", 11, desc("user", "u")).GetOverallCode(), "COST-01: never more than the limit")
		assert.Equal(t, fine, r.should("api", 10, desc("user", "u")).GetOverallCode())
	})
}

func TestEnvoy_ALimitOfTheDescriptorMakesThePolicyStricter(t *testing.T) {
	run(t, two, func(t *testing.T, r *rig) {
		limited := func(n uint32, unit typev3.RateLimitUnit, times *wrapperspb.UInt32Value, kv ...string) *rl.RateLimitDescriptor {
			d := desc(kv...)
			d.Limit = &rl.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: n, Unit: unit, UnitMultiplier: times}
			return d
		}
		a := r.should("api", 2, limited(2, typev3.RateLimitUnit_HOUR, nil, "user", "strict"))
		assert.Equal(t, fine, a.GetOverallCode())
		assert.Equal(t, uint32(2), a.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit())
		assert.Equal(t, over, r.should("api", 1, limited(2, typev3.RateLimitUnit_HOUR, nil, "user", "strict")).GetOverallCode())
		a = r.should("api", 10, limited(1000, typev3.RateLimitUnit_SECOND, nil, "user", "loose"))
		assert.Equal(t, uint32(10), a.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit(), "never looser")
		assert.Equal(t, over, r.should("api", 1, limited(1000, typev3.RateLimitUnit_SECOND, nil, "user", "loose")).GetOverallCode())
		a = r.should("api", 1, limited(0, typev3.RateLimitUnit_MINUTE, wrapperspb.UInt32(2), "user", "none"))
		assert.Equal(t, over, a.GetOverallCode())
		none := a.GetStatuses()[0]
		assert.Zero(t, none.GetCurrentLimit().GetRequestsPerUnit())
		assert.Equal(t, rls.RateLimitResponse_RateLimit_MINUTE, none.GetCurrentLimit().GetUnit())
		assert.Equal(t, 2*time.Minute, none.GetDurationUntilReset().AsDuration(), "HDR-01")
		for code, d := range map[codes.Code]*rl.RateLimitDescriptor{
			codes.InvalidArgument:    limited(1, typev3.RateLimitUnit_UNKNOWN, nil, "user", "u"),
			codes.FailedPrecondition: limited(1, typev3.RateLimitUnit_SECOND, nil, "plan", "vip"),
		} {
			_, err := r.shouldErr("api", 1, d)
			assert.Equal(t, code, status.Code(err), err)
		}
		for _, times := range []uint32{0, math.MaxUint32} {
			_, err := r.shouldErr("api", 1, limited(1, typev3.RateLimitUnit_YEAR, wrapperspb.UInt32(times), "user", "u"))
			assert.Equal(t, codes.InvalidArgument, status.Code(err))
		}
	})
}

func TestEnvoy_WhatCannotBeDecidedIsAStatusOfGRPC(t *testing.T) {
	run(t, two, func(t *testing.T, r *rig) {
		many := make([]*rl.RateLimitDescriptor, 5000)
		for i := range many {
			many[i] = desc("user", "u")
		}
		wide := desc()
		for range 5000 {
			wide.Entries = append(wide.Entries, &rl.RateLimitDescriptor_Entry{Key: "k"})
		}
		var users []*rl.RateLimitDescriptor
		for i := range 17 {
			users = append(users, desc("user", strings.Repeat("u", i)))
		}
		for name, c := range map[string]struct {
			domain string
			all    []*rl.RateLimitDescriptor
			want   codes.Code
			text   string
		}{
			"no domain":             {"", many[:1], codes.InvalidArgument, "domain is empty"},
			"a huge domain":         {strings.Repeat("d", 1<<20), many[:1], codes.InvalidArgument, "domain has 1048576 bytes"},
			"an odd domain":         {"a/b c\n\u202e", many[:1], codes.NotFound, "unknown domain"},
			"no descriptors":        {"api", nil, codes.InvalidArgument, "descriptors are empty"},
			"thousands":             {"api", many, codes.InvalidArgument, "5000 descriptors; the most is 64"},
			"an empty descriptor":   {"api", []*rl.RateLimitDescriptor{desc("user", "u"), desc()}, codes.InvalidArgument, "descriptors[1] has no entries"},
			"thousands of entries":  {"api", []*rl.RateLimitDescriptor{wide}, codes.InvalidArgument, "descriptors[0] has 5000 entries"},
			"an empty key":          {"api", []*rl.RateLimitDescriptor{desc("", "u")}, codes.InvalidArgument, "descriptors[0].entries[0]: the key has 0 bytes"},
			"a huge key":            {"api", []*rl.RateLimitDescriptor{desc(strings.Repeat("k", 2000), "u")}, codes.InvalidArgument, "has 2000 bytes"},
			"a huge value":          {"api", []*rl.RateLimitDescriptor{desc("user", strings.Repeat("u", 1<<20))}, codes.InvalidArgument, "too long"},
			"an entry twice":        {"api", []*rl.RateLimitDescriptor{desc("user", "u", "user", "u")}, codes.InvalidArgument, "same entry twice"},
			"too many buckets":      {"api", users, codes.InvalidArgument, "more than 16 quotas"},
			"more than gRPC allows": {"api", []*rl.RateLimitDescriptor{desc("user", strings.Repeat("u", 5<<20))}, codes.ResourceExhausted, ""},
		} {
			_, err := r.shouldErr(c.domain, 1, c.all...)
			assert.Equal(t, c.want, status.Code(err), name)
			assert.ErrorContains(t, err, c.text, name)
		}
		a := r.should("api", 0, hits(0, desc("user", "u")))
		assert.Equal(t, uint32(10), a.GetStatuses()[0].GetLimitRemaining(), "none of them took anything")
	})
}

const ruledPolicy = `domain: edge
descriptors:
- {key: ip, rate_limit: {name: per-ip, unit: month, requests_per_unit: 2}}
- {key: ip, value: 6.6.6.6, rate_limit: {unit: day, requests_per_unit: 0}}
- {key: tester, shadow_mode: true, rate_limit: {unit: week, requests_per_unit: 1}}
- {key: spill, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 1}}
`

func TestEnvoy_RulesAreServedAsTheirUsersExpect(t *testing.T) {
	run(t, ruledPolicy, func(t *testing.T, r *rig) {
		a := r.should("edge", 1, desc("ip", "1"), desc("unknown", "x"))
		assert.Equal(t, "per-ip", a.GetStatuses()[0].GetCurrentLimit().GetName())
		assert.Equal(t, rls.RateLimitResponse_RateLimit_MONTH, a.GetStatuses()[0].GetCurrentLimit().GetUnit())
		a = r.should("edge", 1, desc("ip", "6.6.6.6"))
		assert.Equal(t, over, a.GetOverallCode())
		assert.Zero(t, a.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit())
		a = r.should("nowhere", 1, desc("ip", "1"))
		assert.Equal(t, fine, a.GetOverallCode(), "an unknown domain is let pass")
		assert.Equal(t, float64(1), r.get("/v1/status").number("unknown_domain_total"), "and counted")

		r.should("edge", 1, desc("tester", "t"), desc("spill", "s"))
		a = r.should("edge", 1, desc("tester", "t"), desc("spill", "s"))
		assert.Equal(t, fine, a.GetOverallCode())
		assert.Equal(t, fine, a.GetStatuses()[0].GetCode(), "shadow mode")
		assert.Equal(t, over, a.GetStatuses()[1].GetCode(), "quota mode")
		got, err := protojson.Marshal(a.GetDynamicMetadata())
		require.NoError(t, err)
		assert.JSONEq(t, `{"domain": "edge", "hitsAddend": 1, "descriptors": [{"entries": ["tester=t"]}, {"entries": ["spill=s"]}],
			"quotaModeEnabled": true, "quotaModeViolations": [1]}`, string(got))
		assert.Empty(t, a.GetResponseHeadersToAdd(), "nobody was denied")
	})
}

func TestEnvoy_HeadersAndMetadataComeWhenTheyAreAskedFor(t *testing.T) {
	set := func(headers, metadata envoy.When) func(*Options) {
		return func(o *Options) { o.EnvoyHeaders, o.EnvoyMetadata, o.LegacyHeaders = headers, metadata, true }
	}
	run(t, two, func(t *testing.T, r *rig) {
		a := r.should("api", 1, desc("user", "u"), desc("user", "v"))
		assert.Equal(t, map[string]string{
			"RateLimit-Policy": `"user";q=10;w=3600`, "RateLimit": `"user";r=9;t=360`,
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "9", "X-RateLimit-Reset": "360",
		}, headersOf(a.GetResponseHeadersToAdd()), "a quota is told once")
		assert.NotNil(t, a.GetDynamicMetadata())
		assert.Equal(t, over, r.should("api", 11, desc("user", "v")).GetOverallCode())
		assert.NotContains(t, headersOf(r.should("api", 11, desc("user", "v")).GetResponseHeadersToAdd()), "Retry-After", "it never will be admitted")

		r.should("api", 10, desc("user", "drained"))
		for _, all := range [][]*rl.RateLimitDescriptor{
			{desc("path", "/"), desc("user", "u"), desc("user", "drained")},
			{desc("user", "drained"), desc("user", "u"), desc("path", "/")},
		} {
			h := headersOf(r.should("api", 1, all...).GetResponseHeadersToAdd())
			assert.Contains(t, h["RateLimit"], `"user";r=0;t=360`, "HDR-05: of two buckets the one that denied")
			assert.Equal(t, []string{"10", "0", "360"}, []string{h["X-RateLimit-Limit"], h["X-RateLimit-Remaining"], h["X-RateLimit-Reset"]})
		}
	}, set(envoy.Always, envoy.Always))
	run(t, two, func(t *testing.T, r *rig) {
		a := r.should("api", 11, desc("user", "u"))
		assert.Equal(t, over, a.GetOverallCode())
		assert.Empty(t, a.GetResponseHeadersToAdd())
		assert.Nil(t, a.GetDynamicMetadata())
	}, set(envoy.Never, envoy.Never))
}

func TestEnvoy_ARegionWithoutAPolicyIsUnavailable(t *testing.T) {
	run(t, two, func(t *testing.T, r *rig) {
		health := grpc_health_v1.NewHealthClient(r.conn)
		for _, name := range []string{"ratelimit", "envoy.service.ratelimit.v3.RateLimitService"} {
			h, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
			require.NoError(t, err)
			assert.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, h.GetStatus(), name)
		}
		_, err := r.shouldErr("api", 1, desc("user", "u"))
		assert.Equal(t, codes.Unavailable, status.Code(err), "the proxy's failure mode decides")
	}, func(o *Options) {
		o.Limiter.Coordinators = []string{"passthrough:///nobody"}
		o.Limiter.DialOptions = nil
	})
}

func TestEnvoy_FAIL07_ARegionThatIsCutOffDeniesAndSaysWhen(t *testing.T) {
	run(t, two, func(t *testing.T, r *rig) {
		r.should("api", 1, desc("user", "u"))
		r.c.SetFaults(limitertest.Faults{Refusing: true})
		r.c.Break()
		time.Sleep(20 * time.Second)
		a := r.should("api", 1, desc("user", "u"))
		assert.Equal(t, over, a.GetOverallCode())
		assert.Zero(t, a.GetStatuses()[0].GetLimitRemaining())
		assert.Contains(t, headersOf(a.GetResponseHeadersToAdd()), "Retry-After")
		r.c.SetFaults(limitertest.Faults{})
	})
}
