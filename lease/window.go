package lease

// openWindow has the next window of a quota written as soon as it has begun by
// our clock. A clock that goes back opens nothing: windows never go back, and
// no window is used before the store knows of it (law 5).
func (l *Ledger) openWindow(now Moment, q *quota) {
	if !q.terms.Windowed || q.rolling || q.removed {
		return
	}
	next := q.window
	index := q.terms.Windows.Index(now.Wall)
	if q.windowRev == 0 || index > next.High || mutated("a window goes back") {
		next.High = index
	}
	if next.History != l.cluster.History {
		next.History = l.cluster.History
		if l.cluster.Distrust {
			next.Spoiled = next.High
		}
	}
	if q.windowRev == 0 && !l.cluster.Distrust {
		next.Spoiled = index - 1
	}
	if next.High != q.window.High || next.Ends == 0 {
		next.Ends = q.terms.Windows.Next(next.High)
	}
	if q.windowRev != 0 && next == q.window {
		return
	}
	q.rolling = true
	l.send(flight{kind: flightWindow, quota: q, window: next},
		[]Write{{Key: windowPrefix + q.terms.Quota, Value: next.encode(), Expect: q.windowRev}})
}

// wakeQuota looks again at the books of a quota that has a new window.
func (l *Ledger) wakeQuota(q *quota) {
	for _, b := range l.order {
		if b.quota == q {
			l.enqueue(b)
		}
	}
}
