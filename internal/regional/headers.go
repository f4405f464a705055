package regional

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/policy"
)

// limitHeaders sets the fields of draft-ietf-httpapi-ratelimit-headers for the
// quota that decided: RateLimit-Policy says what it admits, RateLimit what is
// left in this region. Their times are whole seconds, rounded up.
func (s *Server) limitHeaders(h http.Header, domain string, d *limiter.Decision) {
	if d.Limit == 0 {
		return
	}
	name := strconv.Quote(shortName(domain, d.Quota)) // names are a-z, digits and .-_
	if q := s.quota(d.Quota); q != nil {
		tokens, window := advertised(q, s.clock.Wall())
		h.Set("RateLimit-Policy", fmt.Sprintf("%s;q=%d;w=%d", name, tokens, window))
	}
	h.Set("RateLimit", fmt.Sprintf("%s;r=%d;t=%d", name, d.Remaining, wholeSeconds(d.Reset)))
}

// quota returns a quota of the policy in force, nil if it has gone.
func (s *Server) quota(id string) *policy.Quota {
	if set := s.limiter.Policy(); set != nil {
		return set.Quota(id)
	}
	return nil
}

// shortName is a quota's name within its domain.
func shortName(domain, id string) string { return strings.TrimPrefix(id, domain+"/") }

// advertised is a limit as so many tokens in so many whole seconds, which is what
// the header can say. It is never below what can remain: a burst above the
// tokens of one period is told as the time in which it accrues.
func advertised(q *policy.Quota, wall time.Time) (tokens, window int64) {
	l := q.Limit
	switch {
	case l.Algorithm == policy.CalendarWindow:
		w := q.Windows()
		start, end := w.Bounds(w.Index(wall))
		return l.Tokens, wholeSeconds(end.Sub(start))
	case l.Algorithm == policy.FixedWindow:
		return l.Tokens, max(1, wholeSeconds(l.Per))
	case l.Burst > l.Tokens:
		d, _ := l.Rate().TimeFor(l.Burst, 0)
		return l.Burst, max(1, wholeSeconds(d))
	}
	window = max(1, wholeSeconds(l.Per))
	return bucket.Scale(l.Tokens, window*int64(time.Second), int64(l.Per)), window
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return n
}

// retryAfter is the whole seconds of a Retry-After: at least one, never before
// the truth, and later by up to a tenth, so that clients which were denied
// together do not come back together.
func (s *Server) retryAfter(d time.Duration) int64 {
	n := max(1, wholeSeconds(d))
	return n + int64(math.Floor(s.opts.Random()*float64(n/10+1)))
}
