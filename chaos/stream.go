package chaos

import (
	"time"

	"github.com/a1009580/leasehold/lease"
)

// stream is one connection of a region to a coordinator. Each side has its own
// idea of whether it still stands.
type stream struct {
	region  *region
	gen     int // of the region: which of its processes
	coord   *coordinator
	session lease.Session // once welcomed
	n       uint64        // at the coordinator; 0 before and after

	upAt, downAt time.Duration // when the last message arrives, to keep the order
}

// send carries a message over a link, or does what the plan says with it. Messages of
// one direction of one stream arrive in order unless they are reordered.
func (w *World) send(s *stream, up bool, do func()) {
	r, net := s.region, &w.cfg.Net
	cut := &r.cutDown
	if up {
		cut = &r.cutUp
	}
	to, last := &r.process, &s.downAt
	if up {
		to, last = &s.coord.process, &s.upAt
	}
	if *cut > 0 {
		w.count(DropMessage)
		return
	}
	d := r.cfg.Latency
	if r.cfg.Jitter > 0 {
		d += w.netRNG.span(0, r.cfg.Jitter)
	}
	inOrder := true
	if w.troubled() {
		switch {
		case w.netRNG.permille(net.Drop):
			w.count(DropMessage)
			return
		case w.netRNG.permille(net.Late):
			w.count(LateMessage)
			d += w.netRNG.span(0, net.MaxLate)
			inOrder = w.netRNG.n(2) == 0
		case w.netRNG.permille(net.Reorder):
			w.count(ReorderMessage)
			d += w.netRNG.span(0, 4*r.cfg.Latency)
			inOrder = false
		case w.netRNG.permille(net.Duplicate):
			w.count(DuplicateMessage)
			to.after(d+w.netRNG.span(0, 4*r.cfg.Latency), do)
		}
	}
	if inOrder {
		*last = max(*last, w.now+d)
		d = *last - w.now
	}
	to.after(d, do)
}

// troubled says that messages and calls may go wrong now.
func (w *World) troubled() bool { return w.now < w.cfg.Duration }
