package lease

import (
	"math"
	"slices"
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
	window int64
	began  time.Duration
	tokens int64
	told   int64         // how much of it was said
	toldAt time.Duration // when, in this session; 0: not yet
}

// maxOverspends bounds how many cuts and windows a cell tells apart before the
// coordinator heard of them. What is spent in further ones counts as of the last.
const maxOverspends = 64

// unreserved brings up to now what may be spent unreserved in a cut, and returns
// how much that is: nothing after the time that the quota allows, and nothing
// for a cost that this region could never admit while it is connected. The caller
// holds c.mu.
func (c *Cell) unreserved(now time.Duration, cut *Cut, cost int64) int64 {
	if cut == nil {
		return 0
	}
	u := &c.quota.terms.Load().Unreserved
	switch {
	case !u.Allows() || cost > c.quota.most():
		return 0
	case u.For > 0 && now-cut.Since >= u.For && !mutated("a fallback without an end"):
		return 0
	}
	if c.over == nil {
		c.over = &cellOver{}
	}
	if u.Unbounded {
		return math.MaxInt64
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
	total := c.overspent.Add(tokens)
	c.quota.overspent.Add(tokens)
	s := overspend{cut: cut.Number, window: c.windowAt(now, t), began: now, tokens: tokens}
	o.add(s)
	if t.Windowed {
		total = o.inWindow(s.window)
	}
	for q := c.quota; ; {
		if worst := q.worstOver.Load(); total <= worst || q.worstOver.CompareAndSwap(worst, total) {
			return
		}
	}
}

// add notes what was spent.
func (o *cellOver) add(s overspend) {
	if n := len(o.spent); n > 0 {
		last := &o.spent[n-1]
		if last.cut == s.cut && last.window == s.window || n == maxOverspends {
			last.tokens += s.tokens
			return
		}
	}
	o.spent = append(o.spent, s)
}

// inWindow is what was spent in one window, as far as that is remembered.
func (o *cellOver) inWindow(window int64) (sum int64) {
	for i := range o.spent {
		if o.spent[i].window == window {
			sum += o.spent[i].tokens
		}
	}
	return sum
}

// windowAt is the window of a window quota by the coordinators' clock, as far as
// that is known here, else the last that was told.
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

// owes notes a cell that spent unreserved, so that Tick reports it until the
// coordinator heard of all of it. The holder's owner calls it.
func (h *Holder) owes(c *Cell) {
	if n := c.overspent.Load(); n != c.report.overspent {
		c.report.overspent = n
		if !c.report.owing {
			c.report.owing = true
			h.owing = append(h.owing, c)
		}
	}
}

// maxOverspendReports bounds the overspends of one batch: what does not fit is
// said by the next.
const maxOverspendReports = 1000

// sayOverspent reports what is new of what was spent unreserved.
func (h *Holder) sayOverspent(now time.Duration, batch *ReportBatch) {
	batch.Owes = h.openCut()
	for _, c := range h.owing {
		c.mu.Lock()
		for i := range c.over.spent {
			s := &c.over.spent[i]
			if batch.Owes == 0 || s.cut < batch.Owes {
				batch.Owes = s.cut
			}
			said := s.tokens == s.told && s.toldAt != 0
			if said || !h.clocked || len(batch.Overspent) == maxOverspendReports {
				continue // without a clock nobody could tell when it was
			}
			s.told, s.toldAt = s.tokens, now
			batch.Overspent = append(batch.Overspent, Overspend{Bucket: c.id, Cut: s.cut, Window: s.window, Tokens: s.tokens, Span: now - s.began})
		}
		c.mu.Unlock()
	}
}

// overspendHeard forgets what was said until sent and is over: it was processed.
func (h *Holder) overspendHeard(sent time.Duration) {
	open := h.openCut()
	h.owing = slices.DeleteFunc(h.owing, func(c *Cell) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.over.spent = slices.DeleteFunc(c.over.spent, func(s overspend) bool {
			return s.cut != open && s.told == s.tokens && s.toldAt != 0 && s.toldAt <= sent
		})
		if len(c.over.spent) > 0 {
			return false
		}
		c.over, c.report.owing = nil, false
		return true
	})
}

// retellOverspent has everything said anew in a new session: what was processed
// in the old one may not be known to this leader, and the one that knows it
// takes nothing twice.
func (h *Holder) retellOverspent() {
	for _, c := range h.owing {
		c.mu.Lock()
		for i := range c.over.spent {
			c.over.spent[i].toldAt = 0
		}
		c.mu.Unlock()
	}
}
