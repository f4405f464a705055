package envoy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/policy"
)

type action = rlqs.RateLimitQuotaResponse_BucketAction

const (
	// maxBuckets is the most buckets of one proxy.
	maxBuckets = 10_000
	// idleTime is how long nothing may happen in a bucket before it is
	// abandoned.
	idleTime = 20 * time.Second
	// early is how long before an assignment ends the next is told.
	early = 400 * time.Millisecond
	// patience is how long a bucket that the region does not know yet is waited
	// for: the next beat looks again.
	patience = 5 * time.Millisecond
	// fixed is the lifetime of an assignment that depends on no bucket.
	fixed = 5
)

// proxy is one stream. Its methods belong to the stream's goroutine.
type proxy struct {
	s       *QuotaService
	domain  string
	buckets map[string]*subscription
}

// subscription is a bucket that a proxy watches.
type subscription struct {
	id   *rlqs.BucketId
	desc []limiter.Pair
	rate int64 // requests a second, as reported
	used time.Time
	next time.Time // when to look at it again
	// until is when its last assignment of tokens ends, denied until when it need
	// not be told again to deny everything.
	until, denied time.Time
}

// reported takes a message: buckets that are new in it are subscribed to, and
// assigned at once.
func (p *proxy) reported(ctx context.Context, r *rlqs.RateLimitQuotaUsageReports) ([]*action, error) {
	switch d := r.GetDomain(); {
	case p.domain == "" && d == "":
		return nil, invalid("domain is empty in the first report")
	case len(d) > maxName:
		return nil, invalid("domain has %d bytes; the most is %d", len(d), maxName)
	case p.domain == "":
		p.domain = d
	case d != "" && d != p.domain:
		return nil, invalid("the domain of a stream cannot change: open another")
	}
	var actions []*action
	now := time.Now()
	for i, u := range r.GetBucketQuotaUsages() {
		b, err := p.subscribe(i, u.GetBucketId())
		if err != nil {
			return nil, err
		}
		n := int64(min(u.GetNumRequestsAllowed(), 1<<32)) + int64(min(u.GetNumRequestsDenied(), 1<<32))
		first := b.used.IsZero()
		if first || n > 0 {
			b.used = now
		}
		b.rate = usage{requests: n, elapsed: u.GetTimeElapsed().AsDuration()}.rate(b.rate)
		if !first {
			continue
		}
		a, err := p.assign(ctx, b, now)
		if err != nil {
			return nil, err
		}
		if a != nil {
			actions = append(actions, a)
		}
	}
	return actions, nil
}

// subscribe returns the bucket of an identifier.
func (p *proxy) subscribe(i int, id *rlqs.BucketId) (*subscription, error) {
	keys := slices.Sorted(maps.Keys(id.GetBucket()))
	if n := len(keys); n == 0 || n > policy.MaxDescriptor {
		return nil, invalid("bucket_quota_usages[%d].bucket_id has %d entries; it must have 1 to %d", i, n, policy.MaxDescriptor)
	}
	var name strings.Builder
	var desc []limiter.Pair
	for _, k := range keys {
		v := id.GetBucket()[k]
		if len(k) == 0 || len(k) > maxName || len(v) > maxName {
			return nil, invalid("bucket_quota_usages[%d].bucket_id: an entry has %d and %d bytes; the most is %d", i, len(k), len(v), maxName)
		}
		name.WriteString(strconv.Itoa(len(k)) + ":" + k + strconv.Itoa(len(v)) + ":" + v)
		desc = append(desc, limiter.Pair{Key: k, Value: v})
	}
	b := p.buckets[name.String()]
	if b == nil {
		if len(p.buckets) == maxBuckets {
			return nil, status.Errorf(codes.ResourceExhausted, "more than %d buckets of one proxy", maxBuckets)
		}
		b = &subscription{id: id, desc: desc}
		p.buckets[name.String()] = b
	}
	return b, nil
}

// review renews assignments before they end, and abandons what is not used.
func (p *proxy) review(ctx context.Context) ([]*action, error) {
	now := time.Now()
	var actions []*action
	for name, b := range p.buckets {
		switch {
		case now.Sub(b.used) >= idleTime:
			delete(p.buckets, name)
			p.s.book.leave(p.bucket(b), p)
			actions = append(actions, &action{
				BucketId:     b.id,
				BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_AbandonAction_{AbandonAction: &rlqs.RateLimitQuotaResponse_BucketAction_AbandonAction{}},
			})
		case !now.Before(b.next):
			a, err := p.assign(ctx, b, now)
			if err != nil {
				return nil, err
			}
			if a != nil {
				actions = append(actions, a)
			}
		}
	}
	return actions, nil
}

// bucket names a bucket among those of all proxies.
func (p *proxy) bucket(b *subscription) string { return fmt.Sprintf("%q %q", p.domain, b.desc) }

// leave forgets what the proxy wants.
func (p *proxy) leave() {
	for _, b := range p.buckets {
		p.s.book.leave(p.bucket(b), p)
	}
}

// assign decides what a proxy may do in a bucket from now on. It returns nil when
// nothing changes for now.
func (p *proxy) assign(ctx context.Context, b *subscription, now time.Time) (*action, error) {
	peek, err := p.ask(ctx, b, 0)
	switch {
	case err != nil:
		return nil, err
	case peek.Reason == limiter.NoQuota, peek.Reason == limiter.Unbounded, peek.Rule != nil && peek.Rule.Advises():
		return p.blanket(b, now, typev3.RateLimitStrategy_ALLOW_ALL), nil
	case peek.Quota == nil && peek.Reason != limiter.NoLease:
		return p.blanket(b, now, typev3.RateLimitStrategy_DENY_ALL), nil
	case peek.Quota == nil:
		return p.starve(b, now), nil
	}
	windowed := peek.Quota.Limit.Algorithm != policy.TokenBucket
	seconds := lifetime(peek.Quota.Lease.TTL, peek.Reset, windowed)
	wants := want(b.rate, seconds)
	all, others := p.s.book.want(p.bucket(b), p, wants, now)
	budget := share(wants, all, peek.Remaining, others)
	for budget > 0 && seconds > 0 {
		tokens, cost := bucketOf(budget, seconds)
		d, err := p.ask(ctx, b, cost)
		if err != nil {
			return nil, err
		}
		if !d.Reason.Allows() || d.Quota == nil {
			if d.Remaining < budget { // the region holds less than there is
				budget = d.Remaining
			} else {
				budget /= 2
			}
			continue
		}
		lives := time.Duration(seconds) * time.Second
		p.s.book.assign(d.Quota.ID, p.bucket(b), p, cost, now, lives)
		b.until, b.denied, b.next = now.Add(lives), time.Time{}, now.Add(lives-early)
		return tell(b, seconds, &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_TokenBucket{TokenBucket: tokens}}), nil
	}
	return p.starve(b, now), nil
}

// ask decides about a cost in a bucket. A denial is no error, and neither is a
// bucket that is not known here yet.
func (p *proxy) ask(ctx context.Context, b *subscription, n int64) (limiter.PartDecision, error) {
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	set := p.s.limiter.Policy()
	desc := b.desc
	if set != nil && set.Domain(p.domain) != nil {
		var err error
		if desc, err = set.Domain(p.domain).Arrange(desc); err != nil {
			return limiter.PartDecision{}, p.s.status(err)
		}
	}
	_, all, err := p.s.limiter.AllowParts(soon, p.domain, []limiter.Part{{Descriptor: desc, N: n}}, nil)
	switch {
	case err == nil:
		return all[0], nil
	case errors.Is(err, limiter.ErrUnknownDomain) && set != nil && set.HasRules():
		return limiter.PartDecision{Reason: limiter.NoQuota}, nil
	case soon.Err() != nil && ctx.Err() == nil:
		return limiter.PartDecision{Reason: limiter.NoLease}, nil
	default:
		return limiter.PartDecision{}, p.s.status(err)
	}
}

// starve has a proxy deny everything until there is something to assign, which the
// next beat looks for. What it was assigned before is left to it until it ends.
func (p *proxy) starve(b *subscription, now time.Time) *action {
	b.next = now.Add(beat)
	if now.Before(b.until) || now.Before(b.denied) {
		return nil
	}
	a := p.blanket(b, now, typev3.RateLimitStrategy_DENY_ALL)
	b.denied, b.next = b.next, now.Add(beat)
	return a
}

// blanket tells what depends on no bucket.
func (p *proxy) blanket(b *subscription, now time.Time, rule typev3.RateLimitStrategy_BlanketRule) *action {
	b.next = now.Add(fixed*time.Second - early)
	return tell(b, fixed, &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_BlanketRule_{BlanketRule: rule}})
}

// tell makes an assignment with an explicit lifetime: without one it would never
// end.
func tell(b *subscription, seconds int64, s *typev3.RateLimitStrategy) *action {
	return &action{BucketId: b.id, BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction_{
		QuotaAssignmentAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction{
			AssignmentTimeToLive: &durationpb.Duration{Seconds: seconds}, RateLimitStrategy: s,
		},
	}}
}
