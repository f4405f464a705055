package envoy

import (
	"math"
	"time"

	rl "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/policy"
)

// maxName is the most bytes of a domain and of an entry's key.
const maxName = 1024

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// readParts reads what is asked. It looks at no more than the limiter takes.
func readParts(r *rls.RateLimitRequest, parts []limiter.Part, pairs []limiter.Pair) ([]limiter.Part, error) {
	switch n := len(r.GetDescriptors()); {
	case r.GetDomain() == "":
		return nil, invalid("domain is empty")
	case len(r.GetDomain()) > maxName:
		return nil, invalid("domain has %d bytes; the most is %d", len(r.GetDomain()), maxName)
	case n == 0:
		return nil, invalid("descriptors are empty")
	case n > limiter.MaxParts:
		return nil, invalid("%d descriptors; the most is %d", n, limiter.MaxParts)
	}
	for i, d := range r.GetDescriptors() {
		from := len(pairs)
		var err error
		if pairs, err = readEntries(i, d, pairs); err != nil {
			return nil, err
		}
		p := limiter.Part{Descriptor: pairs[from:len(pairs):len(pairs)], N: hits(r, d), Refund: d.GetIsNegativeHits()}
		if d.GetLimit() != nil {
			if p.Cap, err = readCap(i, d.GetLimit()); err != nil {
				return nil, err
			}
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func readEntries(i int, d *rl.RateLimitDescriptor, pairs []limiter.Pair) ([]limiter.Pair, error) {
	switch n := len(d.GetEntries()); {
	case n == 0:
		return nil, invalid("descriptors[%d] has no entries", i)
	case n > policy.MaxDescriptor:
		return nil, invalid("descriptors[%d] has %d entries; the most is %d", i, n, policy.MaxDescriptor)
	}
	for j, e := range d.GetEntries() {
		if n := len(e.GetKey()); n == 0 || n > maxName {
			return nil, invalid("descriptors[%d].entries[%d]: the key has %d bytes; it must have 1 to %d", i, j, n, maxName)
		}
		pairs = append(pairs, limiter.Pair{Key: e.GetKey(), Value: e.GetValue()})
	}
	return pairs, nil
}

// hits is what a descriptor costs: its own hits_addend if there is one, of which 0
// is a peek; else the request's, of which 0 means 1.
func hits(r *rls.RateLimitRequest, d *rl.RateLimitDescriptor) int64 {
	if own := d.GetHitsAddend(); own != nil {
		return int64(min(own.GetValue(), math.MaxInt64)) // more than any limit
	}
	return max(1, int64(r.GetHitsAddend()))
}

// readCap reads the limit that a descriptor brings.
func readCap(i int, o *rl.RateLimitDescriptor_RateLimitOverride) (*limiter.Cap, error) {
	unit := units[o.GetUnit()]
	if unit == 0 {
		return nil, invalid("descriptors[%d].limit: the unit %v is not known", i, o.GetUnit())
	}
	times := int64(1)
	if m := o.GetUnitMultiplier(); m != nil {
		times = int64(m.GetValue())
	}
	if times < 1 || times > int64(math.MaxInt64/unit.Length()) {
		return nil, invalid("descriptors[%d].limit: unit_multiplier %d is out of range", i, times)
	}
	return &limiter.Cap{Hits: int64(o.GetRequestsPerUnit()), Per: override(o)}, nil
}

// override is the time of a limit that readCap has read.
func override(o *rl.RateLimitDescriptor_RateLimitOverride) time.Duration {
	times := int64(1)
	if m := o.GetUnitMultiplier(); m != nil {
		times = int64(m.GetValue())
	}
	return time.Duration(times) * units[o.GetUnit()].Length()
}

var units = map[typev3.RateLimitUnit]policy.Unit{
	typev3.RateLimitUnit_SECOND: policy.Second, typev3.RateLimitUnit_MINUTE: policy.Minute, typev3.RateLimitUnit_HOUR: policy.Hour,
	typev3.RateLimitUnit_DAY: policy.Day, typev3.RateLimitUnit_MONTH: policy.Month, typev3.RateLimitUnit_YEAR: policy.Year,
}
