package bucket

import "time"

// WindowCounter counts what is used of a window quota, in one window at a time: it admits at most the limit in each
// window, and nothing carries over. The zero counter is unused; it stands at the window of 1970-01-01, so
// earlier times count in that one. A WindowCounter is a comparable value and not safe for concurrent use.
type WindowCounter struct {
	Index int64 // of the newest window seen, as by Windows.Index
	Used  int64 // tokens used in it
}

// Take spends n tokens of the window that contains wall if limit leaves room for all of them, and else none. It
// never goes back to an older window: an earlier wall counts in the newest one seen. The answers and a cost
// of 0 are those of [TokenBucket.Take]; a denial's RetryAfter and Reset both end with the window, counted
// from wall. A limit below what is used leaves 0.
func (c *WindowCounter) Take(w Windows, wall time.Time, limit, n int64) Result {
	if index := w.Index(wall); index > c.Index {
		*c = WindowCounter{Index: index}
	}
	_, end := w.Bounds(c.Index)
	limit = max(limit, 0)
	left := max(limit-max(c.Used, 0), 0)
	ok := n >= 0 && need(n) <= left
	if ok {
		c.Used = max(c.Used, 0) + n
		left -= n
	}
	r := answer(ok, n, limit, left)
	if left < limit {
		r.Reset = max(end.Sub(wall), 0)
	}
	if r.waits() {
		r.RetryAfter = r.Reset
	}
	return r
}
