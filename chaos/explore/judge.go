package explore

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// meter is the central bucket that the promise is about: over every interval
// no more than B + (1+ρ)·r·T is admitted exactly if it never goes below empty.
// For windows it counts what was admitted by the window of each lease.
type meter struct {
	per, tokens, burst int64
	drift              int64
	level              int64 // token-nanoseconds
	windows            [4]counted
}

type counted struct{ window, n int64 }

func newMeter(t *lease.Terms, drift lease.Drift) meter {
	if t.Windowed {
		return meter{}
	}
	return meter{per: int64(t.Per), tokens: t.Tokens, burst: t.Burst, drift: int64(drift), level: t.Burst * int64(t.Per)}
}

// pass refills the central bucket. Time goes in milliseconds, so that a rate
// that is some millionths faster leaves no remainder.
func (m *meter) pass(d time.Duration) {
	m.level = min(m.burst*m.per, m.level+m.tokens*int64(scaled(d, m.drift)))
}

func (w *World) fail(format string, args ...any) {
	if w.fault == nil {
		w.fault = fmt.Errorf(format, args...)
	}
}

// judgeTake checks one admission.
func (w *World) judgeTake(i int8, cost int64, before, after lease.CellView, floor lease.WindowFloor) {
	now := w.holderClock(i)
	leased := cost - (after.FloorSpent - before.FloorSpent)
	switch {
	case leased > 0 && !before.Leased:
		w.fail("law 2: %d admitted of no lease", leased)
	case leased > before.Unspent:
		w.fail("law 3: %d admitted of %d unspent", leased, before.Unspent)
	case leased > 0 && now >= before.Deadline:
		w.fail("law 6: admitted %v after the deadline", now-before.Deadline)
	case leased < cost && now >= before.FloorDeadline:
		w.fail("law 11: admitted %v after the floor's deadline", now-before.FloorDeadline)
	}
	if w.scene.Terms.Windowed {
		w.countWindow(before.Window, leased)
		w.countWindow(floor.Window, cost-leased)
		return
	}
	if w.meter.level -= cost * w.meter.per; w.meter.level < 0 {
		w.fail("the promise: %d/%d of a token more than B + (1+ρ)rT", -w.meter.level, w.meter.per)
	}
}

func (w *World) countWindow(window, cost int64) {
	if cost == 0 {
		return
	}
	least := 0
	for k := range w.meter.windows {
		if w.meter.windows[k].window == window {
			least = k
			break
		}
		if w.meter.windows[k].window < w.meter.windows[least].window {
			least = k
		}
	}
	c := &w.meter.windows[least]
	if c.window != window {
		*c = counted{window: window}
	}
	if c.n += cost; c.n > w.scene.Terms.Tokens {
		w.fail("the promise: %d admitted of a window of %d", c.n, w.scene.Terms.Tokens)
	}
}

// Check judges a state: the books of whatever changed, and that the holders
// cannot spend more than the newest leader charges to them.
func (w *World) Check() error {
	if w.fault != nil {
		return w.fault
	}
	for i, l := range w.leaders {
		if !l.alive || w.ownLeaders&(1<<i) == 0 {
			continue
		}
		if err := l.ledger.Check(); err != nil {
			return err
		}
	}
	c := w.current()
	if !w.leaders[c].alive {
		return nil
	}
	book, open := w.leaders[c].ledger.View(w.bucket())
	if !open {
		return nil
	}
	var could, floors int64
	for i, p := range w.holders {
		cell, found := p.h.Lookup(w.scene.Terms.Quota, []byte("k"))
		if !found {
			continue
		}
		v := cell.View()
		if v.Leased && w.holderClock(int8(i)) < v.Deadline && v.Window == book.Window {
			could += v.Unspent
		}
		if w.holderClock(int8(i)) < v.FloorDeadline {
			floors += floorLeft(cell.WindowFloor(), book.Window)
		}
	}
	if could > book.Outstanding {
		return fmt.Errorf("law 3: the holders could spend %d, but %d are charged to them", could, book.Outstanding)
	}
	if all := w.counted(book.Window) + could + floors; w.scene.Terms.Windowed && all > book.Used {
		return fmt.Errorf("law 5: %d of a window are spent or can be, of which %d count as used", all, book.Used)
	}
	return nil
}

// counted is what was admitted in a window.
func (w *World) counted(window int64) int64 {
	for _, c := range w.meter.windows {
		if c.window == window {
			return c.n
		}
	}
	return 0
}

// floorLeft is what may still be spent in a window of a floor.
func floorLeft(f lease.WindowFloor, window int64) int64 {
	switch {
	case window < f.First || window < f.Window:
		return 0
	case window == f.Window:
		return max(0, f.Tokens-f.Gone)
	}
	return f.Tokens
}
