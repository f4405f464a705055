package chaos

import "time"

// event is something that happens at a moment of true time. Events of the same
// moment happen in the order in which they were made.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

// heap is a binary heap of events.
type heap struct {
	list []event
	seq  uint64
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

func (h *heap) push(at time.Duration, do func()) {
	h.seq++
	h.list = append(h.list, event{at: at, seq: h.seq, do: do})
	for i := len(h.list) - 1; i > 0; {
		p := (i - 1) / 2
		if !h.list[i].before(&h.list[p]) {
			break
		}
		h.list[i], h.list[p] = h.list[p], h.list[i]
		i = p
	}
}

func (h *heap) pop() event {
	n := len(h.list) - 1
	top := h.list[0]
	h.list[0] = h.list[n]
	h.list[n] = event{}
	h.list = h.list[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h.list[c+1].before(&h.list[c]) {
			c++
		}
		if !h.list[c].before(&h.list[i]) {
			break
		}
		h.list[i], h.list[c] = h.list[c], h.list[i]
		i = c
	}
	return top
}
