package explore

import "time"

// epsilon is how far before a deadline Before stops.
const epsilon = time.Millisecond

// nextDeadline is the first moment to come at which time alone changes what may
// be spent, for a holder or for a leader.
func (w *World) nextDeadline() (next time.Duration, ok bool) {
	consider := func(d time.Duration, ppm int64) {
		if t := unscaled(d-origin, ppm); t > w.now && (!ok || t < next) {
			next, ok = t, true
		}
	}
	for i, p := range w.holders {
		cell, found := p.h.Lookup(w.scene.Terms.Quota, []byte("k"))
		if !found {
			continue
		}
		v, clock := cell.View(), w.holderClock(int8(i))
		if v.Leased && v.Deadline > clock {
			consider(v.Deadline, w.scene.HolderClocks[i])
		}
		if v.FloorGrant > 0 && v.FloorDeadline > clock {
			consider(v.FloorDeadline, w.scene.HolderClocks[i])
		}
	}
	for i, l := range w.leaders {
		if !l.alive {
			continue
		}
		m := w.moment(int8(i))
		if at, found := l.ledger.NextExpiry(m.Mono); found {
			consider(at, w.leaderDrift(int8(i)))
		}
		if t := &w.scene.Terms; t.Windowed {
			end := time.UnixMilli(t.Windows.Next(t.Windows.Index(m.Wall)))
			consider(m.Mono+end.Sub(m.Wall), w.leaderDrift(int8(i)))
		}
	}
	return next, ok
}

// pass has time go on. Whoever leads proves it meanwhile.
func (w *World) pass(k Kind) {
	to := w.now + w.scene.Quantum
	if next, ok := w.nextDeadline(); ok && k != Quantum {
		to = next
		if k == Before {
			to -= epsilon
		}
	}
	w.meter.pass(to - w.now)
	w.now = to
	if c := w.current(); w.leaders[c].alive {
		w.extend(c)
	}
}
