package lease

import (
	"slices"
	"time"
)

// Cut is one time for which a holder was cut off, as its process detects it
// (package partition). A link that flaps stays in one cut.
type Cut struct {
	Number uint64        // from 1, and growing, in one process; 0 is none
	Since  time.Duration // by the holder's clock
	// Open says that the cut goes on: the link was not good for long enough yet.
	Open bool
	// Unreserved says that nothing of a coordinator is heard: what quotas allow
	// beyond leases and floors may be spent. A cut that is not Open has none.
	Unreserved bool
}

// cutSpan is a cut, or several older ones, of which the coordinator is to hear.
type cutSpan struct {
	CutReport

	told   CutReport     // what was said last
	toldAt time.Duration // when, in this session; 0: not yet
	heard  bool          // what was said last was processed
}

// maxCuts bounds how many cuts a holder remembers one by one until they were
// heard of.
const maxCuts = 64

// SetCut tells the holder how its link to the coordinators is. Its owner calls
// it before Tick, and before Welcome and Grants: the unreserved mode is left
// before anything is renewed.
func (h *Holder) SetCut(now time.Duration, c Cut) {
	old := h.cut.Load()
	switch unreserved := c.Unreserved && c.Open && c.Number > 0; {
	case !unreserved && old != nil && !mutated("a fallback kept after the heal"):
		h.cut.Store(nil)
	case unreserved && (old == nil || *old != c):
		h.cut.Store(&c)
	}
	n := len(h.cuts)
	if c.Open && c.Number > 0 && (n == 0 || h.cuts[n-1].Number < c.Number) {
		h.closeCut() // its end and this beginning may be noticed at once
		h.cuts = append(h.cuts, cutSpan{CutReport: CutReport{Number: c.Number, Count: 1}})
		h.mergeCuts()
		n = len(h.cuts)
	}
	if n > 0 && h.cuts[n-1].Number == c.Number && !h.cuts[n-1].Closed {
		s := &h.cuts[n-1]
		if old != nil || c.Unreserved { // until now; while it heals nothing is spent
			s.Length = max(s.Length, now-c.Since)
		}
		if !c.Open {
			h.closeCut()
		}
	}
}

// closeCut ends the last cut if it goes on.
func (h *Holder) closeCut() {
	if h.openCut() != 0 {
		h.cuts[len(h.cuts)-1].Closed = true
		h.settleCut()
	}
}

// openCut is the number of the cut that goes on, 0 if there is none.
func (h *Holder) openCut() uint64 {
	if n := len(h.cuts); n > 0 && !h.cuts[n-1].Closed {
		return h.cuts[n-1].Number
	}
	return 0
}

// mergeCuts makes one of the two oldest cuts when there are too many.
func (h *Holder) mergeCuts() {
	if len(h.cuts) <= maxCuts {
		return
	}
	first, second := h.cuts[0].CutReport, h.cuts[1].CutReport
	second.Count, second.Length = second.Count+first.Count, second.Length+first.Length
	h.cuts = slices.Delete(h.cuts, 0, 1)
	h.cuts[0] = cutSpan{CutReport: second}
}

// sayCuts reports the cuts of which there is something new, and forgets those
// that are over and were heard of. Overspend comes with its cut: nobody hears
// of one without the other.
func (h *Holder) sayCuts(now time.Duration, batch *ReportBatch) {
	if h.owing.cells == 0 {
		h.cuts = slices.DeleteFunc(h.cuts, func(s cutSpan) bool { return s.Closed && s.heard && s.told == s.CutReport })
	}
	if !h.clocked {
		return
	}
	for i := range h.cuts {
		s := &h.cuts[i]
		news := s.toldAt == 0 || s.Closed && s.told != s.CutReport
		if news || len(batch.Overspent) > 0 && s.told != s.CutReport {
			s.told, s.toldAt, s.heard = s.CutReport, now, false
			batch.Cuts = append(batch.Cuts, s.CutReport)
		}
	}
}

// cutsHeard notes that what was said until sent was processed.
func (h *Holder) cutsHeard(sent time.Duration) {
	for i := range h.cuts {
		if s := &h.cuts[i]; s.toldAt != 0 && s.toldAt <= sent {
			s.heard = true
		}
	}
}

// retellCuts has everything said anew in a new session, whose leader may be
// another one.
func (h *Holder) retellCuts() {
	for i := range h.cuts {
		h.cuts[i].toldAt, h.cuts[i].told, h.cuts[i].heard = 0, CutReport{}, false
	}
}
