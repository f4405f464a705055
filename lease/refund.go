package lease

// A refund takes an admission back: the request failed, or cost less than was
// charged. What was spent may have been told already, and its place in the bucket
// filled again, so a holder cannot spend refunded tokens by itself: they go back
// to the coordinator, which alone knows the room there is (law 1). Refunded is a
// counter of its own beside spent and returned (law 3): it only grows, is merged by
// max, and is never above what was spent in the same account (law 8). It changes
// nothing of the account's outstanding tokens. What there is no room for, and what
// comes when the account is closed, is lost, which only under-admits.

// Refund takes back at most so many of the tokens that were admitted from the
// cell's open lease, and returns how many. Those that were admitted from a floor
// come back by themselves. It may be called concurrently.
func (c *Cell) Refund(tokens int64) int64 {
	l := c.lease.Load()
	if l == nil {
		return 0
	}
	n := l.refund(tokens)
	if n > 0 {
		c.touch()
	}
	return n
}

// refund raises the counter by at most n, up to what was spent.
func (l *lease) refund(n int64) int64 {
	for {
		v := l.refunded.Load()
		t := min(n, l.spent.Load()-v)
		if mutated("a refund beyond what was admitted") {
			t = n
		}
		if t <= 0 {
			return 0
		}
		if l.refunded.CompareAndSwap(v, v+t) {
			return t
		}
	}
}

// refundedNow is what was refunded in the session. Read before spentNow it is not
// above that.
func (l *lease) refundedNow() int64 { return max(0, l.refunded.Load()-l.base) }

// closeRefunds ends what may be refunded of the sessions before: their accounts
// are closed. Its caller has set base.
func (l *lease) closeRefunds() {
	for {
		v := l.refunded.Load()
		if v >= l.base || l.refunded.CompareAndSwap(v, l.base) {
			return
		}
	}
}

// refund puts refunded tokens back into the pool as far as there is room for
// them; the rest is destroyed.
func (l *Ledger) refund(now Moment, b *book, tokens int64) {
	books := &b.quota.books
	books.Refunded += tokens
	room := tokens
	if !b.quota.terms.Windowed {
		room = min(tokens, max(0, b.quota.capacity-b.held()))
	}
	books.Destroyed += tokens - room
	b.refunded += room
	l.observeRefund(now, b, room)
	l.credit(b, room)
}
