package bucket

import "time"

// Result answers one attempt to spend. All its figures come from the same moment.
type Result struct {
	// OK: admitted, the cost is consumed. For a cost of 0, which consumes nothing: at least one token is there.
	OK bool
	// Never: the cost is above what the limit could hold at its fullest, so waiting is pointless. A cost of
	// exactly the burst is possible.
	Never bool
	// Invalid: the cost is negative. It is refused and changes nothing.
	Invalid bool
	// Remaining is what could be spent right after this answer, from 0 to the limit.
	Remaining int64
	// RetryAfter is 0 if OK, else the least wait after which the same cost is there if nobody else spends.
	// It is Forever for an answer that is Never or Invalid, and where nothing accrues.
	RetryAfter time.Duration
	// Reset is the wait until the limit is whole again: a bucket full, a window over. 0 if it is full now.
	Reset time.Duration
}

// need is what must be there for a cost: a cost of 0 asks after one token and leaves it.
func need(cost int64) int64 { return max(cost, 1) }

// answer fills in what bucket and window have in common; level is the balance after the decision.
func answer(ok bool, cost, capacity, level int64) Result {
	r := Result{
		OK:        ok,
		Invalid:   cost < 0,
		Never:     cost >= 0 && need(cost) > capacity,
		Remaining: max(level, 0),
	}
	if !ok {
		r.RetryAfter = Forever
	}
	return r
}

// waits tells whether the answer is a denial that time can change.
func (r Result) waits() bool { return !r.OK && !r.Never && !r.Invalid }
