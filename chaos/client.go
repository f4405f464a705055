package chaos

import (
	"time"

	"github.com/a1009580/leasehold/lease"
)

// cellWatch is what the judges remember of one region's cell.
type cellWatch struct {
	cell       *lease.Cell
	floorSpent int64
	overspent  int64
	session    lease.Session
	top        uint64 // the newest account that was heard of in session
	probed     bool
}

func (r *region) watch(id lease.BucketID) *cellWatch {
	if b := r.w.bucket(id); b >= 0 {
		return &r.cells[b]
	}
	return nil
}

// waiter is a request that waits for a grant.
type waiter struct {
	cells   []Cell
	cost    int64
	until   time.Duration
	changed <-chan struct{}
}

// run lets a client ask, from now until it ends.
func (w *World) runClient(c *Client, dice *rng) {
	if w.now >= c.To {
		return
	}
	r := w.regions[c.Region]
	if r.up && r.paused == 0 {
		for range c.Burst {
			r.request(c.Cells, dice.between(c.MinCost, c.MaxCost), c.Wait)
		}
		if c.Refund > 0 && dice.n(1000) < c.Refund {
			r.refund(c.Cells[0], dice.between(1, 3*c.MaxCost))
		}
	}
	w.heap.push(w.now+c.Every, func() { w.runClient(c, dice) })
}

// request asks, and waits for a grant if that may help.
func (r *region) request(cells []Cell, cost int64, wait time.Duration) {
	var changed <-chan struct{}
	if wait > 0 {
		id := r.w.bucketID(r.w.index(cells[0]))
		if c := r.holder.Cell(id.Quota, id.Key); c != nil {
			changed = c.Changed()
		}
	}
	v, ok := r.decide(cells, cost)
	if !ok || changed == nil || v.Outcome != lease.Exhausted && v.Outcome != lease.Cold {
		return
	}
	r.waiting = append(r.waiting, &waiter{cells: cells, cost: cost, until: r.w.now + wait, changed: changed})
}

// serveWaiters has those decide anew whose cell was granted something.
func (r *region) serveWaiters() {
	if len(r.waiting) == 0 {
		return
	}
	kept := r.waiting[:0]
	for _, q := range r.waiting {
		select {
		case <-q.changed:
		default:
			if r.w.now < q.until {
				kept = append(kept, q)
			}
			continue
		}
		if r.w.now >= q.until {
			continue
		}
		id := r.w.bucketID(r.w.index(q.cells[0]))
		c := r.holder.Cell(id.Quota, id.Key)
		if c == nil {
			continue
		}
		q.changed = c.Changed()
		if v, ok := r.decide(q.cells, q.cost); ok && v.Outcome == lease.Admitted {
			r.w.count(WaiterServed)
		} else {
			kept = append(kept, q)
		}
	}
	r.waiting = kept
}

// decide asks the shipping code and has the judges look at the answer.
func (r *region) decide(cells []Cell, cost int64) (lease.Verdict, bool) {
	var list [4]*lease.Cell
	for i, c := range cells {
		id := r.w.bucketID(r.w.index(c))
		if list[i] = r.holder.Cell(id.Quota, id.Key); list[i] == nil {
			return lease.Verdict{}, false
		}
	}
	v := lease.Decide(r.clock, list[:len(cells)], cost)
	r.w.decisions++
	switch v.Outcome {
	case lease.Admitted:
		if len(cells) > 1 {
			r.w.count(SeveralCells)
		}
		if cost > 0 {
			for i, c := range cells {
				r.judge(r.w.index(c), list[i], cost, v.At)
			}
		}
	case lease.Impossible:
		r.w.count(Impossible)
		r.w.detail("%s denies %d for ever", r.name, cost)
	case lease.Exhausted, lease.Cold:
		r.w.detail("%s denies %d, of which it has %d", r.name, cost, v.Remaining)
	case lease.Invalid, lease.Forgotten:
	}
	return v, true
}

// judge tells the judges of an admission: law by law, then the promise itself.
func (r *region) judge(b int, c *lease.Cell, cost int64, at time.Duration) {
	w, watch, v := r.w, &r.cells[b], c.View()
	if watch.cell != c {
		watch.cell, watch.floorSpent, watch.overspent = c, 0, 0
	}
	floor, over := v.FloorSpent-watch.floorSpent, v.Overspent-watch.overspent
	watch.floorSpent, watch.overspent = v.FloorSpent, v.Overspent
	leased := cost - floor - over
	if w.now >= w.cfg.Duration {
		watch.probed = true
	}
	id := w.bucketID(b)
	m := &w.bounds[b]
	w.detail("%s admits %d of %s, %s: %d leased, %d of its floor", r.name, cost, id.Quota, id.Key, leased, floor)
	if leased > 0 {
		w.check(r.w.register.spent(r, id, &v, leased, at))
	}
	if over > 0 {
		w.detail("%s spends %d of that unreserved", r.name, over)
		w.check(w.overspent(r, b, over, at))
	}
	if floor > 0 {
		w.count(FloorSpent)
		w.check(w.floorSpent(r, id, &v, at))
	}
	if floor > 0 && m.windowed {
		w.count(WindowFloorSpent)
		w.check(m.admitWindow(c.WindowFloor().Window, floor))
	}
	if m.windowed {
		if n := len(m.windows); leased > 0 && n > 0 && m.windows[n-1].window < v.Window {
			w.count(WindowRolled)
		}
		if leased > 0 {
			w.check(m.admitWindow(v.Window, leased))
		}
		w.check(w.census(b, 0))
		return
	}
	m.exceed(w.now, cost)
	w.check(m.admit(w.now, cost-over))
	w.check(w.census(b, leased))
}
