package envoy

import (
	"math"
	"time"

	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/a1009580/leasehold/bucket"
)

// usage is what a proxy reported of one bucket.
type usage struct {
	requests int64 // allowed and denied
	elapsed  time.Duration
}

// rate is what a proxy asks for in a second: half of what it did before and half
// of what it reports, rounded up. The first report has no time, and counts as a
// second.
func (u usage) rate(before int64) int64 {
	now := u.requests
	if u.elapsed > 0 {
		now = int64(min(math.Ceil(float64(u.requests)/u.elapsed.Seconds()), math.MaxUint32))
	}
	if before == 0 {
		return now
	}
	return before/2 + now/2 + (before%2+now%2+1)/2
}

// want is how many requests a proxy should be let admit in so many seconds to serve
// so many a second: a quarter more and one, and those of one second beside, with
// which its bucket begins.
func want(rate, seconds int64) int64 { return min(rate+rate/4+1, math.MaxUint32) * (seconds + 1) }

// share is a proxy's part of what is free, so that in proportion to what all want it
// has no more than its part of that and what others hold; at least one if there is
// any.
func share(wants, all, free, others int64) int64 {
	if free <= 0 {
		return 0
	}
	pot := free + others
	if all <= pot || all <= wants {
		return min(wants, free)
	}
	return min(max(1, bucket.Scale(pot, wants, all)), wants, free)
}

// bucketOf makes a token bucket that admits at most budget requests in so many
// seconds, beginning full, and what it admits at most: an even rate with one
// second's burst or, when that is less than one a second, as much as there is, with
// the next token after the end.
func bucketOf(budget, seconds int64) (b *typev3.TokenBucket, cost int64) {
	k := min(budget/(seconds+1), math.MaxUint32)
	if k > 0 {
		return tokenBucket(k, k, 1), k * (seconds + 1)
	}
	return tokenBucket(budget, 1, seconds+1), budget
}

func tokenBucket(most, fill, interval int64) *typev3.TokenBucket {
	return &typev3.TokenBucket{
		MaxTokens: uint32(most), TokensPerFill: wrapperspb.UInt32(uint32(fill)), FillInterval: &durationpb.Duration{Seconds: interval},
	}
}

// lifetime is how many whole seconds an assignment lives: as long as the lease
// that it is taken from, and not beyond its window. 0: too short to assign.
func lifetime(ttl, window time.Duration, windowed bool) int64 {
	if windowed {
		ttl = min(ttl, window)
	}
	return int64(ttl / time.Second)
}
