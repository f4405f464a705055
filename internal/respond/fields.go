package respond

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a1009580/leasehold/limiter"
)

// Form is how answers are written. Its methods may be called concurrently.
type Form struct {
	// Legacy adds X-RateLimit-Limit, -Remaining and -Reset, which many clients
	// read: they are the q, r and t of the quota that decided.
	Legacy bool
	// Random returns numbers from 0 to less than 1, for the jitter of
	// Retry-After.
	Random func() float64
}

// The names of the fields, in the spelling that Go keeps them under: another one
// would have to be made so each time.
const (
	policyField    = "Ratelimit-Policy"
	field          = "Ratelimit"
	limitField     = "X-Ratelimit-Limit"
	remainingField = "X-Ratelimit-Remaining"
	resetField     = "X-Ratelimit-Reset"
)

// maxInteger is the largest Integer of a structured field (RFC 9651, 3.3.1):
// limits may be larger, and are then told as this.
const maxInteger = 999_999_999_999_999

// Fields sets RateLimit-Policy, what each quota admits, and RateLimit, what is
// left of it here: an item for each of all, in their order. Wall is the time of
// day. Their times are whole seconds, rounded up.
func (f *Form) Fields(h http.Header, domain string, d *limiter.Decision, all []limiter.Standing, wall time.Time) {
	if len(all) == 0 {
		return
	}
	var room [2][192]byte
	policies, limits := room[0][:0], room[1][:0]
	for i := range all {
		s := &all[i]
		if i > 0 {
			policies, limits = append(policies, ", "...), append(limits, ", "...)
		}
		tokens, window := advertised(s, wall)
		policies = appendItem(policies, shortName(domain, s.Quota.ID), 'q', tokens, 'w', window)
		limits = appendItem(limits, shortName(domain, s.Quota.ID), 'r', s.Remaining, 't', effectiveWindow(s))
		if f.Legacy && s.Quota.ID == d.Quota {
			h[limitField] = []string{strconv.FormatInt(min(tokens, maxInteger), 10)}
			h[remainingField] = []string{strconv.FormatInt(min(s.Remaining, maxInteger), 10)}
			h[resetField] = []string{strconv.FormatInt(effectiveWindow(s), 10)}
		}
	}
	values := [2]string{string(policies), string(limits)}
	h[policyField], h[field] = values[:1:1], values[1:2:2]
}

// appendItem appends one item of a structured field: a string, which names the
// quota, with two Integer parameters: tokens, and seconds, of which no duration
// has too many.
func appendItem(b []byte, name string, tokensIn byte, tokens int64, secondsIn byte, seconds int64) []byte {
	b = append(appendString(b, name), ';', tokensIn, '=')
	b = strconv.AppendInt(b, min(tokens, maxInteger), 10)
	b = append(b, ';', secondsIn, '=')
	return strconv.AppendInt(b, seconds, 10)
}

// appendString appends a String (RFC 9651, 3.3.3). It has printable ASCII alone,
// which the names of quotas are; those of rules may have anything, and what is not
// is percent-encoded.
func appendString(b []byte, s string) []byte {
	const digits = "0123456789ABCDEF"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = append(b, '%', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// shortName is a quota's name within its domain.
func shortName(domain, id string) string {
	if name, ok := strings.CutPrefix(id, domain); ok {
		return strings.TrimPrefix(name, "/")
	}
	return id
}

// effectiveWindow is the t of a quota in whole seconds: how long no more than what
// remains can be used. Of a quota that had too little it ends when it could
// have enough, which is when to come back; of any other, when it is whole again.
func effectiveWindow(s *limiter.Standing) int64 {
	if s.Short && s.RetryAfter > 0 {
		return wholeSeconds(s.RetryAfter)
	}
	return wholeSeconds(s.Reset)
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return n
}

// RetryAfter is the whole seconds of a Retry-After: at least one, never before
// the truth, and later by up to a tenth, or by up to one where that is less, so
// that clients which were denied together do not come back together. Who waits
// for no more than a second is spread by the rounding up.
func (f *Form) RetryAfter(d time.Duration) int64 {
	n := wholeSeconds(d)
	if n <= 1 {
		return 1
	}
	spread := max(1, n/10)
	return n + int64(math.Floor(f.Random()*float64(spread+1)))
}
