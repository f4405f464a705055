package lease

import (
	"sync/atomic"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// floorClock tells the windows apart in which a holder's floor may be spent from,
// also while it is cut off: it carries the wall clock that the coordinator told
// on by the holder's own clock. It is the part of a floorLease that a token
// bucket has no use for.
type floorClock struct {
	windows bucket.Windows
	first   int64 // the first window that may be spent from
	told    atomic.Pointer[toldWall]
	span    atomic.Pointer[windowSpan] // where it was last found to be
}

// toldWall is one reading of the coordinator's wall clock, in Unix nanoseconds.
// It was made after the holder sent the report of echo and before heard.
type toldWall struct {
	wall        int64
	echo, heard time.Duration
}

// windowSpan is one window, as [start, end) in Unix nanoseconds.
type windowSpan struct{ index, start, end int64 }

// hear takes a newer reading.
func (k *floorClock) hear(now time.Duration, g *FloorGrant) {
	if old := k.told.Load(); old == nil || g.Echo > old.echo {
		k.told.Store(&toldWall{wall: g.Wall, echo: g.Echo, heard: now})
	}
}

// window returns the window at a moment of the holder's clock and how much of it
// has passed at least. The coordinator's clock stands somewhere between two
// readings, by when it may have been read; while a boundary lies between them, no
// window is sure.
func (k *floorClock) window(now time.Duration) (s windowSpan, passed int64, sure bool) {
	t := k.told.Load()
	least, most := t.wall+int64(now-t.heard), t.wall+int64(now-t.echo)
	last := k.span.Load()
	if last == nil || least < last.start || least >= last.end {
		index := k.windows.Index(time.Unix(0, least))
		start, end := k.windows.Bounds(index)
		last = &windowSpan{index: index, start: start.UnixNano(), end: end.UnixNano()}
		k.span.Store(last)
	}
	return *last, least - last.start, most < last.end
}

// floorWindow is the window in which the floor may be spent from now, and
// whether there is one. Windows never go back, whatever a new leader's clock says
// (law 5): a cell that spent in one may be forgotten in the next.
func (q *holding) floorWindow(now time.Duration, f *floorLease) (s windowSpan, passed int64, ok bool) {
	s, passed, sure := f.clock.window(now)
	if !sure {
		return s, 0, false
	}
	for {
		high := q.window.Load()
		if s.index == high || s.index < high && mutated("the window of a floor goes back") {
			break
		}
		if s.index < high {
			return s, 0, false
		}
		if q.window.CompareAndSwap(high, s.index) {
			break
		}
	}
	return s, passed, s.index >= f.clock.first
}

// windowLevel is floorLevel for a window quota: what is left of the part of the
// window. The caller holds c.mu.
func (c *Cell) windowLevel(now time.Duration, f *floorLease) int64 {
	s, _, ok := c.quota.floorWindow(now, f)
	if !ok {
		return 0
	}
	c.enter(s.index, f)
	return c.floor.Level
}

// enter brings the cell to a window; what it left in the one before has ended
// with it. The caller holds c.mu.
func (c *Cell) enter(window int64, f *floorLease) {
	c.floorGrant = f
	if window > c.window || window < c.window && mutated("the window of a floor goes back") {
		c.window = window
		c.floor = bucket.TokenBucket{Burst: f.rate.Tokens, Level: f.rate.Tokens}
	}
}

// spentWindow says that the cell gave something of its floor in a window that may
// still be open: it must be remembered. The caller holds c.mu.
func (c *Cell) spentWindow(now time.Duration, f *floorLease) bool {
	if f == nil {
		return false // a floor to come begins with a later window
	}
	c.quota.floorWindow(now, f)
	return c.window >= c.quota.window.Load() && c.floor.Level < c.floor.Burst
}

// handBackWindow takes out of use what is due of an idle floor: so much that what
// was spent and handed back is the part of the window that has passed. The
// caller holds c.mu.
func (c *Cell) handBackWindow(now time.Duration, used bool, out *Report) (news bool) {
	b, f := &c.back, c.back.floor
	s, passed, ok := c.quota.floorWindow(now, f)
	if !ok || now >= time.Duration(f.deadline.Load()) {
		return false
	}
	c.enter(s.index, f)
	if b.window != s.index {
		b.window, b.returned, b.seen = s.index, 0, 0
	}
	if now < b.until {
		c.touch()
		gone := c.floor.Burst - c.floor.Level
		due := bucket.Scale(c.floor.Burst, passed, s.end-s.start) - gone
		if due = min(due, c.floor.Level); due > 0 && !used {
			if !mutated("a window floor given back and spent") {
				c.floor.Level -= due
			}
			b.returned += due
		}
	}
	out.FloorGrant, out.FloorReturned, out.FloorWindow = f.grant, b.returned, b.window
	return b.returned > b.seen
}

// giveUp tells that the floor of a window quota is given up in the window that is
// open, if that is sure.
func (q *holding) giveUp(now time.Duration, name string) (r FloorReturn, open bool) {
	f := q.floor.Load()
	if f == nil || f.clock == nil || now >= time.Duration(f.deadline.Load()) {
		return r, false
	}
	s, _, ok := q.floorWindow(now, f)
	return FloorReturn{Quota: name, Slot: f.slot, Grant: f.grant, Window: s.index}, ok
}

// giveUpWindow takes what is left of the floor in the open window out of use for
// good and then reports it, also that nothing is left (law 7).
func (c *Cell) giveUpWindow(now time.Duration, out *Report) bool {
	r, open := c.quota.giveUp(now, c.id.Quota)
	if !open {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f, b := c.quota.floor.Load(), &c.back
	c.enter(r.Window, f)
	if b.floor != f || b.window != r.Window {
		*b = cellHandback{floor: f, window: r.Window}
	}
	b.returned += c.floor.Level
	c.floor.Level = 0
	out.FloorGrant, out.FloorReturned, out.FloorWindow = f.grant, b.returned, r.Window
	return true
}

// WindowFloor is what a cell has of its floor of a window quota, as tests and
// drills look at it from outside.
type WindowFloor struct {
	Tokens int64 // that may be spent in each window; 0 without a floor
	First  int64 // the first window of them
	Window int64 // that the cell came to last
	Gone   int64 // spent or handed back in Window
}

// WindowFloor looks at the floor of a cell of a window quota. It may be called
// concurrently, but not by the clock of a decision.
func (c *Cell) WindowFloor() WindowFloor {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := WindowFloor{Window: c.window, Gone: c.floor.Burst - c.floor.Level}
	if f := c.quota.floor.Load(); f != nil && f.clock != nil {
		v.Tokens, v.First = f.rate.Tokens, f.clock.first
	}
	return v
}
