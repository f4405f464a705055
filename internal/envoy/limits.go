package envoy

import (
	"math"
	"math/big"
	"sync/atomic"
	"time"

	rl "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/policy"
)

type (
	rateLimit = rls.RateLimitResponse_RateLimit
	unit      = rls.RateLimitResponse_RateLimit_Unit
)

// limitCache keeps the limits of the policy in force as the protocol tells them.
// They are shared by all answers, which only read them.
type limitCache struct{ of atomic.Pointer[knownLimits] }

type knownLimits struct {
	set    *policy.Set
	limits map[*policy.Quota]*rateLimit
}

// get returns a quota's limit.
func (c *limitCache) get(set *policy.Set, d *limiter.PartDecision) *rateLimit {
	k := c.of.Load()
	if k == nil || k.set != set {
		k = readLimits(set)
		c.of.Store(k)
	}
	if l := k.limits[d.Quota]; l != nil {
		return l
	}
	return told(d.Quota) // of a policy that was just replaced
}

func readLimits(set *policy.Set) *knownLimits {
	k := &knownLimits{set: set, limits: make(map[*policy.Quota]*rateLimit)}
	if set == nil {
		return k
	}
	for _, d := range set.Domains {
		for _, q := range d.Quotas {
			k.limits[q] = told(q)
		}
	}
	return k
}

// told is a quota's limit in the protocol's words: that of a rule as it was written,
// any other in the largest unit that its time is a multiple of. What cannot be said
// in whole seconds is told per second, rounded up.
func told(q *policy.Quota) *rateLimit {
	if r := q.Rule(); r != nil {
		return &rateLimit{Name: r.Name, RequestsPerUnit: clamp(r.Requests), Unit: unitOf(r.Unit)}
	}
	l := &q.Limit
	per, tokens := l.Per, l.Tokens
	if l.Algorithm == policy.CalendarWindow {
		return &rateLimit{Name: q.Name, RequestsPerUnit: clamp(tokens), Unit: calendar[l.Unit]}
	}
	if per%time.Second != 0 {
		n := new(big.Int).Mul(big.NewInt(tokens), big.NewInt(int64(time.Second)))
		n.Add(n, big.NewInt(int64(per)-1)).Quo(n, big.NewInt(int64(per)))
		tokens, per = min(n.Int64(), math.MaxUint32), time.Second
		if !n.IsInt64() {
			tokens = math.MaxUint32
		}
	}
	for u := policy.Week; u >= policy.Second; u-- {
		if n := per / u.Length(); per%u.Length() == 0 {
			out := &rateLimit{Name: q.Name, RequestsPerUnit: clamp(tokens), Unit: unitOf(u)}
			if n > 1 {
				out.UnitMultiplier = wrapperspb.UInt32(clamp(int64(n)))
			}
			return out
		}
	}
	return nil // not reached: a second divides it
}

// capped is a limit that a descriptor brought.
func capped(name string, o *rl.RateLimitDescriptor_RateLimitOverride) *rateLimit {
	return &rateLimit{
		Name: name, RequestsPerUnit: o.GetRequestsPerUnit(), Unit: unitOf(units[o.GetUnit()]), UnitMultiplier: o.GetUnitMultiplier(),
	}
}

func unitOf(u policy.Unit) unit {
	return [...]unit{
		0, rls.RateLimitResponse_RateLimit_SECOND, rls.RateLimitResponse_RateLimit_MINUTE, rls.RateLimitResponse_RateLimit_HOUR,
		rls.RateLimitResponse_RateLimit_DAY, rls.RateLimitResponse_RateLimit_WEEK, rls.RateLimitResponse_RateLimit_MONTH,
		rls.RateLimitResponse_RateLimit_YEAR,
	}[u]
}

var calendar = map[bucket.Unit]unit{
	bucket.Minute: rls.RateLimitResponse_RateLimit_MINUTE, bucket.Hour: rls.RateLimitResponse_RateLimit_HOUR,
	bucket.Day: rls.RateLimitResponse_RateLimit_DAY, bucket.Week: rls.RateLimitResponse_RateLimit_WEEK,
	bucket.Month: rls.RateLimitResponse_RateLimit_MONTH, bucket.Year: rls.RateLimitResponse_RateLimit_YEAR,
}

// clamp is n, or the most that the protocol can say.
func clamp(n int64) uint32 { return uint32(max(0, min(n, math.MaxUint32))) }
