package httplimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/httplimit"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const policy = `apiVersion: leasehold/v1
domain: api
quotas: [{name: key, match: {api_key: "*"}, limit: {tokens: 3, per: 1m}, partition: {mode: fail_closed}}]
`

// region starts a limiter that leases from c, and waits until it is connected.
func region(t testing.TB, c *limitertest.Coordinator) *limiter.Limiter {
	t.Helper()
	l, err := limiter.New(limiter.Options{
		Region: "eu", Node: "n1", Coordinators: []string{limitertest.Address}, DialOptions: []grpc.DialOption{c.Dial()}, Clock: clock.New(1),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = l.Close(ctx)
	})
	for deadline := time.Now().Add(10 * time.Second); !l.Connected(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%+v", l.Status())
	}
	return l
}

// served counts what gets through to it.
type served struct{ n int }

func (s *served) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.n++
	w.WriteHeader(http.StatusNoContent)
}

// run has a test in a bubble of virtual time, with a handler behind the
// middleware.
func run(t *testing.T, o httplimit.Options, f func(t *testing.T, h http.Handler, s *served)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: policy, Delay: 20 * time.Millisecond})
		o.Limiter = region(t, c)
		wrap, err := httplimit.New(o)
		require.NoError(t, err)
		s := &served{}
		f(t, wrap(s), s)
		c.Check()
	})
}

func byKey(onError limiter.OnError) httplimit.Options {
	return httplimit.Options{Domain: "api", Descriptor: httplimit.Header("api_key", "X-Api-Key"), OnError: onError}
}

func ask(h http.Handler, key string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	if key != "" {
		r.Header.Set("X-Api-Key", key)
	}
	h.ServeHTTP(w, r)
	return w
}

func TestRequestsPassUntilTheQuotaIsUsedUp(t *testing.T) {
	o := byKey(limiter.FailClosed)
	o.LegacyHeaders = true
	run(t, o, func(t *testing.T, h http.Handler, s *served) {
		for i := range 3 {
			w := ask(h, "k")
			require.Equal(t, http.StatusNoContent, w.Code)
			assert.Equal(t, `"key";q=3;w=60`, w.Header().Get("RateLimit-Policy"))
			assert.Contains(t, w.Header().Get("RateLimit"), `"key";r=`+strconv.Itoa(2-i)+";t=")
			assert.Equal(t, strconv.Itoa(2-i), w.Header().Get("X-RateLimit-Remaining"))
			assert.Empty(t, w.Header().Get("Retry-After"))
		}
		w := ask(h, "k")
		assert.Equal(t, http.StatusTooManyRequests, w.Code)
		assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		assert.Equal(t, `"key";r=0;t=20`, w.Header().Get("RateLimit"))
		after, err := strconv.Atoi(w.Header().Get("Retry-After"))
		require.NoError(t, err)
		assert.True(t, 20 <= after && after <= 22, after)
		var body map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		assert.Equal(t, "exhausted", body["reason"])
		assert.Equal(t, []any{"key"}, body["violated-policies"])
		assert.Equal(t, 3, s.n, "what is denied does not get through")
		assert.Equal(t, http.StatusNoContent, ask(h, "other").Code)
	})
}

func TestABadRequestNeverPasses(t *testing.T) {
	for _, onError := range []limiter.OnError{limiter.FailClosed, limiter.FailOpen} {
		o := byKey(onError)
		o.Report = func(_ *http.Request, err error) { t.Error("a client's fault is no server's:", err) }
		o.Cost = func(r *http.Request) (int64, error) {
			n, err := strconv.ParseInt(r.Header.Get("X-Cost"), 10, 64)
			if err != nil {
				return 0, errors.Join(httplimit.ErrBadRequest, err)
			}
			return n, nil
		}
		run(t, o, func(t *testing.T, h http.Handler, s *served) {
			for _, c := range []struct{ key, cost, says string }{
				{"", "1", "X-Api-Key must be there once"},
				{"k", "x", "invalid syntax"},
				{"k", "-1", "negative"},
				{strings.Repeat("k", 2000), "1", "too long"},
			} {
				w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
				r.Header.Set("X-Cost", c.cost)
				if c.key != "" {
					r.Header.Set("X-Api-Key", c.key)
				}
				h.ServeHTTP(w, r)
				assert.Equal(t, http.StatusBadRequest, w.Code, c.says)
				assert.Contains(t, w.Body.String(), c.says)
			}
			assert.Zero(t, s.n)
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Header.Set("X-Api-Key", "k")
			r.Header.Set("X-Cost", "3")
			h.ServeHTTP(w, r)
			assert.Equal(t, http.StatusNoContent, w.Code)
			assert.Contains(t, w.Header().Get("RateLimit"), `"key";r=0;`)
		})
	}
}

func TestOnErrorDecidesWhenTheLimiterCannot(t *testing.T) {
	unknown := byKey(limiter.FailClosed)
	unknown.Domain = "apo"
	lookup := byKey(limiter.FailClosed)
	lookup.Descriptor = func(*http.Request) ([]limiter.Pair, error) { return nil, errors.New("s3cret backend") }
	for name, c := range map[string]struct {
		o      httplimit.Options
		status int
	}{
		"FAIL-09: an unknown domain": {unknown, http.StatusInternalServerError},
		"a failed look-up":           {lookup, http.StatusServiceUnavailable},
		"a closed limiter":           {byKey(limiter.FailClosed), http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			for _, onError := range []limiter.OnError{limiter.FailClosed, limiter.FailOpen} {
				o, reported := c.o, 0
				o.OnError = onError
				o.Report = func(_ *http.Request, err error) {
					require.Error(t, err)
					reported++
				}
				synctest.Test(t, func(t *testing.T) {
					coordinator := limitertest.New(t, limitertest.Options{Policy: policy})
					o.Limiter = region(t, coordinator)
					wrap, err := httplimit.New(o)
					require.NoError(t, err)
					s := &served{}
					if name == "a closed limiter" {
						require.NoError(t, o.Limiter.Close(t.Context()))
					}
					w := ask(wrap(s), "k")
					if onError == limiter.FailOpen {
						assert.Equal(t, http.StatusNoContent, w.Code)
					} else {
						assert.Equal(t, c.status, w.Code)
						assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
						assert.Zero(t, s.n)
					}
					assert.NotContains(t, w.Body.String(), "s3cret")
					assert.Empty(t, w.Header().Get("RateLimit"))
				})
				assert.Equal(t, 1, reported)
			}
		})
	}
}

func TestNothingIsOpenByDefault(t *testing.T) {
	whole := byKey(limiter.FailClosed)
	whole.Limiter = &limiter.Limiter{}
	_, err := httplimit.New(whole)
	require.NoError(t, err)
	for field, spoil := range map[string]func(o *httplimit.Options){
		"Limiter":    func(o *httplimit.Options) { o.Limiter = nil },
		"Domain":     func(o *httplimit.Options) { o.Domain = "" },
		"Descriptor": func(o *httplimit.Options) { o.Descriptor = nil },
		"OnError":    func(o *httplimit.Options) { o.OnError = 0 },
		"Report":     func(o *httplimit.Options) { o.OnError = limiter.FailOpen },
	} {
		o := whole
		spoil(&o)
		_, err := httplimit.New(o)
		require.ErrorIs(t, err, httplimit.ErrOptions)
		require.ErrorContains(t, err, field)
	}
	o := whole
	o.OnError = 7
	_, err = httplimit.New(o)
	require.ErrorIs(t, err, httplimit.ErrOptions)
}
