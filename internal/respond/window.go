package respond

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/policy"
)

// advertised is a limit as so many tokens in so many whole seconds, which is what
// RateLimit-Policy can say. It is never below what can remain: a burst above the
// tokens of one period is told as the time in which it accrues.
func advertised(s *limiter.Standing, wall time.Time) (tokens, window int64) {
	l := s.Quota.Limit
	switch {
	case l.Algorithm == policy.CalendarWindow:
		// The window is the one that ends at Reset. No window is shorter than a
		// minute, so that looking at half of one before its end finds it,
		// whatever passed between the decision and this reading of the clock.
		w := s.Quota.Windows()
		start, end := w.Bounds(w.Index(wall.Add(s.Reset - 30*time.Second)))
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
