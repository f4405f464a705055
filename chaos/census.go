package chaos

import (
	"fmt"

	"github.com/a1009580/leasehold/lease"
)

// census compares what is out there with what the newest ledger believes. What
// holders can still spend, and what they spent just now, is never more than what
// that ledger counts as outstanding: law 1 without waiting for it to show.
func (w *World) census(b int, spent int64) error {
	c := w.newest
	if w.lost || w.now < w.censusFrom || c == nil || c.ledger == nil {
		return nil
	}
	id := w.bucketID(b)
	v, ok := c.ledger.View(id)
	if !ok {
		return nil
	}
	out := spent
	for _, r := range w.regions {
		if !r.up {
			continue
		}
		cell, ok := r.holder.Lookup(id.Quota, []byte(id.Key))
		if !ok {
			continue
		}
		h := cell.View()
		if h.Leased && (w.bounds[b].windowed && h.Window == v.Window || !w.bounds[b].windowed && r.clock() < h.Deadline) {
			out += h.Unspent
		}
		if w.bounds[b].windowed && r.clock() < h.FloorDeadline {
			out += floorLeft(cell.WindowFloor(), v.Window)
		}
	}
	if w.bounds[b].windowed {
		if used := w.bounds[b].window(v.Window).spent + out - spent; used > v.Used {
			return fmt.Errorf("law 5: %s counts %d as used in window %d, but %d are spent or can be", c.name, v.Used, v.Window, used)
		}
		return nil
	}
	if out > v.Outstanding {
		return fmt.Errorf("law 1: %s counts %d tokens as outstanding (%+v), but holders can spend %d", c.name, v.Outstanding, v, out)
	}
	return nil
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

// granted counts what leaders grant who do not know that their store lost its
// past: until a holder notices, that is beyond the promise, and never more.
func (w *World) granted(e lease.Epoch, id lease.BucketID, window, tokens int64) {
	if !w.everLost || e.History > w.lostHistory {
		return
	}
	b := w.bucket(id)
	if b < 0 {
		return
	}
	if m := &w.bounds[b]; m.windowed {
		m.window(window).bonus += tokens
	} else {
		m.bonus += tokens
	}
}

// judgeLeadership says that nothing is granted by a leader whose election lease
// may have ended: counted by true time from when the store last renewed it, which
// is after the leader asked for that.
func (w *World) judgeLeadership(c *coordinator, b *lease.GrantBatch) {
	most := int64(w.cfg.ElectionTTL) * 1_000_000 / (1_000_000 - int64(w.cfg.Drift))
	if int64(w.now-c.proved) <= most+1 {
		return
	}
	for i := range b.Grants {
		if !b.Grants[i].Closed {
			w.fail("law 9: %s grants %v after its election lease was renewed", c.name, w.now-c.proved)
		}
	}
}
