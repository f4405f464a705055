package lease

import (
	"encoding/binary"
	"math"
	"time"
)

// Frame says how AppendState looks at a state. Times are written as distances
// from the clocks of the frame, so that what recurs looks the same.
type Frame struct {
	// Now is the reading of the clocks of whoever is written; of a holder, the
	// wall clock of its coordinator.
	Now Moment
	// Holder is the clock of a holder: a ledger keeps what holders sent.
	Holder func(HolderID) time.Duration
	// Plain leaves out what only statistics, hints to users and averages depend
	// on, and cuts ages off where nothing older is told apart. It is sound when
	// the Allocator takes no turns, when the Planner looks at nothing but
	// whether something was admitted or refused, MaxRefused, Unspent, Limit and
	// Last, and when nothing depends on Hurry.
	Plain bool
}

// stateWriter appends numbers; every list begins with its length, so that two
// states are written alike only if they are alike.
type stateWriter struct {
	Frame
	b []byte
}

func (w *stateWriter) int(vs ...int64) {
	for _, v := range vs {
		w.b = binary.AppendVarint(w.b, v)
	}
}

func (w *stateWriter) uint(vs ...uint64) {
	for _, v := range vs {
		w.b = binary.AppendUvarint(w.b, v)
	}
}

func (w *stateWriter) bits(vs ...bool) {
	var n uint64
	for i, v := range vs {
		if v {
			n |= 1 << i
		}
	}
	w.uint(n)
}

func (w *stateWriter) count(n int) { w.int(int64(n)) }

func (w *stateWriter) str(s string) { w.b = appendString(w.b, s) }

func (w *stateWriter) holderID(h HolderID) { w.b = appendHolder(w.b, h) }

func (w *stateWriter) bucketID(id BucketID) {
	w.str(id.Quota)
	w.str(id.Key)
}

func (w *stateWriter) epoch(e Epoch) {
	w.uint(e.History)
	w.int(e.Revision)
}

func (w *stateWriter) session(s Session) {
	w.epoch(s.Epoch)
	w.uint(s.N)
}

// never is how a time is written that was not yet set.
const never = math.MinInt64

// at writes a time of a clock that reads now.
func (w *stateWriter) at(now, t time.Duration) {
	if t == 0 {
		w.int(never)
		return
	}
	w.int(int64(t - now))
}

// since writes how long ago t was; a plain frame tells nothing apart from
// longest on.
func (w *stateWriter) since(now, t, longest time.Duration) {
	if w.Plain {
		w.int(int64(min(now-t, longest)))
		return
	}
	w.at(now, t)
}

// until writes how far away t is; a plain frame does not tell how long ago it
// has passed.
func (w *stateWriter) until(now, t time.Duration) {
	if w.Plain {
		w.int(int64(max(0, t-now)))
		return
	}
	w.at(now, t)
}

// window writes the number of a window as the distance of its start.
func (w *stateWriter) window(n int64) {
	if n == 0 {
		w.int(never)
		return
	}
	w.int(n*int64(time.Millisecond) - w.Now.Wall.UnixNano())
}

func (w *stateWriter) ask(a Ask) { w.int(a.Demand, a.Want, a.Need) }
