package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/httplimit"
)

func TestRemoteIPIsWhatOneCustomerHas(t *testing.T) {
	extract := httplimit.RemoteIP("client")
	for remote, want := range map[string]string{
		"192.0.2.7:1234":                      "192.0.2.7",
		"[::ffff:192.0.2.7]:1234":             "192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:1234":         "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff:ffff:ffff:1]:443": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1234":                 "fe80::/64",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = remote
		pairs, err := extract(r)
		require.NoError(t, err)
		assert.Equal(t, []limiter.Pair{{Key: "client", Value: want}}, pairs)
	}
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = "@"
	_, err := extract(r)
	require.Error(t, err)
	assert.NotErrorIs(t, err, httplimit.ErrBadRequest, "a unix socket is no fault of the client's")
}

// TestKEY01_AHeaderIsTakenAsItIs also when it is odd; one that is missing or
// there twice is no key.
func TestKEY01_AHeaderIsTakenAsItIs(t *testing.T) {
	extract := httplimit.All(httplimit.Fixed("route", "/search"), httplimit.Header("api_key", "X-Api-Key"))
	for _, value := range []string{"k", "a b", "a/b", "../x", "\xff\xfe", "e\u0301", "\u00e9"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("x-api-key", value)
		pairs, err := extract(r)
		require.NoError(t, err)
		assert.Equal(t, []limiter.Pair{{Key: "route", Value: "/search"}, {Key: "api_key", Value: value}}, pairs)
	}
	for _, values := range [][]string{nil, {""}, {"a", "b"}, {"a", "a"}} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header["X-Api-Key"] = values
		_, err := extract(r)
		require.ErrorIs(t, err, httplimit.ErrBadRequest)
	}
}
