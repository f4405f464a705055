package regional

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
)

func TestCOST07_AnAbsentCostIsOneAndZeroIsAPeek(t *testing.T) {
	run(t, perKey("{tokens: 5, per: 1h}"), func(t *testing.T, r *rig) {
		stub := pb.NewLimiterClient(r.conn)
		overGRPC := func(key string, cost *int64) int {
			a, err := stub.Check(t.Context(), &pb.CheckRequest{Domain: "api", Descriptor_: []*pb.Entry{{Key: "api_key", Value: []byte(key)}}, Cost: cost})
			require.NoError(t, err)
			if a.GetAllowed() {
				return http.StatusOK
			}
			return http.StatusTooManyRequests
		}
		for form, ask := range map[string]struct{ peek, take func(key string) int }{
			"query": {
				func(key string) int { return r.get("/v1/check?domain=api&cost=0&api_key=" + key).code },
				func(key string) int { return r.get("/v1/check?domain=api&api_key=" + key).code },
			},
			"body": {
				func(key string) int {
					return r.post(fmt.Sprintf(`{"domain": "api", "descriptor": {"api_key": %q}, "cost": 0}`, key)).code
				},
				func(key string) int {
					return r.post(fmt.Sprintf(`{"domain": "api", "descriptor": {"api_key": %q}}`, key)).code
				},
			},
			"grpc": {
				func(key string) int { return overGRPC(key, new(int64)) },
				func(key string) int { return overGRPC(key, nil) },
			},
		} {
			for range 100 {
				require.Equal(t, http.StatusOK, ask.peek(form), form)
			}
			for range 5 {
				require.Equal(t, http.StatusOK, ask.take(form), form)
			}
			assert.Equal(t, http.StatusTooManyRequests, ask.peek(form), form)
			assert.Equal(t, http.StatusTooManyRequests, ask.take(form), form)
		}
	})
}

// TestAllQuotasOfARequestAreTold is about a request that several quotas match.
func TestAllQuotasOfARequestAreTold(t *testing.T) {
	const text = head + `quotas:
- {name: minute, match: {api_key: "*"}, limit: {tokens: 6, per: 1m, burst: 4}, partition: {mode: fail_closed}}
- {name: hour, match: {api_key: "*"}, limit: {tokens: 5, per: 1h, algorithm: fixed_window}}
- {name: tenant, match: {tenant: "*"}, limit: {tokens: 1000, per: 1m}, partition: {mode: fail_closed}}
`
	run(t, text, func(t *testing.T, r *rig) {
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + 50*time.Millisecond)))
		ask := func(query string) *answer { return r.get("/v1/check?domain=api&api_key=k&tenant=t" + query) }
		a := ask("&cost=3")
		require.Equal(t, http.StatusOK, a.code, a.text)
		assert.Equal(t, `"hour";q=5;w=3600, "minute";q=6;w=60, "tenant";q=1000;w=60`, a.header.Get("RateLimit-Policy"))
		assert.Equal(t, `"hour";r=2;t=3600, "minute";r=1;t=30, "tenant";r=997;t=1`, a.header.Get("RateLimit"))
		assert.Equal(t, []string{"6", "1", "30"}, []string{
			a.header.Get("X-RateLimit-Limit"), a.header.Get("X-RateLimit-Remaining"), a.header.Get("X-RateLimit-Reset"),
		})
		a = ask("&cost=3")
		require.Equal(t, http.StatusTooManyRequests, a.code, a.text)
		assert.Equal(t, []any{"hour", "minute"}, a.body["violated-policies"])
		assert.Equal(t, "api/hour", a.body["quota"], "the one that takes longest")
		assert.Equal(t, `"hour";r=2;t=3600, "minute";r=1;t=20, "tenant";r=997;t=1`, a.header.Get("RateLimit"))
		assert.Equal(t, "3600", a.header.Get("Retry-After"), "not before the effective window of any that was violated")
		assert.Equal(t, []string{"5", "2", "3600"}, []string{
			a.header.Get("X-RateLimit-Limit"), a.header.Get("X-RateLimit-Remaining"), a.header.Get("X-RateLimit-Reset"),
		})
		assert.Equal(t, "no-store", a.header.Get("Cache-Control"))
		a = r.get("/v1/check?domain=api")
		assert.Equal(t, "no_quota", a.body["reason"])
		assert.Empty(t, a.header.Values("X-RateLimit-Limit"))
	}, func(o *Options) { o.LegacyHeaders = true })
}

func TestCOST01_ADeniedCostTakesNothing(t *testing.T) {
	run(t, perKey("{tokens: 10, per: 10s, algorithm: fixed_window}"), func(t *testing.T, r *rig) {
		time.Sleep(time.Until(time.Now().Truncate(10 * time.Second).Add(10*time.Second + 50*time.Millisecond)))
		ask := func(cost int) *answer { return r.get(fmt.Sprintf("/v1/check?domain=api&api_key=k&cost=%d", cost)) }
		require.Equal(t, http.StatusOK, ask(8).code)
		a := ask(5)
		assert.Equal(t, http.StatusTooManyRequests, a.code)
		reset := a.body["reset_seconds"]
		for _, cost := range []int{1_000_000, 11, 3} {
			assert.Equal(t, http.StatusTooManyRequests, ask(cost).code, cost)
			peek := ask(0)
			assert.InDelta(t, 2, peek.number("remaining"), 0)
			assert.Equal(t, reset, peek.body["reset_seconds"])
		}
		assert.Equal(t, http.StatusOK, ask(2).code)
	})
}

func TestCOST03_ACostOfTheWholeLimitIsPossible(t *testing.T) {
	run(t, perKey("{tokens: 5, per: 5s}"), func(t *testing.T, r *rig) {
		ask := func(cost int) *answer { return r.get(fmt.Sprintf("/v1/check?domain=api&api_key=k&cost=%d", cost)) }
		require.Equal(t, http.StatusOK, ask(1).code)
		began := time.Now()
		for {
			a := ask(5)
			if a.code == http.StatusOK {
				break
			}
			assert.Equal(t, "exhausted", a.body["reason"])
			wait, err := strconv.Atoi(a.header.Get("Retry-After"))
			require.NoError(t, err)
			require.Positive(t, wait)
			require.Less(t, time.Since(began), 3*time.Second, "what is missing accrues in one second, and is leased in another at most")
			time.Sleep(time.Duration(wait) * time.Second)
		}
		a := ask(6)
		assert.Equal(t, "impossible", a.body["reason"])
		assert.InDelta(t, 5, a.number("most"), 0)
		assert.Empty(t, a.header.Values("Retry-After"), "it never will be")
	})
}

func TestHDR07_PeekAndTakeSayTheSame(t *testing.T) {
	for _, limit := range []string{"{tokens: 3, per: 1m}", "{tokens: 3, per: 1m, algorithm: fixed_window}"} {
		run(t, perKey(limit), func(t *testing.T, r *rig) {
			for range 3 {
				require.Equal(t, http.StatusOK, r.check("k").code)
			}
			peek, take := r.get("/v1/check?domain=api&api_key=k&cost=0"), r.check("k")
			assert.Equal(t, http.StatusTooManyRequests, peek.code)
			assert.Equal(t, take.text, peek.text)
			assert.Equal(t, take.header, peek.header)
		})
	}
}

// TestHDR05_RemainingIsNeverWrong asks at random, while the policy changes, and
// looks at what the header says.
func TestHDR05_RemainingIsNeverWrong(t *testing.T) {
	limits := []string{"{tokens: 20, per: 1s}", "{tokens: 500, per: 1s, burst: 30}", "{tokens: 7, per: 1s, burst: 90}"}
	run(t, perKey(limits[0]), func(t *testing.T, r *rig) {
		random := rand.New(rand.NewPCG(7, 8))
		for i := range 3000 {
			a := r.get(fmt.Sprintf("/v1/check?domain=api&api_key=%d&cost=%d", random.IntN(3), random.IntN(40)))
			var q, w, remaining, reset int64
			_, err := fmt.Sscanf(a.header.Get("RateLimit-Policy")+" "+a.header.Get("RateLimit"), `"key";q=%d;w=%d "key";r=%d;t=%d`, &q, &w, &remaining, &reset)
			require.NoError(t, err, a.header)
			require.True(t, 0 <= remaining && remaining <= q && w > 0 && reset >= 0, a.header)
			require.LessOrEqual(t, a.number("remaining"), a.number("limit"))
			if random.IntN(4) == 0 {
				time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
			}
			if i%500 == 499 {
				r.c.SetPolicy(perKey(limits[random.IntN(len(limits))]))
			}
		}
	})
}

func TestKEY03_KeysWithACommonBeginningAreTwo(t *testing.T) {
	run(t, perKey("{tokens: 5, per: 1h}"), func(t *testing.T, r *rig) {
		admitted := 0
		for _, end := range []string{"a", "b"} {
			for range 6 {
				if r.check(strings.Repeat("k", 63)+end).code == http.StatusOK {
					admitted++
				}
			}
		}
		assert.Equal(t, 10, admitted)
	})
}

func TestKEY07_NoKeyBreaksTheMetrics(t *testing.T) {
	run(t, perKey("{tokens: 5, per: 1h}"), func(t *testing.T, r *rig) {
		for _, k := range []string{"10.0.0.1/32", `a{b="c"}`, "a\nb", "\xff"} {
			require.Equal(t, http.StatusOK, r.check(k).code)
		}
		a := r.get("/metrics")
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(a.text))
		require.NoError(t, err)
		assert.Contains(t, families, "leasehold_checks_total")
		for _, k := range []string{"10.0.0.1", "a{b", "a\nb"} {
			assert.NotContains(t, a.text, k, "and no key is in them")
		}
	})
}

// TestADomainWithRulesIsToldOverHTTPToo is about configurations of
// envoyproxy/ratelimit: a request matches one rule there.
func TestADomainWithRulesIsToldOverHTTPToo(t *testing.T) {
	run(t, ruledPolicy, func(t *testing.T, r *rig) {
		for i := range 3 {
			a := r.get("/v1/check?domain=edge&ip=1")
			policy, limit := a.header.Get("RateLimit-Policy"), a.header.Get("RateLimit")
			assert.Contains(t, policy, `;q=2;w=`, a.text)
			assert.Contains(t, limit, fmt.Sprintf(";r=%d;t=", max(0, 1-i)))
			assert.Equal(t, strings.SplitN(policy, ";", 2)[0], strings.SplitN(limit, ";", 2)[0])
			if i < 2 {
				assert.Equal(t, http.StatusOK, a.code)
				continue
			}
			assert.Equal(t, http.StatusTooManyRequests, a.code)
			assert.Len(t, a.body["violated-policies"], 1)
			assert.NotEmpty(t, a.header.Get("Retry-After"))
		}
		a := r.get("/v1/check?domain=edge&ip=6.6.6.6")
		assert.Equal(t, "impossible", a.body["reason"])
		assert.Empty(t, a.header.Get("Retry-After"))
		r.get("/v1/check?domain=edge&tester=t")
		a = r.get("/v1/check?domain=edge&tester=t")
		assert.Equal(t, http.StatusOK, a.code)
		assert.Equal(t, "advised", a.body["reason"])
		assert.Contains(t, a.header.Get("RateLimit"), ";r=0;t=")
	})
}
