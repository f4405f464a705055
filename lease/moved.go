package lease

import "time"

// Moved counts what recalls brought back to the pool, for whoever asked for it
// elsewhere.
type Moved struct {
	// Tokens came back from leases and idle floors because they were recalled.
	Tokens int64
	// Recalls were answered, in so much time altogether from when they were sent:
	// their quotient is how long it takes to move what lies idle.
	Recalls int64
	Time    time.Duration
}

// recalled notes that an account is asked to keep only so much.
func (a *account) recalled(now time.Duration, keep int64) {
	a.recalledAt = now
	a.surplus = max(0, a.outstanding()-keep)
}

// movedBack counts returned tokens as moved, as far as they were asked for.
func (q *quota) movedBack(now time.Duration, a *account, returned int64) {
	n := min(returned, a.surplus)
	if n <= 0 {
		return
	}
	q.moved.Tokens += n
	if a.surplus -= n; a.surplus == 0 {
		q.moved.Recalls++
		q.moved.Time += now - a.recalledAt
	}
}
