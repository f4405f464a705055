package overshoot

import (
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

// NewQuota returns a quota with its bound and, if anybody observes, with what was observed.
func NewQuota(q *policy.Quota, bound *partition.Result, observed *lease.Observed) Quota {
	out := Quota{Quota: q.ID, Exact: q.Partition.Mode.Exact() && !q.Limit.Unbounded, Limit: q.Limit.String(), Bound: NewBound(bound)}
	if !q.Limit.Unbounded {
		out.Mode = q.Partition.Mode.String()
	}
	if observed == nil {
		return out
	}
	out.Observed = &Observed{
		Low: observed.Low, High: observed.High, LowAt: instant(observed.LowAt), HighAt: instant(observed.HighAt),
	}
	if out.Bound.Tokens != nil {
		margin := *out.Bound.Tokens - observed.High
		out.Margin = &margin
	}
	return out
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// NewBound puts a result into the form of a body.
func NewBound(r *partition.Result) Bound {
	b := Bound{
		Unbounded: r.Unbounded, Saturated: r.Saturated, Allowed: r.Allowed, Span: Seconds(r.Span), Lines: make([]Line, len(r.Lines)),
	}
	if !r.Unbounded {
		tokens, percent := r.Tokens, r.Percent()
		b.Tokens, b.Percent = &tokens, &percent
	}
	for i := range r.Lines {
		l := &r.Lines[i]
		b.Lines[i] = Line{
			Text: l.Text(), Kind: l.Kind.String(), Region: l.Region, Holder: l.Holder, Holders: l.Holders, Cuts: l.Cuts,
			Burst: l.Burst, Rate: l.Rate.Tokens, RatePer: Seconds(l.Rate.Per), Time: Seconds(l.Time),
		}
		if !l.Unbounded {
			tokens := l.Tokens
			b.Lines[i].Tokens = &tokens
		}
	}
	return b
}
