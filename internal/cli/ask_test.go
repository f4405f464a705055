package cli

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write golden files")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	assert.Equal(t, read(t, path), got)
}

// serving answers paths with bodies, and remembers what was asked.
type serving struct {
	*httptest.Server

	asked []string
}

func serve(t *testing.T, bodies map[string]any) *serving {
	t.Helper()
	s := &serving{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.URL.String())
		body, ok := bodies[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if f, ok := body.(http.HandlerFunc); ok {
			f(w, r)
			return
		}
		assert.NoError(t, json.NewEncoder(w).Encode(body))
	}))
	t.Cleanup(s.Close)
	return s
}

func problem(status int, detail string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]any{"status": status, "detail": detail}) //nolint:errcheck,errchkjson // the test sees it
	}
}

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	return s.URL
}

func TestAddressesOfATarget(t *testing.T) {
	for _, c := range [][2]string{
		{"127.0.0.1:7401", "http://127.0.0.1:7401"},
		{" http://c:7401/ ", "http://c:7401"},
		{"https://c.example/ctl/", "https://c.example/ctl"},
		{"[::1]:7401", "http://[::1]:7401"},
	} {
		got, err := base(c[0])
		require.NoError(t, err)
		assert.Equal(t, c[1], got)
	}
	for _, bad := range []string{"", "http://", "ftp://c", "http://c?x=1", "http://c#x", "a b", ":7401x"} {
		_, err := base(bad)
		assert.Error(t, err, bad)
		for _, flag := range []string{"--coordinator=", "--region="} {
			if bad == "" {
				continue // as good as not given
			}
			code, out, errs := leasehold(t, "", "links", flag+bad)
			assert.Equal(t, Usage, code, bad)
			assert.Empty(t, out)
			assert.Contains(t, errs, strings.TrimSuffix(flag, "="))
		}
	}
	code, _, errs := leasehold(t, "", "links", "--coordinator", "c:1", "--region", "r:1")
	assert.Equal(t, Usage, code)
	assert.Contains(t, errs, "--coordinator and --region: give one of them")
	code, _, errs = leasehold(t, "", "links", "--timeout", "0s")
	assert.Equal(t, Usage, code)
	assert.Contains(t, errs, "--timeout 0s: must be above 0")
}

// A shell beside a process may have its environment, where the same names mean a region and gRPC addresses.
func TestTheEnvironmentOfAProcessIsNotTheTarget(t *testing.T) {
	c := serve(t, map[string]any{"/v1/links": links(true)})
	t.Setenv("LEASEHOLD_REGION", "eu")
	t.Setenv("LEASEHOLD_COORDINATOR", "c:7400")
	t.Setenv("LEASEHOLD_POLICY", "none.yaml")
	t.Setenv("LEASEHOLD_LINKS_COORDINATOR", c.URL)
	code, _, errs := leasehold(t, "", "links")
	require.Equal(t, OK, code, errs)
	assert.Equal(t, []string{"/v1/links"}, c.asked)
	code, _, errs = leasehold(t, "", "overshoot", "--coordinator", nobody(t))
	assert.Equal(t, Failure, code, "it asks, and reads no policy")
	assert.NotContains(t, errs, "none.yaml")
}

func TestTheOneThatLeadsIsAsked(t *testing.T) {
	gone := nobody(t)
	standby := serve(t, map[string]any{"/v1/links": links(false), "/v1/status": map[string]string{"leader": "10.0.0.8:7400"}})
	leader := serve(t, map[string]any{"/v1/links": links(true)})
	unasked := serve(t, nil)
	code, out, errs := leasehold(t, "", "links", "--coordinator", strings.Join([]string{gone, standby.URL, leader.URL, unasked.URL}, ","))
	require.Equal(t, OK, code, errs)
	assert.Contains(t, out, "coordinator at "+leader.URL+" leads")
	assert.Contains(t, errs, "leasehold links: asked in vain: coordinator "+gone+": dial tcp ")
	assert.NotContains(t, errs, standby.URL)
	assert.Empty(t, unasked.asked)

	code, out, errs = leasehold(t, "", "links", "--coordinator", standby.URL+","+gone)
	assert.Equal(t, Inconclusive, code)
	assert.Contains(t, out, "coordinator at "+standby.URL+" does not lead")
	assert.Contains(t, errs, "none of the coordinators that were asked leads: ask the one that serves gRPC on 10.0.0.8:7400")
	assert.Contains(t, errs, gone)

	lost := serve(t, map[string]any{"/v1/links": links(false)})
	code, _, errs = leasehold(t, "", "links", "--coordinator", lost.URL)
	assert.Equal(t, Inconclusive, code)
	assert.Contains(t, errs, "they do not know who does")
}

func TestWhatCannotBeAnswered(t *testing.T) {
	hang := make(chan struct{})
	for name, c := range map[string]struct {
		body any
		code int
		says string
	}{
		"unready":    {problem(http.StatusServiceUnavailable, "no policy yet"), Failure, ": it answers 503 Service Unavailable: no policy yet\n"},
		"old":        {nil, Failure, ": it answers 404 Not Found\n"},
		"foreign":    {"<html>", Failure, "is not what this version knows"},
		"the policy": {problem(http.StatusBadRequest, `cut: no quota lists a region "xx"`), Usage, `leasehold links: cut: no quota lists a region "xx"`},
		"silent": {http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-hang:
			}
		}), Failure, "no answer within 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			bodies := map[string]any{}
			if c.body != nil {
				bodies["/v1/links"] = c.body
			}
			s := serve(t, bodies)
			for _, flag := range []string{"--coordinator", "--region"} {
				timeout := 10 * time.Second
				if name == "silent" {
					timeout = 50 * time.Millisecond
				}
				code, out, errs := leasehold(t, "", "links", flag, s.URL, "--timeout", timeout.String())
				assert.Equal(t, c.code, code)
				assert.Empty(t, out)
				assert.Contains(t, errs, c.says)
				if c.code == Failure {
					assert.Contains(t, errs, strings.TrimPrefix(flag, "--")+" "+s.URL)
				}
			}
		})
	}
	close(hang)
}
