package regional

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// Problem types of the draft, as clients know them.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

func TestCheckAdmitsAndDeniesWithHeaders(t *testing.T) {
	run(t, perKey("{tokens: 2, per: 1m}"), func(t *testing.T, r *rig) {
		a := r.check("k")
		assert.Equal(t, http.StatusOK, a.code, a.text)
		assert.Equal(t, `"key";q=2;w=60`, a.header.Get("RateLimit-Policy"))
		assert.Equal(t, `"key";r=1;t=30`, a.header.Get("RateLimit"))
		assert.Empty(t, a.header.Get("Retry-After"))
		assert.Equal(t, true, a.body["allowed"])
		assert.Equal(t, "within_quota", a.body["reason"])
		r.check("k")
		a = r.check("k")
		assert.Equal(t, http.StatusTooManyRequests, a.code)
		assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
		assert.Equal(t, `"key";r=0;t=30`, a.header.Get("RateLimit"), "until one could be admitted")
		assert.Equal(t, "30", a.header.Get("Retry-After"))
		assert.Equal(t, map[string]any{
			"type": quotaExceeded, "title": "Quota Exceeded", "status": json.Number("429"),
			"detail":            "The quota is used up, as far as this region knows.",
			"violated-policies": []any{"key"}, "allowed": false, "reason": "exhausted", "quota": "api/key", "limit": json.Number("2"),
			"remaining": json.Number("0"), "reset_seconds": json.Number("60"), "retry_after_seconds": json.Number("30"),
		}, a.body)
		a = r.get("/v1/check?domain=api&api_key=k&deny=403")
		assert.Equal(t, http.StatusForbidden, a.code)
		assert.InDelta(t, 403, a.number("status"), 0)
		assert.Equal(t, http.StatusOK, r.get("/v1/check?domain=api&api_key=k2&deny=403").code)
		assert.Equal(t, http.StatusBadRequest, r.get("/v1/check?domain=api&deny=418").code)
	})
}

func TestHDR03_AllTimesAreSecondsAndAgree(t *testing.T) {
	random := 0.999
	run(t, perKey("{tokens: 5, per: 1m}"), func(t *testing.T, r *rig) {
		for range 5 {
			require.Equal(t, http.StatusOK, r.check("k").code)
		}
		for range 30 {
			a := r.check("k")
			require.Equal(t, http.StatusTooManyRequests, a.code)
			retry, err := strconv.ParseFloat(a.header.Get("Retry-After"), 64)
			require.NoError(t, err)
			exact := a.number("retry_after_seconds")
			assert.LessOrEqual(t, exact, 12.0)
			assert.GreaterOrEqual(t, retry, exact, "never before the truth")
			assert.LessOrEqual(t, retry, exact*1.1+1, "and at most a tenth later")
			assert.GreaterOrEqual(t, a.number("reset_seconds"), exact)
			random = 1 - random
			time.Sleep(97 * time.Millisecond)
		}
	}, func(o *Options) { o.Random = func() float64 { return random } })
}

func TestHDR01_AWindowsResetEqualsItsRetryAfter(t *testing.T) {
	run(t, perKey("{tokens: 2, per: 60s, algorithm: fixed_window}"), func(t *testing.T, r *rig) {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 50*time.Millisecond)))
		for range 2 {
			a := r.check("k")
			require.Equal(t, http.StatusOK, a.code, "%v %s", time.Now(), a.text)
			time.Sleep(time.Second)
		}
		a := r.check("k")
		assert.Equal(t, http.StatusTooManyRequests, a.code)
		assert.Equal(t, `"key";q=2;w=60`, a.header.Get("RateLimit-Policy"))
		assert.Equal(t, `"key";r=0;t=58`, a.header.Get("RateLimit"))
		assert.Equal(t, "58", a.header.Get("Retry-After"))
		assert.Equal(t, a.body["reset_seconds"], a.body["retry_after_seconds"])
	})
}

func TestBothFormsAskTheSame(t *testing.T) {
	run(t, perKey("{tokens: 100, per: 1h}"), func(t *testing.T, r *rig) {
		ask := []func(cost int) *answer{
			func(cost int) *answer {
				return r.get(fmt.Sprintf("/v1/check?domain=api&cost=%d&api_key=a%%00b%%ff", cost))
			},
			func(cost int) *answer {
				return r.post(fmt.Sprintf(`{"domain": "api", "descriptor": {"api_key": {"base64": "YQBi/w=="}}, "cost": %d}`, cost))
			},
			func(cost int) *answer {
				req := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/v1/check?domain=api&cost=%d", cost), http.NoBody)
				req.Header.Set("x-leasehold-descriptor-api_key", "a\x00b\xff")
				return r.do(req)
			},
		}
		for i := range 9 {
			a := ask[i%3](1 + i)
			require.Equal(t, http.StatusOK, a.code, a.text)
			time.Sleep(500 * time.Millisecond)
		}
		s := r.s.limiter.Status().Quotas[0]
		assert.Equal(t, int64(1), s.Buckets)
		assert.Equal(t, int64(9), s.Allowed)
		a := r.post(`{"domain": "api", "descriptor": {"api_key": "peek"}, "cost": 0}`)
		assert.Equal(t, http.StatusOK, a.code)
		a = r.post(`{"domain": "api"}`)
		assert.Equal(t, "no_quota", a.body["reason"])
		assert.Empty(t, a.header.Get("RateLimit"))
	})
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	run(t, perKey("{tokens: 100, per: 1h}"), func(t *testing.T, r *rig) {
		long := strings.Repeat("k", 1025)
		for _, c := range []struct {
			path, body string
			code       int
			says       string
		}{
			{"/v1/check", "", 400, "domain is missing"},
			{"/v1/check?domain=apo", "", 404, "unknown domain"},
			{"/v1/check?domain=api&domain=api", "", 400, "twice"},
			{"/v1/check?domain=api&api_key=a&api_key=b", "", 400, "twice"},
			{"/v1/check?domain=api&cost=-1", "", 400, "negative"},
			{"/v1/check?domain=api&cost=1.5", "", 400, "whole number"},
			{"/v1/check?domain=api&cost=99999999999999999999", "", 400, "whole number"},
			{"/v1/check?domain=api&api_key=%zz", "", 400, "malformed"},
			{"/v1/check?domain=api;x=y", "", 400, "malformed"},
			{"/v1/check?domain=api&api_key=" + long, "", 400, "too long"},
			{"", `{"domain": "api", "descriptor": {"api_key": "` + long + `"}}`, 400, "too long"},
			{"", `{"domain": "apo"}`, 404, "unknown domain"},
			{"", `{"domain": "api", "cost": -5}`, 400, "negative"},
			{"", `{"domain": "api", "cost": 1.0}`, 400, "whole number"},
			{"", `{"domain": "api", "cost": "1"}`, 400, "whole number"},
			{"", `{"domain": "api", "cost": null}`, 400, "whole number"},
			{"", `{"domain": "api", "descriptors": {}}`, 400, "unknown field"},
			{"", `{"domain": "api", "domain": "api"}`, 400, "twice"},
			{"", `{"domain": "api", "descriptor": {"a": "1", "a": "2"}}`, 400, "twice"},
			{"", `{"domain": "api"} {}`, 400, "after the object"},
			{"", `{"domain": "api"}x`, 400, "after the object"},
			{"", `{"domain": "api"`, 400, "well-formed"},
			{"", `{"domain": "api",}`, 400, "well-formed"},
			{"", `["api"]`, 400, "must be an object"},
			{"", ``, 400, "well-formed"},
			{"", `{}`, 400, "domain is missing"},
			{"", `{"domain": "api", "descriptor": {"api_key": 7}}`, 400, "must be a string"},
			{"", `{"domain": "api", "descriptor": {"api_key": {"base64": "??"}}}`, 400, "base64"},
			{"", `{"domain": "api", "descriptor": {"api_key": {"base32": "aa"}}}`, 400, "base64"},
			{"", `{"domain": "api", "descriptor": {"api_key": {"base64": "YQ==", "x": 1}}}`, 400, "base64"},
			{"", "{\"domain\": \"api\", \"descriptor\": {\"api_key\": \"\xff\"}}", 400, "not Unicode"},
			{"", `{"domain": "api", "descriptor": {"api_key": "\ud800"}}`, 400, "not Unicode"},
			{"", `{"domain": "api", "descriptor": {"api_key": "\udc00x"}}`, 400, "not Unicode"},
			{"", `{"domain": "api", "descriptor": {` + manyEntries(65) + `}}`, 400, "too many entries"},
			{"", `{"domain": "api", "descriptor": {` + manyEntries(200) + `}}`, 400, "too many entries"},
			{"", `{"domain": "` + strings.Repeat("x", 70000) + `"}`, 413, "too large"},
			{"", strings.Repeat("[", 60000), 400, "must be an object"},
		} {
			var a *answer
			if c.path != "" {
				a = r.get(c.path)
			} else {
				a = r.post(c.body)
			}
			assert.Equal(t, c.code, a.code, "%.100s%.100s: %s", c.path, c.body, a.text)
			assert.Contains(t, a.text, c.says, "%.100s%.100s", c.path, c.body)
			assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
			assert.Equal(t, "no-store", a.header.Get("Cache-Control"))
		}
		assert.Equal(t, http.StatusOK, r.post(`{"domain": "api", "descriptor": {"api_key": "\ud83d\ude00"}}`).code)
		assert.Equal(t, http.StatusMethodNotAllowed, r.do(httptest.NewRequest(http.MethodPut, "/v1/check", http.NoBody)).code)
		assert.Equal(t, int64(1), r.s.limiter.Status().Quotas[0].Buckets)
	})
}

func manyEntries(n int) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"e%d": "v"`, i)
	}
	return strings.Join(entries, ", ")
}

func TestKEY05_ALongKeyIsRefusedBeforeItIsParsed(t *testing.T) {
	run(t, perKey("{tokens: 100, per: 1h}"), func(t *testing.T, r *rig) {
		for range 20 {
			a := r.post(`{"domain": "api", "descriptor": {"api_key": "` + strings.Repeat("k", 10<<20) + `"}}`)
			assert.Equal(t, http.StatusRequestEntityTooLarge, a.code)
		}
		assert.Zero(t, r.s.limiter.Status().Quotas[0].Buckets)
	})
}

func TestKEY01_OddKeysOverHTTPAreDistinct(t *testing.T) {
	run(t, perKey("{tokens: 1, per: 1h}"), func(t *testing.T, r *rig) {
		keys := []string{"", " ", "a b", "a/b", "a:b", "../x", "\x00", "\n", "\U0001F600", "\u00e9", "e\u0301", "\u200f", "\xff\xfe", "+", "%", "\ufffd"}
		for _, k := range keys {
			assert.Equal(t, http.StatusOK, r.check(k).code, "%q", k)
			assert.Equal(t, http.StatusTooManyRequests, r.check(k).code, "%q", k)
		}
	})
}

func TestACutOffRegionSaysReducedCapacityAndStaysReady(t *testing.T) {
	run(t, perKey("{tokens: 100, per: 1h}"), func(t *testing.T, r *rig) {
		a := r.get("/readyz")
		assert.Equal(t, http.StatusOK, a.code)
		assert.Equal(t, "ready\n", a.text)
		r.c.SetFaults(limitertest.Faults{Refusing: true})
		r.c.Break()
		time.Sleep(time.Second)
		a = r.check("k")
		assert.Equal(t, http.StatusTooManyRequests, a.code)
		assert.Equal(t, reducedCapacity, a.body["type"])
		assert.Equal(t, "cut_off", a.body["reason"])
		assert.Equal(t, "This region is cut off from the coordinator and holds too few tokens of the quota for the request.", a.body["detail"],
			"which is as true of a key that it never saw")
		assert.Equal(t, "1", a.header.Get("Retry-After"), "nothing is known of this bucket: by then another attempt was made")
	})
}

func TestReadinessFollowsThePolicy(t *testing.T) {
	run(t, perKey("{tokens: 100, per: 1h}"), func(t *testing.T, r *rig) {
		r.c.SetFaults(limitertest.Faults{Refusing: true})
		r.c.Break()
		time.Sleep(time.Second)
		a := r.get("/readyz?verbose")
		assert.Equal(t, http.StatusOK, a.code, "degraded, but ready")
		assert.Contains(t, a.text, "degraded\n[+]policy revision 1\n[-]coordinator ")
		assert.Contains(t, a.text, "[+]serving")
		assert.Equal(t, "ok\n", r.get("/healthz").text)
	})
	run(t, perKey("{tokens: 100, per: 1h}"), func(t *testing.T, r *rig) {
		assert.Equal(t, http.StatusServiceUnavailable, r.get("/readyz").code)
		assert.Equal(t, http.StatusOK, r.get("/healthz").code)
		a := r.check("k")
		assert.Equal(t, http.StatusServiceUnavailable, a.code)
		assert.Equal(t, "1", a.header.Get("Retry-After"))
		assert.Equal(t, http.StatusServiceUnavailable, r.get("/v1/overshoot").code)
	}, func(o *Options) { o.Limiter.Cluster = "another" })
}

func TestStatusOvershootAndMetrics(t *testing.T) {
	text := head + `quotas:
- {name: key, match: {api_key: "*"}, limit: {tokens: 100, per: 1h}, regions: {eu: {}, us: {}}}
- {name: vip, match: {plan: vip}, limit: {tokens: unbounded}}
`
	run(t, text, func(t *testing.T, r *rig) {
		r.check("s3cret")
		a := r.get("/v1/overshoot")
		assert.Equal(t, http.StatusOK, a.code)
		var report overshoot.Report
		require.NoError(t, json.Unmarshal([]byte(a.text), &report))
		assert.Equal(t, overshoot.Region, report.Source)
		assert.Equal(t, "eu", report.Region)
		assert.True(t, report.Leads)
		require.Len(t, report.Quotas, 2)
		assert.True(t, report.Quotas[0].Exact)
		assert.Zero(t, *report.Quotas[0].Bound.Tokens)
		assert.Zero(t, *report.Quotas[0].Margin)
		assert.True(t, report.Quotas[1].Bound.Unbounded)
		assert.Nil(t, report.Quotas[1].Bound.Tokens)
		assert.Equal(t, http.StatusBadRequest, r.get("/v1/overshoot?cut=eu").code)
		a = r.get("/v1/status")
		assert.Equal(t, "ready", a.body["state"])
		assert.Equal(t, "eu", a.body["region"])
		assert.NotContains(t, a.text, "s3cret")
		a = r.get("/metrics")
		for _, want := range []string{
			`leasehold_checks_total{decision="allowed",quota="api/key"} 1`, "leasehold_coordinator_reachable 1",
			`leasehold_check_duration_seconds_count{api="http"} 1`, "leasehold_build_info{", "go_goroutines",
		} {
			assert.Contains(t, a.text, want)
		}
		assert.NotContains(t, a.text, "s3cret")
		assert.Equal(t, http.StatusOK, r.get("/debug/pprof/").code)
	})
}
