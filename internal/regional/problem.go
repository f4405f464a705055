package regional

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/a1009580/leasehold/limiter"
)

// Problem types of draft-ietf-httpapi-ratelimit-headers.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	noType          = "about:blank"
)

// problem is a body by RFC 9457.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Violated []string `json:"violated-policies,omitempty"`
	*denial
}

// denial is what the body of a denied request says beside the problem. Its times
// are exact.
type denial struct {
	Allowed    bool        `json:"allowed"` // false
	Reason     string      `json:"reason"`
	Quota      string      `json:"quota,omitempty"`
	Limit      int64       `json:"limit,omitempty"`
	Remaining  int64       `json:"remaining"`
	Reset      json.Number `json:"reset_seconds"`
	RetryAfter json.Number `json:"retry_after_seconds,omitempty"`
	Most       int64       `json:"most,omitempty"`
}

// writeDenial answers a request that is denied.
func (s *Server) writeDenial(w http.ResponseWriter, status int, domain string, d *limiter.Decision) {
	p := problem{Status: status, denial: &denial{
		Reason: d.Reason.String(), Quota: d.Quota, Limit: d.Limit, Remaining: d.Remaining, Reset: seconds(d.Reset), Most: d.Most,
	}}
	p.Type, p.Title, p.Detail = describe(d, status)
	if d.Quota != "" {
		p.Violated = []string{shortName(domain, d.Quota)}
	}
	if d.RetryAfter > 0 {
		p.RetryAfter = seconds(d.RetryAfter)
		w.Header().Set("Retry-After", strconv.FormatInt(s.retryAfter(d.RetryAfter), 10))
	}
	p.write(w)
}

// describe says in words why a request was denied.
func describe(d *limiter.Decision, status int) (kind, title, detail string) {
	const exceeded, reduced = "The quota is exceeded", "The quota cannot be served in full at the moment"
	switch d.Reason {
	case limiter.NoLease:
		return reducedCapacity, reduced, "This region holds no tokens of the quota yet."
	case limiter.CutOff:
		return reducedCapacity, reduced, "This region is cut off from the coordinator and holds too few tokens of the quota for the request."
	case limiter.Impossible:
		return quotaExceeded, exceeded, "The cost is above what could ever be admitted at once."
	case limiter.Unmatched:
		return noType, http.StatusText(status), "No quota matches the request, and the domain denies such requests."
	default:
		return quotaExceeded, exceeded, "The quota is used up, as far as this region knows."
	}
}

// writeProblem answers a request about which there is no decision.
func writeProblem(w http.ResponseWriter, status int, err error) {
	p := problem{Type: noType, Title: http.StatusText(status), Status: status, Detail: err.Error()}
	p.write(w)
}

func (p *problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p) //nolint:errcheck,errchkjson // who asked has gone
}
