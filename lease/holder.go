package lease

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/a1009580/leasehold/bucket"
)

// HolderConfig is what a Holder is told by its process.
type HolderConfig struct {
	ID HolderID
	// Plan decides what to ask for (package reconcile).
	Plan Planner
	// Hurry is called, at most once between two calls of Tick, when a bucket
	// should be reported before the next regular one. It must not block.
	Hurry func()
}

// Planner decides what a holder asks for of one bucket, and how much it keeps.
type Planner func(u *Usage) Plan

// Usage is what happened to one bucket at a holder since its last report.
type Usage struct {
	Elapsed    time.Duration
	Admitted   int64 // tokens
	Refused    int64 // tokens
	Waiting    int64 // tokens, of requests that wait for a grant
	MaxRefused int64 // the largest cost that was refused
	Largest    int64 // the largest cost that was asked for within about a lease
	Unspent    int64 // left in the lease
	Last       Ask
	RoundTrip  time.Duration // measured; 0 if it is not known yet
	Interval   time.Duration // between reports
	TTL        time.Duration
	Limit      int64 // the most that the bucket may hold
	Size       int64 // Terms.Size
	Lend       bool  // the holder may be given more than it asks for
	Ahead      bool  // the holder may be given what it will need later
}

// Plan is what a holder asks for.
type Plan struct {
	Ask Ask
	// Keep is how much of its unspent tokens it keeps: the rest is returned.
	Keep int64
	// Low is the balance below which it reports at once.
	Low int64
}

// Holder spends leased tokens in one regional process. Cells may be looked up
// and decided on concurrently; all other methods belong to one owner, who
// calls them one at a time.
type Holder struct {
	cfg     HolderConfig
	cluster string

	seenEpoch    Epoch
	seenRevision int64
	policy       uint64 // revision
	drift        Drift
	interval     time.Duration
	roundTrip    time.Duration
	// wall is how far the coordinators' wall clock is ahead of ours, in Unix
	// nanoseconds, as of their last message; 0 is not known.
	wall atomic.Int64

	session Session
	live    atomic.Bool // the session is open and its Hello is sent
	lastOut time.Duration

	quotas  *xsync.Map[string, *holding]
	names   []string // of quotas, sorted
	cells   []*Cell  // all of them, for the sweep
	cursor  int
	bornMu  sync.Mutex
	born    []*Cell // not yet in cells
	seq     uint64
	touched atomic.Pointer[Cell]
	urgent  atomic.Bool
	dropped []Report // last words of accounts that were closed
	closed  uint64   // no account up to this number of the session is new

	cut   atomic.Pointer[Cut] // set while the unreserved modes are in use
	cuts  []cutSpan           // of which the coordinator is to hear
	owing owing               // what was spent unreserved, of which it is to hear
	// ahead is how far the coordinator's clock is ahead of ours at least, by its
	// messages in the session, made what it showed when the last was made; clocked
	// that there was one.
	ahead   time.Duration
	made    time.Duration
	clocked bool
}

// holding is one quota in a holder.
type holding struct {
	terms atomic.Pointer[Terms]
	floor atomic.Pointer[floorLease]
	cells *xsync.Map[string, *Cell]
	count atomic.Int64
	full  atomic.Bool // keys beyond the cap share one bucket
	// What was ever spent from floors, and unreserved.
	floorSpent, overspent atomic.Int64
	// worstOver is the most that was spent unreserved of one cell, of a window quota in one window.
	worstOver atomic.Int64
	// worstAt is when that last rose, forgotten the most of one cell that was forgotten.
	worstAt, forgotten atomic.Int64
	// window is the highest in which a floor of a window quota was looked at.
	window atomic.Int64
	// What was granted here and given back, ever; the owner's.
	credited int64
	returned int64
	max      atomic.Int64 // of count; read by decisions
}

// floorLease is the holder's part of its region's floor (law 11).
type floorLease struct {
	slot     int32
	grant    uint64
	rate     bucket.Rate
	burst    int64
	start    time.Duration
	deadline atomic.Int64
	// clock is nil for a token bucket. With it, rate.Tokens is the part of each
	// window.
	clock *floorClock
}

// NewHolder returns a holder that has nothing. SeenEpoch and SeenRevision are
// what an earlier process of the same data directory saw (State).
func NewHolder(cfg HolderConfig, state State) *Holder {
	h := &Holder{
		cfg: cfg, cluster: state.Cluster, seenEpoch: state.SeenEpoch, seenRevision: state.SeenRevision,
		quotas: xsync.NewMap[string, *holding](), drift: DefaultDrift, interval: 100 * time.Millisecond, lastOut: -time.Hour,
	}
	if cfg.Hurry == nil {
		h.cfg.Hurry = func() {}
	}
	return h
}

// State is what a holder keeps over restarts, if its process has a data
// directory (law 13).
type State struct {
	Cluster      string
	SeenEpoch    Epoch
	SeenRevision int64
}

// State returns what is worth keeping.
func (h *Holder) State() State {
	return State{Cluster: h.cluster, SeenEpoch: h.seenEpoch, SeenRevision: h.seenRevision}
}

// Connected says that the holder has an open session: what it asks for can
// come. It may be called concurrently.
func (h *Holder) Connected() bool { return h.live.Load() }

// RoundTrip is the measured time from a report to its answer, 0 if unknown.
func (h *Holder) RoundTrip() time.Duration { return h.roundTrip }

// QuotaLimits names one quota that a holder enforces.
type QuotaLimits struct {
	Terms   Terms
	MaxKeys int64 // beyond it, all further keys share one bucket
}

// Adopt replaces the quotas that the holder enforces. What it holds of others
// is dropped; a floor stays when its terms do.
func (h *Holder) Adopt(revision uint64, quotas []QuotaLimits) {
	h.policy = revision
	var names []string
	for i := range quotas {
		t := &quotas[i].Terms
		names = append(names, t.Quota)
		q, ok := h.quotas.Load(t.Quota)
		if !ok {
			q = &holding{cells: xsync.NewMap[string, *Cell]()}
			h.quotas.Store(t.Quota, q)
		} else if old := q.terms.Load(); !sameFloors(old, t) {
			q.floor.Store(nil)
		}
		q.max.Store(max(1, quotas[i].MaxKeys))
		q.terms.Store(t)
	}
	slices.Sort(names)
	for _, name := range h.names {
		if _, ok := slices.BinarySearchFunc(names, name, strings.Compare); !ok {
			h.dropQuota(name)
		}
	}
	h.names = names
}

func sameFloors(a, b *Terms) bool {
	return a.Per == b.Per && a.FloorTTL == b.FloorTTL && slices.Equal(a.Floors, b.Floors)
}

// dropQuota forgets a quota that is no longer in force, with all that the
// holder has of it.
func (h *Holder) dropQuota(name string) {
	q, _ := h.quotas.LoadAndDelete(name)
	h.adoptBorn()
	h.cells = slices.DeleteFunc(h.cells, func(c *Cell) bool {
		if c.quota != q {
			return false
		}
		c.end()
		return true
	})
	h.owing.drop(q)
	h.cursor = 0
}

// end takes everything out of a cell that is no longer in use.
func (c *Cell) end() {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	if l := c.lease.Swap(nil); l != nil {
		l.available.Swap(0)
	}
	c.wake()
}

// OverflowKey is the key of the bucket that keys beyond the cap share. It is
// no key of a request: those are made of complete lengths and values.
const OverflowKey = "\x80"

// Cell returns the cell of a bucket, making one if need be, and nil when the
// quota is not in force. It may be called concurrently.
func (h *Holder) Cell(quota, key string) *Cell {
	q, ok := h.quotas.Load(quota)
	if !ok {
		return nil
	}
	if c, ok := q.cells.Load(key); ok {
		return c
	}
	if q.count.Load() >= q.max.Load() && key != OverflowKey {
		q.full.Store(true)
		return h.Cell(quota, OverflowKey)
	}
	return h.makeCell(q, quota, key)
}

// Lookup is Cell for a key in bytes that are not kept; it makes no cell.
func (h *Holder) Lookup(quota string, key []byte) (*Cell, bool) {
	q, ok := h.quotas.Load(quota)
	if !ok {
		return nil, false
	}
	return q.cells.Load(unsafe.String(unsafe.SliceData(key), len(key))) // not kept: looked up only
}

func (h *Holder) makeCell(q *holding, quota, key string) *Cell {
	h.bornMu.Lock()
	defer h.bornMu.Unlock()
	if c, ok := q.cells.Load(key); ok {
		return c
	}
	h.seq++
	c := &Cell{id: BucketID{Quota: quota, Key: key}, seq: h.seq, owner: h, quota: q, overBefore: q.forgotten.Load()}
	q.cells.Store(key, c)
	q.count.Add(1)
	h.born = append(h.born, c)
	return c
}

// adoptBorn takes new cells into the sweep.
func (h *Holder) adoptBorn() {
	h.bornMu.Lock()
	defer h.bornMu.Unlock()
	h.cells = append(h.cells, h.born...)
	clear(h.born) // or the array keeps forgotten cells alive
	h.born = h.born[:0]
}

// hurry has the owner report before the next regular time.
func (h *Holder) hurry() {
	if !h.urgent.Load() && h.urgent.CompareAndSwap(false, true) {
		h.cfg.Hurry()
	}
}

// most is the largest cost that this holder could ever admit at once.
func (q *holding) most() int64 {
	t := q.terms.Load()
	if t.Windowed {
		return t.Tokens // by the end of a window all idle floors may have come back
	}
	var floors int64
	for i := range t.Floors {
		floors += t.Floors[i].Burst
	}
	m := t.capacity(floors)
	if f := q.floor.Load(); f != nil {
		m += f.burst
	}
	return m
}
