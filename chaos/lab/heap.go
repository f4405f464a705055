package lab

import "time"

// event is something that happens at a moment. Events of one moment happen in
// the order in which they were made.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// agenda is a binary heap of events.
type agenda struct {
	list []event
	seq  uint64
}

// next says when the next event is, if there is one.
func (a *agenda) next() (time.Duration, bool) {
	if len(a.list) == 0 {
		return 0, false
	}
	return a.list[0].at, true
}

func (a *agenda) push(at time.Duration, do func()) {
	a.seq++
	a.list = append(a.list, event{at: at, seq: a.seq, do: do})
	for i := len(a.list) - 1; i > 0; {
		p := (i - 1) / 2
		if !a.list[i].before(&a.list[p]) {
			break
		}
		a.list[i], a.list[p] = a.list[p], a.list[i]
		i = p
	}
}

func (a *agenda) pop() event {
	n := len(a.list) - 1
	top := a.list[0]
	a.list[0] = a.list[n]
	a.list[n] = event{}
	a.list = a.list[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return top
		}
		if c+1 < n && a.list[c+1].before(&a.list[c]) {
			c++
		}
		if !a.list[c].before(&a.list[i]) {
			return top
		}
		a.list[i], a.list[c] = a.list[c], a.list[i]
		i = c
	}
}
