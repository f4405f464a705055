package lease

import "time"

func (w *stateWriter) report(r *Report, clock time.Duration) {
	w.bucketID(r.Bucket)
	w.uint(r.Account)
	w.int(r.Spent, r.Returned, r.Refunded, r.GrantSeen)
	w.at(clock, r.EchoSeen)
	w.ask(r.Ask)
	w.bits(r.Close)
	w.uint(r.FloorGrant)
	w.int(r.FloorReturned)
	if !w.Plain {
		w.int(r.FloorSpent, int64(r.Span)) // for the measure of overshoot alone
	}
	w.window(r.FloorWindow)
}

func (w *stateWriter) claim(c *Claim) {
	w.bucketID(c.Bucket)
	w.session(c.Session)
	w.uint(c.Account)
	w.int(c.Spent, c.Returned, c.Refunded, c.Unspent)
	w.window(c.Window)
}

func (w *stateWriter) grant(g *Grant, clock time.Duration) {
	w.bucketID(g.Bucket)
	w.uint(g.Account)
	w.int(g.Granted, int64(g.TTL))
	w.at(clock, g.Echo)
	w.window(g.Window)
	w.bits(g.Closed)
	w.int(g.Pool)
	if w.Plain {
		w.bits(g.Wait > 0) // all that a holder's state depends on
		return
	}
	w.int(int64(g.Wait))
}

func (w *stateWriter) floorGrant(g *FloorGrant, clock time.Duration) {
	w.str(g.Quota)
	w.uint(g.Grant)
	w.int(int64(g.Slot), g.Tokens, g.Burst, int64(g.TTL))
	w.at(clock, g.Echo)
	w.window(g.First)
	if g.Wall != 0 {
		w.int(g.Wall - w.Now.Wall.UnixNano())
	}
}

func (w *stateWriter) floorClaims(claims []FloorClaim) {
	w.count(len(claims))
	for _, c := range claims {
		w.str(c.Quota)
		w.int(int64(c.Slot))
		w.uint(c.Grant)
	}
}

// batch writes what a ledger will send or has sent to a holder. The echo of a
// batch measures a round trip and does nothing else.
func (w *stateWriter) batch(b *GrantBatch, clock time.Duration) {
	w.session(b.Session)
	w.int(b.StoreRevision)
	w.uint(b.PolicyRevision)
	w.at(clock, b.Made)
	if !w.Plain {
		w.at(clock, b.Echo)
		w.int(b.Wall)
	}
	w.count(len(b.Grants))
	for i := range b.Grants {
		w.grant(&b.Grants[i], clock)
	}
	w.count(len(b.Recalls))
	for _, r := range b.Recalls {
		w.bucketID(r.Bucket)
		w.uint(r.Account, r.FloorGrant)
		w.int(r.Keep, r.FloorSeen)
		w.window(r.FloorWindow)
	}
	w.count(len(b.Floors))
	for i := range b.Floors {
		w.floorGrant(&b.Floors[i], clock)
	}
}
