package lease

import "time"

// AppendState appends a message on its way to a holder, whose clock reads
// clock. Messages that are written alike do the same.
func (b *GrantBatch) AppendState(dst []byte, f Frame, clock time.Duration) []byte {
	w := stateWriter{Frame: f, b: dst}
	w.batch(b, clock)
	return w.b
}

// AppendState appends a message on its way from a holder, whose clock reads
// clock.
func (r *ReportBatch) AppendState(dst []byte, f Frame, clock time.Duration) []byte {
	w := stateWriter{Frame: f, b: dst}
	w.session(r.Session)
	w.at(clock, r.Sent)
	w.bits(r.Goodbye)
	w.count(len(r.Floors))
	for _, f := range r.Floors {
		w.str(f.Quota)
		w.int(int64(f.Slot))
		w.uint(f.Grant)
		w.window(f.Window)
	}
	w.bits(r.Clock != 0)
	w.at(clock, r.Clock)
	if !w.Plain {
		w.uint(uint64(r.Part))
		w.int(int64(r.Answered))
		w.count(len(r.Cuts))
		for i := range r.Cuts {
			w.cutReport(&r.Cuts[i])
		}
		w.count(len(r.Overspent))
		for _, o := range r.Overspent {
			w.bucketID(o.Bucket)
			w.uint(o.Cut)
			w.int(o.Window, o.Tokens, int64(o.Span))
		}
	}
	w.count(len(r.Reports))
	for i := range r.Reports {
		w.report(&r.Reports[i], clock)
	}
	return w.b
}

// AppendState appends one piece of a Hello.
func (h *Hello) AppendState(dst []byte, f Frame) []byte {
	w := stateWriter{Frame: f, b: dst}
	w.session(h.Session)
	w.str(h.Cluster)
	w.holderID(h.Holder)
	w.epoch(h.SeenEpoch)
	w.int(h.SeenRevision)
	w.uint(h.PolicyRevision, uint64(h.Piece))
	w.bits(h.Last)
	w.count(len(h.Claims))
	for i := range h.Claims {
		w.claim(&h.Claims[i])
	}
	w.floorClaims(h.Floors)
	return w.b
}
