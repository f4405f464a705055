package httplimit

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/a1009580/leasehold/internal/retry"
)

// Transport is a client's RoundTripper that heeds Retry-After: a request that was
// denied is sent again when the server said that it may be, and a random while
// later, growing with each time (full jitter), so that clients which were denied
// together do not come back together.
//
// It sends again after a 429, and after a 503 if the method is idempotent, that
// has a Retry-After, and if the body can be had again (http.Request.GetBody). A
// 429 without Retry-After is one for good. The caller's context bounds all of
// it: rather than to wait for what would come too late, the response is handed
// over as it is. The zero Transport is ready to use, by many at once.
type Transport struct {
	// Base sends the requests; by default it is http.DefaultTransport.
	Base http.RoundTripper
	// MaxTries is how often a request is sent at most, the first time included.
	// The default is 4; 1 sends nothing again.
	MaxTries int
	// MaxWait is the longest Retry-After that is waited for. The default is a
	// minute.
	MaxWait time.Duration
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	ctx, request := r.Context(), r
	patience := retry.New(retry.Limits{MaxTries: t.MaxTries, MaxWait: t.MaxWait})
	for {
		response, err := base.RoundTrip(request)
		if err != nil {
			return response, err
		}
		hint, ok := retryAfter(request, response, time.Now())
		if !ok {
			return response, nil
		}
		wait, ok := patience.Next(ctx, hint)
		if !ok {
			return response, nil
		}
		again, err := repeat(r)
		if err != nil || again == nil {
			return response, nil //nolint:nilerr // it cannot be sent again: the answer stands
		}
		discard(response.Body)
		if err := retry.Sleep(ctx, wait); err != nil {
			if again.Body != nil {
				again.Body.Close()
			}
			return nil, err
		}
		request = again
	}
}

// repeat returns the request with its body from the start; nil when that cannot
// be had.
func repeat(r *http.Request) (*http.Request, error) {
	again := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, nil
	}
	if r.GetBody == nil {
		return nil, nil
	}
	var err error
	again.Body, err = r.GetBody()
	return again, err
}

// discard reads a body, so that its connection can be used again, but not more
// of it than a denial has.
func discard(body io.ReadCloser) {
	io.CopyN(io.Discard, body, 64<<10) //nolint:errcheck // the connection is at stake, nothing else
	body.Close()
}

// retryAfter is how long a denial asks to wait; false for any other response.
func retryAfter(r *http.Request, response *http.Response, now time.Time) (time.Duration, bool) {
	switch response.StatusCode {
	case http.StatusTooManyRequests: // it was not served, whatever it was
	case http.StatusServiceUnavailable:
		if !idempotent(r.Method) {
			return 0, false
		}
	default:
		return 0, false
	}
	value := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now)), true
	}
	return 0, false
}

// idempotent says that serving a request twice is the same as once (RFC 9110,
// 9.2.2).
func idempotent(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	default:
		return false
	}
}
