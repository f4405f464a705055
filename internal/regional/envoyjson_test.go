package regional

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func (r *rig) json(body string) *answer {
	r.t.Helper()
	return r.do(httptest.NewRequest(http.MethodPost, "/json", strings.NewReader(body)))
}

func TestEnvoy_JSONOverHTTP(t *testing.T) {
	run(t, ruledPolicy, func(t *testing.T, r *rig) {
		const ip = `{"domain": "edge", "descriptors": [{"entries": [{"key": "ip", "value": "1"}]}]}`
		a := r.json(ip)
		assert.Equal(t, http.StatusOK, a.code, a.text)
		assert.Equal(t, "OK", a.body["overallCode"])
		assert.Contains(t, a.text, `"limitRemaining":1`)
		a = r.json(strings.Replace(ip, `"domain"`, `"hitsAddend": 2, "domain"`, 1))
		assert.Equal(t, http.StatusTooManyRequests, a.code)
		assert.Equal(t, "OVER_LIMIT", a.body["overallCode"])
		assert.NotEmpty(t, a.header.Get("Retry-After"))
		for body, code := range map[string]int{
			"":                         http.StatusBadRequest,
			"{":                        http.StatusBadRequest,
			`{"domein": "edge"}`:       http.StatusBadRequest,
			`{"domain": "edge"}`:       http.StatusBadRequest,
			`{"domain": "e\xff"}`:      http.StatusBadRequest,
			strings.Repeat("x", 2<<20): http.StatusRequestEntityTooLarge,
		} {
			assert.Equal(t, code, r.json(body).code, "%.40s", body)
		}
		assert.Equal(t, http.StatusMethodNotAllowed, r.get("/json").code)
		a = r.get("/healthcheck")
		assert.Equal(t, http.StatusOK, a.code)
		assert.Equal(t, "OK", a.text)
	})
	run(t, two, func(t *testing.T, r *rig) {
		assert.Equal(t, http.StatusNotFound, r.json(`{"domain": "apo", "descriptors": [{"entries": [{"key": "k"}]}]}`).code)
	})
	run(t, two, func(t *testing.T, r *rig) {
		assert.Equal(t, http.StatusServiceUnavailable, r.json(`{"domain": "api", "descriptors": [{"entries": [{"key": "k"}]}]}`).code)
		assert.Equal(t, http.StatusInternalServerError, r.get("/healthcheck").code)
	}, func(o *Options) {
		o.Limiter.Coordinators = []string{"passthrough:///nobody"}
		o.Limiter.DialOptions = nil
	})
}
