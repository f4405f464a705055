package lease

import "time"

// CellView is what a holder has of one bucket, as tests, drills and operators
// look at it from outside.
type CellView struct {
	Leased    bool // the rest up to Deadline is of an account
	Session   Session
	Account   uint64
	Window    int64
	Granted   int64
	Returned  int64
	Spent     int64 // in the session
	Refunded  int64 // of Spent
	Unspent   int64 // Granted - Spent - Returned
	Available int64 // of Unspent: neither held for a request nor on its way back
	Deadline  time.Duration

	Overspent     int64 // unreserved, since the cell was made
	FloorSpent    int64 // since the cell was made
	FloorSlot     int32
	FloorGrant    uint64 // 0: no floor
	FloorDeadline time.Duration
}

// View looks into a cell. It belongs to the holder's owner.
func (c *Cell) View() CellView {
	v := CellView{FloorSpent: c.floorSpent.Load(), Overspent: c.overspent.Load()}
	if l := c.lease.Load(); l != nil {
		v.Refunded = l.refundedNow()
		v.Leased, v.Session, v.Account, v.Window = true, l.session, l.account, l.window
		v.Granted, v.Returned, v.Spent, v.Unspent = l.granted, l.returned, l.spentNow(), l.unspent()
		v.Available, v.Deadline = l.available.Load(), time.Duration(l.deadline.Load())
	}
	if f := c.quota.floor.Load(); f != nil {
		v.FloorSlot, v.FloorGrant, v.FloorDeadline = f.slot, f.grant, time.Duration(f.deadline.Load())
	}
	return v
}

// BookView is what a ledger knows of one bucket, as of the last event that
// touched it.
type BookView struct {
	Pool, Pending, Chunk, Outstanding int64
	Inherited                         int64 // of Outstanding: left by older leaders, not claimed
	Capacity                          int64
	Window, Used                      int64 // of a window quota
	Refunded                          int64 // put back into the pool, since the book was opened
	Accounts                          int
	InFlight                          bool
}

// View looks into the book of a bucket, and returns false when it is not open.
func (l *Ledger) View(id BucketID) (BookView, bool) {
	b := l.books[id]
	if b == nil || b.state != bookOpen {
		return BookView{}, false
	}
	v := BookView{
		Pool: b.free(), Pending: b.pending, Chunk: b.chunk, Outstanding: b.outstanding(),
		Inherited: b.inherits, Capacity: b.quota.capacity, Window: b.window, Used: b.used, Refunded: b.refunded,
		Accounts: len(b.accounts), InFlight: b.inFlight,
	}
	for i := range b.bounds {
		v.Inherited += b.bounds[i].Tokens
	}
	return v, true
}
