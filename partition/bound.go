package partition

import (
	"math"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Cut is one or more cuts of one region: that so many of its holders cannot reach the coordinator.
type Cut struct {
	Region string
	// Holders is how many regional processes are cut off at a time, each of which spends on its own. 0 is none:
	// nobody is there who could spend.
	Holders int
	// For is the true time that each cut lasts. A cut of no length still lets a burst through.
	For time.Duration
	// Count is how often that happens, each time anew; 0 is once, since a cut that is listed takes place. Flaps
	// that a [Link] takes for one cut count once.
	Count int
}

// Result is a bound: the most, in tokens, by which what all regions together admit of one bucket can exceed
// the promise, in any interval for a token bucket and in any window for a window quota.
type Result struct {
	// Lines are what the sum is made of, those that add nothing left out.
	Lines  []Line
	Tokens int64
	// Unbounded says that there is no bound, because the policy says so with that word; Tokens is then the
	// largest int64.
	Unbounded bool
	// Saturated says that the sum is beyond the largest int64, which is what Tokens then is.
	Saturated bool
	// Exact says that no cut whatever adds anything in this mode.
	Exact bool
	// Span is the least time in which all of it could be spent: that of the cuts of one holder one after
	// another, the longest such. Allowed is what the promise itself allows in that time.
	Span    time.Duration
	Allowed int64
}

// Percent returns the bound in percent of what the promise allows in the same time, Allowed. It is +Inf
// without a bound.
func (r Result) Percent() float64 {
	switch {
	case r.Unbounded:
		return math.Inf(1)
	case r.Tokens == 0:
		return 0
	}
	return 100 * float64(r.Tokens) / float64(r.Allowed)
}

// Bound returns by how much the quota can exceed its promise through these cuts. For each holder and cut:
//
//	burst + (1+ρ)·rate·min(D, for)
//
// rounded up, where D is the length of the cut: of a window quota the part in one window, at most that window's
// length. There the burst counts in each window, as one that was not used before the window began is there in
// it. The bound therefore holds for every window, not for all of them together.
//
// The exact modes add nothing, whatever is cut. A mode that is not known is unbounded rather than harmless.
func Bound(q *policy.Quota, ρ lease.Drift, cuts []Cut) Result {
	r := begin(q)
	spans := make(map[string]time.Duration)
	for _, c := range cuts {
		l := newLine(q, ρ, c)
		if c.Holders > 0 && !r.Exact {
			spans[c.Region] = add(spans[c.Region], times(l.Time, int64(l.Cuts)))
			r.Span = max(r.Span, spans[c.Region])
		}
		r.put(l)
	}
	r.Allowed = q.Limit.Promise(ρ, r.Span)
	return r
}

// begin returns the bound of a quota of which nothing is cut.
func begin(q *policy.Quota) Result {
	r := Result{Exact: q.Partition.Mode.Exact() && !q.Limit.Unbounded}
	known := r.Exact || q.Partition.Mode == policy.LocalFallback || q.Partition.Mode == policy.FailOpen
	if q.Limit.Unbounded || !known {
		r.Unbounded, r.Tokens = true, math.MaxInt64
	}
	return r
}

// put adds a line that adds anything.
func (r *Result) put(l Line) {
	if l.Tokens == 0 {
		return
	}
	r.Lines = append(r.Lines, l)
	r.Unbounded = r.Unbounded || l.Unbounded
	r.Tokens = add(r.Tokens, l.Tokens)
	r.Saturated = r.Tokens == math.MaxInt64 && !r.Unbounded
}

// Plus returns the sum of two bounds of one quota, such as of the cuts under two revisions of its policy. Its
// lines are those of both, its span the longer one.
func (r Result) Plus(s Result) Result {
	sum := Result{
		Lines: append(append([]Line(nil), r.Lines...), s.Lines...), Tokens: add(r.Tokens, s.Tokens),
		Unbounded: r.Unbounded || s.Unbounded, Exact: r.Exact && s.Exact,
		Span: max(r.Span, s.Span), Allowed: max(r.Allowed, s.Allowed),
	}
	sum.Saturated = sum.Tokens == math.MaxInt64 && !sum.Unbounded
	return sum
}

// add and times are for what is 0 or more; they saturate.
func add[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times[T ~int64](a T, n int64) T {
	if n > 0 && int64(a) > math.MaxInt64/n {
		return math.MaxInt64
	}
	return a * T(n)
}
