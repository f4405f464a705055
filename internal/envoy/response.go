package envoy

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/a1009580/leasehold/limiter"
)

const (
	codeOK   = rls.RateLimitResponse_OK
	codeOver = rls.RateLimitResponse_OVER_LIMIT
)

// lenient says that a request of an unknown domain is let pass: so it is by those
// whose configuration this is, where every domain is written with descriptors. The
// limiter has counted it.
func (s *Service) lenient(err error) bool {
	if !errors.Is(err, limiter.ErrUnknownDomain) {
		return false
	}
	set := s.o.Limiter.Policy()
	return set != nil && set.HasRules()
}

// unlimited is the answer to n descriptors that nothing limits.
func unlimited(n int) *rls.RateLimitResponse {
	out := &rls.RateLimitResponse{OverallCode: codeOK}
	for range n {
		out.Statuses = append(out.Statuses, &rls.RateLimitResponse_DescriptorStatus{Code: codeOK})
	}
	return out
}

// statuses tells the decision and how each descriptor stands.
func (s *Service) statuses(r *rls.RateLimitRequest, allowed bool, all []limiter.PartDecision) *rls.RateLimitResponse {
	out := &rls.RateLimitResponse{OverallCode: codeOK, Statuses: make([]*rls.RateLimitResponse_DescriptorStatus, len(all))}
	if !allowed {
		out.OverallCode = codeOver
	}
	set := s.o.Limiter.Policy()
	states := make([]rls.RateLimitResponse_DescriptorStatus, len(all)) // one allocation for all
	for i := range all {
		d, to := &all[i], &states[i]
		out.Statuses[i] = to
		to.Code = codeOK
		if !d.Reason.Allows() && (d.Rule == nil || !d.Rule.Shadow) {
			to.Code = codeOver
		}
		switch {
		case d.Quota != nil:
			to.CurrentLimit = s.limits.get(set, d)
			if o := r.GetDescriptors()[i].GetLimit(); o != nil && d.Limit < d.Quota.Limit.Capacity() {
				to.CurrentLimit = capped(to.CurrentLimit.GetName(), o)
			}
			to.LimitRemaining = clamp(d.Remaining)
			to.DurationUntilReset = &durationpb.Duration{Seconds: untilReset(d)}
		case d.Reason == limiter.Unbounded:
			to.LimitRemaining = math.MaxUint32
		case !d.Reason.Allows() && r.GetDescriptors()[i].GetLimit() != nil: // one of 0
			o := r.GetDescriptors()[i].GetLimit()
			to.CurrentLimit = capped("", o)
			to.DurationUntilReset = &durationpb.Duration{Seconds: wholeSeconds(override(o))}
		case d.Rule != nil && d.Rule.Deny:
			to.CurrentLimit = &rateLimit{Name: d.Rule.Name, Unit: unitOf(d.Rule.Unit)}
			to.DurationUntilReset = &durationpb.Duration{Seconds: wholeSeconds(d.Rule.Unit.Length())}
		}
	}
	return out
}

// untilReset is how many seconds until a descriptor's limit is whole again; of one
// that had too little, until it could have enough, and never 0. Proxies cut
// fractions off, so that it is rounded up.
func untilReset(d *limiter.PartDecision) int64 {
	switch {
	case d.Reason.Allows():
		return wholeSeconds(d.Reset)
	case d.RetryAfter > 0:
		return wholeSeconds(d.RetryAfter)
	default:
		return max(1, wholeSeconds(d.Reset))
	}
}

func wholeSeconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return n
}

// tighten adds how a quota stands in one of its buckets. A field has one item for a
// quota: of several buckets the one that says when to come back.
func tighten(all []limiter.Standing, s *limiter.Standing) []limiter.Standing {
	for i := range all {
		if all[i].Quota == s.Quota {
			if tighter(*s, all[i]) < 0 {
				all[i] = *s
			}
			return all
		}
	}
	return append(all, *s)
}

// tighter orders standings by what they keep a client from: first what never can
// be had, then what takes longest, then what has the least left.
func tighter(a, b limiter.Standing) int {
	rank := func(s *limiter.Standing) int {
		switch {
		case !s.Short:
			return 2
		case s.RetryAfter > 0:
			return 1
		default:
			return 0
		}
	}
	return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.RetryAfter, a.RetryAfter), cmp.Compare(a.Remaining, b.Remaining))
}

// headers adds the header fields of an answer over HTTP.
func (s *Service) headers(out *rls.RateLimitResponse, domain string, allowed bool, all []limiter.PartDecision) {
	var standings []limiter.Standing
	decided := limiter.Decision{Allowed: allowed}
	var wait time.Duration
	forever := false
	for i := range all {
		d := &all[i]
		short := !d.Reason.Allows() && (d.Rule == nil || !d.Rule.Advises())
		if short {
			wait = max(wait, d.RetryAfter)
			forever = forever || d.RetryAfter == 0
		}
		if d.Quota == nil {
			continue
		}
		standings = tighten(standings, &limiter.Standing{
			Quota: d.Quota, Limit: d.Limit, Remaining: d.Remaining, Reset: d.Reset, Short: short, RetryAfter: d.RetryAfter,
		})
	}
	if len(standings) > 0 {
		decided.Quota = slices.MinFunc(standings, tighter).Quota.ID
	}
	fields := http.Header{}
	s.o.Form.Fields(fields, domain, &decided, standings, s.o.Wall())
	for _, name := range []string{"RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if v := fields[http.CanonicalHeaderKey(name)]; v != nil {
			out.ResponseHeadersToAdd = append(out.ResponseHeadersToAdd, &corev3.HeaderValue{Key: name, Value: v[0]})
		}
	}
	if !allowed && !forever && wait > 0 {
		value := strconv.FormatInt(s.o.Form.RetryAfter(wait), 10)
		out.ResponseHeadersToAdd = append(out.ResponseHeadersToAdd, &corev3.HeaderValue{Key: "Retry-After", Value: value})
	}
}
