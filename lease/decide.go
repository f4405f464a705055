package lease

import (
	"math"
	"time"
)

// Outcome says how a decision came about.
type Outcome uint8

// The outcomes of a decision.
const (
	Admitted   Outcome = iota
	Exhausted          // no tokens here now
	Cold               // nothing is known of the bucket here yet, or its pool is known to have the cost: waiting for a grant may help
	Impossible         // the cost is above what this region could ever hold at once
	Invalid            // the cost is negative
	Forgotten          // the cell is no longer in use: look it up again
)

// Verdict is the answer to one request.
type Verdict struct {
	Outcome Outcome
	// Cell is the index of the cell that decided: of an admitted request the
	// one with the fewest tokens left.
	Cell int
	// Remaining is what that cell could still admit.
	Remaining int64
	// Unreserved says that tokens were admitted that nobody granted: a cell's
	// quota allows that while the holder is cut off.
	Unreserved bool
	// At is the one reading of the clock that the decision was made at.
	At time.Duration
}

// maxCells is how many quotas one request may match.
const maxCells = 16

// Decide admits a request of a cost by all of cells, or by none (law 14). A
// cost of 0 consumes nothing and asks whether a cost of 1 could be admitted.
// The clock is read once, after the tokens are held, and compared with the
// deadlines that stood when they were taken (law 8).
//
// It may be called concurrently. It makes no remote call and allocates nothing.
func Decide(now func() time.Duration, cells []*Cell, cost int64) Verdict {
	if cost < 0 || len(cells) == 0 || len(cells) > maxCells {
		return Verdict{Outcome: Invalid, At: now()}
	}
	if len(cells) == 1 && cost > 0 {
		if v, ok := cells[0].fast(now, cost); ok {
			return v
		}
	}
	return decideSlowly(now, cells, cost)
}

// Admit is the common case of Decide for one cell: it admits from what is leased,
// and says no more than that. When it returns false nothing is taken or noted,
// and Decide decides. Its cost is above 0.
func (c *Cell) Admit(now func() time.Duration, cost int64) bool {
	_, _, ok := c.admit(now, cost)
	return ok
}

// fast is Admit with its verdict.
func (c *Cell) fast(now func() time.Duration, cost int64) (Verdict, bool) {
	left, at, ok := c.admit(now, cost)
	if !ok {
		return Verdict{}, false
	}
	return Verdict{Outcome: Admitted, Remaining: left, At: at}, true
}

// admit is Admit; it returns what is left in the lease, and the reading of the
// clock.
func (c *Cell) admit(now func() time.Duration, cost int64) (left int64, at time.Duration, ok bool) {
	l := c.lease.Load()
	if l == nil {
		return 0, 0, false
	}
	var early time.Duration
	if mutated("now read before the take") {
		early = now()
	}
	deadline, left, ok := l.take(cost)
	if !ok {
		return 0, 0, false
	}
	at = early
	if !mutated("now read before the take") {
		at = now()
	}
	if n := c.lease.Load(); mutated("the clock compared with a newer deadline") && n != nil {
		deadline = time.Duration(n.deadline.Load())
	}
	if at >= deadline {
		l.available.Add(cost) // undone into the same account (law 8)
		return 0, 0, false
	}
	l.spent.Add(cost)
	c.note(cost)
	c.after(left)
	return left, at, true
}

// heldTokens is what one cell gives to a request that is not yet admitted.
type heldTokens struct {
	cost     int64
	advisory bool
	outcome  Outcome
	lease    *lease
	known    bool
	leased,
	floor,
	over,
	left int64
}

// decideSlowly draws on leases and floors of one or several cells together.
func decideSlowly(now func() time.Duration, cells []*Cell, cost int64) Verdict {
	var held [maxCells]heldTokens
	for i := range cells {
		held[i].cost = cost
	}
	return decideHeld(now, cells, held[:len(cells)])
}

// decideHeld decides about a cost for each cell, which stands in held, and
// leaves there what became of each.
func decideHeld(now func() time.Duration, cells []*Cell, held []heldTokens) Verdict {
	var order [maxCells]uint8
	sortCells(cells, order[:len(cells)])
	for _, i := range order[:len(cells)] {
		cells[i].mu.Lock()
	}
	cut := cells[0].owner.cut.Load()
	v := hold(now, cells, cut, held)
	for i := range cells {
		admitted := v.Outcome == Admitted && held[i].outcome == Admitted && held[i].cost > 0
		held[i].finish(cells[i], admitted)
		if held[i].over > 0 && admitted {
			cells[i].overspend(v.At, cut, held[i].over)
			v.Unreserved = true
		}
	}
	for _, i := range order[:len(cells)] {
		cells[i].mu.Unlock()
	}
	if v.Outcome == Forgotten {
		return v
	}
	for i, c := range cells {
		h := &held[i]
		switch {
		case h.outcome == Cold:
			c.await(v.At, max(h.cost, 1)) // a peek too has to ask first
		case h.outcome == Exhausted:
			c.refuse(h.cost)
		case h.outcome == Admitted && v.Outcome == Admitted && h.cost > 0:
			c.note(h.cost)
			c.after(h.left)
		}
	}
	return v
}

// hold takes its cost from every cell, and decides: the first that cannot give
// it says why the request is not admitted. The caller holds the locks of all
// cells, and finishes what is in held.
func hold(now func() time.Duration, cells []*Cell, cut *Cut, held []heldTokens) Verdict {
	for i, c := range cells {
		if c.gone {
			return Verdict{Outcome: Forgotten, Cell: i}
		}
		// What was known before the tokens were looked for: a grant that comes
		// between here and there must wake its waiter, not have it refused.
		held[i].known = c.answered.Load()
		held[i].lease = c.lease.Load()
	}
	var deadlines [maxCells]time.Duration
	for i := range cells {
		if l := held[i].lease; l != nil {
			deadlines[i] = time.Duration(l.deadline.Load())
			held[i].leased = l.takeUpTo(max(held[i].cost, 1))
			if mutated("a hold reported as spent") {
				l.spent.Add(held[i].leased)
			}
		}
	}
	at := now()
	v := Verdict{Outcome: Admitted, At: at, Remaining: math.MaxInt64}
	for i, c := range cells {
		got := &held[i]
		want := max(got.cost, 1)
		if got.leased > 0 && at >= deadlines[i] {
			got.lease.available.Add(got.leased)
			got.leased = 0
		}
		level := c.floorLevel(at)
		got.floor = min(level, want-got.leased)
		var beyond int64
		if lack := want - got.leased - got.floor; lack > 0 {
			beyond = c.unreserved(at, cut, got.cost)
			got.over = min(lack, beyond)
		}
		if got.leased+got.floor+got.over < want {
			known := got.known && !c.windowOver(at) && (got.lease == nil || at < deadlines[i])
			got.outcome = c.short(known && !c.near(at, want-got.leased-got.floor), got.cost)
			got.left = got.leased + got.floor + got.over
			if v.Outcome == Admitted && !got.advisory {
				v.Outcome, v.Cell, v.Remaining = got.outcome, i, got.left
			}
			continue
		}
		got.left = level - got.floor + beyond - got.over
		if got.lease != nil && at < deadlines[i] {
			got.left += max(0, got.lease.available.Load())
		}
		if got.cost == 0 {
			got.left += want
		}
		if v.Outcome == Admitted && got.left < v.Remaining {
			v.Remaining, v.Cell = got.left, i
		}
	}
	return v
}

// patience is how long an answer may take before it is overdue: longer than the
// longest way there is, and shorter than a caller should be kept for nothing.
const patience = 800 * time.Millisecond

// near says that what is missing lies in the coordinator's pool, as it last told, and
// that its answer is not overdue: to deny would be false, and to wait for it takes
// about a round trip.
func (c *Cell) near(now time.Duration, missing int64) bool {
	n := c.hint.Load()
	if n == nil || n.wait > 0 || missing > c.poolHeard(now, c.quota.terms.Load()) {
		return false
	}
	since := time.Duration(c.waitSince.Load())
	return since == 0 || now-since <= patience
}

// short says why a cell cannot give the cost. Known says that the coordinator
// told something of the bucket that still stands, neither the lease nor the
// window has ended since, and that what it told is not that it has the cost.
func (c *Cell) short(known bool, cost int64) Outcome {
	switch {
	case cost > c.quota.most():
		return Impossible
	case !known:
		return Cold
	default:
		return Exhausted
	}
}

// finish spends what is held, or gives it back.
func (h *heldTokens) finish(c *Cell, admitted bool) {
	switch {
	case mutated("a hold reported as spent") && h.lease != nil:
		if !admitted {
			h.lease.spent.Add(-h.leased)
			h.lease.available.Add(h.leased)
		}
	case h.lease != nil && admitted:
		h.lease.spent.Add(h.leased)
	case h.lease != nil:
		h.lease.available.Add(h.leased)
	}
	if admitted {
		c.floor.Level -= h.floor
		if h.floor > 0 {
			c.floorSpent.Add(h.floor)
			c.quota.floorSpent.Add(h.floor)
		}
	}
}

// sortCells writes the order in which the cells are locked.
func sortCells(cells []*Cell, order []uint8) {
	for i := range cells {
		j := i
		for ; j > 0 && cells[order[j-1]].seq > cells[i].seq; j-- {
			order[j] = order[j-1]
		}
		order[j] = uint8(i)
	}
}
