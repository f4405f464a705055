package lease

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// cellOver is what a cell spends unreserved while its holder is cut off, in the
// two modes that allow it, and what of it the coordinator is to hear. Most cells
// have none. The cell's mu guards it.
type cellOver struct {
	cut    uint64 // that bucket is of
	bucket bucket.TokenBucket
	spent  []overspend
}

// overspend is what was spent unreserved of a bucket in one cut and, of a window
// quota, in one window.
type overspend struct {
	cut    uint64
	window int64 // 0 of a window quota: it is not known which
	began  time.Duration
	tokens int64
	told   int64         // how much of it was said
	toldAt time.Duration // when, in this session; 0: not yet
}

// maxOverspends bounds how many cuts and windows a cell tells apart before the
// coordinator heard of them. What is spent in further windows is of one that is not
// known, what is spent in further cuts counts as of the last.
const maxOverspends = 64

// everything is what an unbounded mode has: more than any sum of costs, and so far
// from the end of the range that leases may be added.
const everything = math.MaxInt64 / 2

// reachable returns what the cell's quota lets pass in a cut at now, nil for nothing:
// after the time that the quota allows, and for a cost that this region could never
// admit while it is connected.
func (c *Cell) reachable(now time.Duration, cut *Cut, cost int64) *Unreserved {
	if cut == nil {
		return nil
	}
	u := &c.quota.terms.Load().Unreserved
	switch {
	case !u.Allows() || cost > c.quota.most():
		return nil
	case u.For > 0 && now-cut.Since >= u.For && !mutated("a fallback without an end"):
		return nil
	}
	return u
}

// unreserved brings up to now what may be spent unreserved in a cut, and returns
// how much that is. The caller holds c.mu, and loaded cut under it: one of before
// would begin the burst of this one anew.
func (c *Cell) unreserved(now time.Duration, cut *Cut, cost int64) int64 {
	u := c.reachable(now, cut, cost)
	if u == nil {
		return 0
	}
	if c.over == nil {
		c.over = &cellOver{}
	}
	if u.Unbounded {
		return everything
	}
	o := c.over
	if o.cut != cut.Number {
		o.cut, o.bucket = cut.Number, bucket.Full(now, u.Rate, u.Burst)
	}
	o.bucket.Reconfigure(now, u.Rate, u.Burst)
	return o.bucket.Level
}

// overspend spends tokens that unreserved said there are. The caller holds c.mu.
func (c *Cell) overspend(now time.Duration, cut *Cut, tokens int64) {
	o, t := c.over, c.quota.terms.Load()
	if !t.Unreserved.Unbounded && !mutated("a fallback that does not run dry") {
		o.bucket.Level -= tokens
	}
	total := plus(c.overBefore, c.overspent.Add(tokens))
	c.quota.overspent.Add(tokens)
	s := overspend{cut: cut.Number, window: c.windowAt(now, t), began: now, tokens: tokens}
	o.add(s)
	if t.Windowed {
		total = o.inWindow(s.window)
	}
	if raiseTo(&c.quota.worstOver, total) {
		raiseTo(&c.quota.worstAt, int64(now))
	}
}

// forgetOver keeps of a cell that is forgotten what was spent unreserved of its key, for the most of one bucket. It is
// one number for all keys, with which new cells begin: never less than was spent of a key, and never more than what all
// cuts together can have added to one.
func (c *Cell) forgetOver() { raiseTo(&c.quota.forgotten, plus(c.overBefore, c.overspent.Load())) }

// raiseTo makes a the larger of both, and says whether that changed it.
func raiseTo(a *atomic.Int64, to int64) bool {
	for {
		if was := a.Load(); to <= was {
			return false
		} else if a.CompareAndSwap(was, to) {
			return true
		}
	}
}

// add notes what was spent. Each cut and window has one counter, also when the
// wall clock that was told goes back over a boundary: two would be merged by max.
func (o *cellOver) add(s overspend) {
	n := len(o.spent)
	for i := n - 1; i >= 0; i-- {
		if e := &o.spent[i]; e.cut == s.cut && e.window == s.window {
			e.tokens += s.tokens
			return
		}
	}
	if n >= maxOverspends {
		s.window = 0 // nobody knows which, rather than the wrong one
		if last := &o.spent[n-1]; last.window == 0 {
			last.tokens += s.tokens
			return
		}
	}
	o.spent = append(o.spent, s)
}

// inWindow is what was spent in one window, as far as that is remembered, and nothing
// of one that is not known: its entry may be of many.
func (o *cellOver) inWindow(window int64) (sum int64) {
	for i := range o.spent {
		if window != 0 && o.spent[i].window == window {
			sum += o.spent[i].tokens
		}
	}
	return sum
}

// windowAt is the window of a window quota by the coordinators' clock, as far as
// that is known here, else the last that was told; 0 if none was.
func (c *Cell) windowAt(now time.Duration, t *Terms) int64 {
	if !t.Windowed {
		return 0
	}
	var told int64
	if l := c.lease.Load(); l != nil {
		told = l.window
	}
	if wall, known := c.owner.wallAt(now); known {
		return max(told, t.Windows.Index(wall))
	}
	return told
}
