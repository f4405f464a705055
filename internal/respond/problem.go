package respond

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a1009580/leasehold/limiter"
)

// Problem types, with the titles under which the draft registers them, and the
// one of RFC 9457 that says no more than the status.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	noType          = "about:blank"

	exceededTitle = "Quota Exceeded"
	reducedTitle  = "Temporary Reduced Capacity"
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

// Deny answers a request that was denied. A denial for good has no Retry-After.
func (f *Form) Deny(w http.ResponseWriter, status int, domain string, d *limiter.Decision, all []limiter.Standing) {
	p := problem{Status: status, denial: &denial{
		Reason: d.Reason.String(), Quota: d.Quota, Limit: d.Limit, Remaining: d.Remaining, Reset: Seconds(d.Reset), Most: d.Most,
	}}
	p.Type, p.Title, p.Detail = describe(d, status)
	for i := range all {
		if all[i].Short {
			p.Violated = append(p.Violated, shortName(domain, all[i].Quota.ID))
		}
	}
	if d.RetryAfter > 0 {
		p.RetryAfter = Seconds(d.RetryAfter)
		w.Header().Set("Retry-After", strconv.FormatInt(f.RetryAfter(d.RetryAfter), 10))
	}
	p.write(w)
}

// describe says in words why a request was denied.
func describe(d *limiter.Decision, status int) (kind, title, detail string) {
	switch d.Reason {
	case limiter.NoLease:
		return reducedCapacity, reducedTitle, "This region holds no tokens of the quota yet."
	case limiter.CutOff:
		return reducedCapacity, reducedTitle, "This region is cut off from the coordinator and holds too few tokens of the quota for the request."
	case limiter.Impossible:
		return quotaExceeded, exceededTitle, "The cost is above what could ever be admitted at once."
	case limiter.Unmatched:
		return noType, statusText(status), "No quota matches the request, and the domain denies such requests."
	default:
		return quotaExceeded, exceededTitle, "The quota is used up, as far as this region knows."
	}
}

// Problem answers a request about which there is no decision, saying why.
func Problem(w http.ResponseWriter, status int, why string) {
	p := problem{Type: noType, Title: statusText(status), Status: status, Detail: why}
	p.write(w)
}

// StatusClientGone is what others log for a client that left: nobody reads it.
const StatusClientGone = 499

// statusText is a status in words.
func statusText(status int) string {
	if status == StatusClientGone {
		return "Client Closed Request"
	}
	return http.StatusText(status)
}

func (p *problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store") // a problem is about one moment, whatever else was set
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p) //nolint:errcheck,errchkjson // who asked has gone
}

// Seconds is an exact number of seconds, as the bodies have it.
func Seconds(d time.Duration) json.Number {
	whole, fraction := strconv.FormatInt(int64(d/time.Second), 10), d%time.Second
	if fraction == 0 {
		return json.Number(whole)
	}
	digits := strconv.FormatInt(int64(time.Second+fraction), 10)[1:]
	return json.Number(whole + "." + strings.TrimRight(digits, "0"))
}
