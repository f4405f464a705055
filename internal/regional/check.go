package regional

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/a1009580/leasehold/internal/respond"
	"github.com/a1009580/leasehold/limiter"
)

// checkRequest is what /v1/check is asked, in either form.
type checkRequest struct {
	domain     string
	descriptor []limiter.Pair
	cost       int64
}

// handleCheck returns the handler of /v1/check for one form of request.
//
// A denial is answered with 429, or with 403 for proxies that know no other
// (deny=403 in the query).
func (s *Server) handleCheck(read func(http.ResponseWriter, *http.Request, url.Values) (checkRequest, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			respond.Problem(w, http.StatusBadRequest, "the query is malformed")
			return
		}
		deny, err := denialStatus(query)
		if err != nil {
			respond.Problem(w, http.StatusBadRequest, err.Error())
			return
		}
		q, err := read(w, r, query)
		if err != nil {
			respond.Problem(w, badRequestStatus(err), err.Error())
			return
		}
		var room [4]limiter.Standing
		d, all, err := s.limiter.AllowDetailed(r.Context(), limiter.Request{Domain: q.domain, Descriptor: q.descriptor}, q.cost, room[:0])
		s.metrics.http.Observe(time.Since(began).Seconds())
		// An answer is about one moment: whoever keeps it would repeat it.
		w.Header().Set("Cache-Control", "no-store")
		if err != nil {
			_, code := codesOf(err)
			if code == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", "1")
			}
			respond.Problem(w, code, err.Error())
			return
		}
		s.form.Fields(w.Header(), q.domain, &d, all, s.clock.Wall())
		if !d.Allowed {
			s.form.Deny(w, deny, q.domain, &d, all)
			return
		}
		writeJSON(w, allowed{
			Allowed: true, Reason: d.Reason.String(), Quota: d.Quota, Limit: d.Limit, Remaining: d.Remaining, Reset: respond.Seconds(d.Reset),
		})
	}
}

// allowed is the body of an admitted request.
type allowed struct {
	Allowed   bool        `json:"allowed"`
	Reason    string      `json:"reason"`
	Quota     string      `json:"quota,omitempty"`
	Limit     int64       `json:"limit,omitempty"`
	Remaining int64       `json:"remaining"`
	Reset     json.Number `json:"reset_seconds"`
}

// denialStatus is the status of a denial that the query asks for.
func denialStatus(query url.Values) (int, error) {
	value, err := single(query, "deny")
	if err != nil {
		return 0, err
	}
	switch value {
	case "", "429":
		return http.StatusTooManyRequests, nil
	case "403":
		return http.StatusForbidden, nil
	default:
		return 0, errors.New("deny must be 403 or 429")
	}
}

// badRequestStatus is the status of a request that could not be read.
func badRequestStatus(err error) int {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

// writeJSON answers with 200 and a body.
func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(body) //nolint:errcheck,errchkjson // who asked has gone
}
