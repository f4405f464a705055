package partition

import (
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Past is a cut of one holder that took place, by whosever clock: all of them run within ρ.
type Past struct {
	Region, Holder string
	Began          time.Duration
	// Ended is when its link was good again, which is later than when it was last used. While Open, it goes on.
	Ended time.Duration
	Open  bool
	// Count is above 1 for several cuts that were made one, all of them lasting from Began to Ended together. 0 is
	// one cut.
	Count int
}

// Since returns the bound of the cuts that took place up to now: what is observed never exceeds it. Each cut
// has a line of its own. A cut that goes on counts until now; times that run back count as no time.
//
// A holder that is cut off hears of no new policy. So q is the quota as the holders had it when their cuts
// began; cuts under several revisions are added with [Result.Plus].
//
// For a window quota the bound is of any one window. Pass the cuts that overlap a window to get that one's.
func Since(q *policy.Quota, ρ lease.Drift, past []Past, now time.Duration) Result {
	r := begin(q)
	spans := make(map[[2]string]time.Duration)
	for _, p := range past {
		l := newLine(q, ρ, Cut{Region: p.Region, Holders: 1, For: p.length(now), Count: p.Count})
		l.Holder = p.Holder
		if p.Open {
			l.Kind = Open
		}
		if !r.Exact {
			who := [2]string{p.Region, p.Holder}
			spans[who] = add(spans[who], times(l.Time, int64(l.Cuts)))
			r.Span = max(r.Span, spans[who])
		}
		r.put(l)
	}
	r.Allowed = q.Limit.Promise(ρ, r.Span)
	return r
}

// length returns how long the cut lasted or lasts, below 0 if time ran back: of several the mean, rounded up,
// with which they add no less than each with its own, since what counts of a cut ends at a time.
func (p *Past) length(now time.Duration) time.Duration {
	end := p.Ended
	if p.Open {
		end = now
	}
	n := time.Duration(max(1, p.Count))
	return (end - p.Began + n - 1) / n
}
