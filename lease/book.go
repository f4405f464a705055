package lease

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// book is the state of one bucket in a ledger. Every token of the bucket is in
// exactly one place: the pool (A in the laws), a debit on its way to the store
// (pending, still a part of A there), the chunk (C), an open account, or with
// what an older leader left (both O).
type book struct {
	key   string
	quota *quota

	// Token bucket: the pool, and how far it was refilled.
	pool int64
	rem  uint64
	mark bucket.Mark
	// Window quota: used is all that left the pool in window and was not
	// returned; the pool is what remains of the limit.
	window int64
	used   int64

	pending int64 // being set aside by the transaction in flight
	chunk   int64

	accounts []account // open ones
	inherits int64     // unclaimed chunks of older leaders
	bounds   []bound   // of holders that have not claimed yet
	closed   []account // the last few, for late reports

	handbacks []handback // of idle floors
	refunded  int64      // put back into the pool, since the book was opened

	worst worst        // of a token bucket, for the measure of overshoot
	past  *pastWindows // of a window quota with an inexact mode

	revision int64 // of the stored record, 0 if there is none
	state    bookState
	stale    bool // tokens came back since the record was written
	inFlight bool // a transaction is
	dying    bool // and it deletes the record
	queued   bool // in the ledger's queue
	hungry   bool // in the ledger's list of unmet wishes
	stash    []stashed
	turn     uint64 // how often it was looked at
	place    int    // index in the ledger's list of all books
}

type bookState uint8

const (
	bookAbsent  bookState = iota // needs its record
	bookLoading                  // being read
	bookOpen
)

// stashed is what arrived for a book before its record did.
type stashed struct {
	session uint64
	holder  int32  // of a claim
	account uint64 // of a claim
	claim   *Claim
	report  *Report
	sent    time.Duration
	clock   time.Duration // of the report's batch
}

// account is one holder's right to spend (law 3). The ledger writes granted;
// spent, returned and refunded are the holder's, merged by max.
type account struct {
	holder   int32 // index of the holder in the ledger
	session  uint64
	n        uint64
	granted  int64
	spent    int64
	returned int64
	refunded int64 // of spent
	// deadline is when the holder has surely stopped spending; a window
	// lease has none.
	deadline time.Duration
	// reportAt is when the last report was processed and echo is what it
	// carried; a grant must answer a report.
	reportAt time.Duration
	echo     time.Duration
	reported bool
	// toldAt is when the account was last told to its holder, untold that it
	// never was. A mark is the oldest grant not yet acknowledged: (markGranted,
	// markEcho) since markAt.
	toldAt      time.Duration
	toldEcho    time.Duration
	untold      bool
	behind      bool // the last report did not show what was told
	warned      bool // the holder knows that what it needs is not there
	marked      bool
	markGranted int64
	markEcho    time.Duration
	markAt      time.Duration
	recalledAt  time.Duration
	surplus     int64 // that the recall asked for and that has not come back
	// clock is ours when the last report was sent, at the earliest; 0: unknown.
	clock time.Duration
	ask   Ask
}

// outstanding is an upper bound of what the holder has unspent.
func (a *account) outstanding() int64 { return a.granted - a.spent - a.returned }

// deaf says that a grant stayed unacknowledged for half a lease.
func (a *account) deaf(now, ttl time.Duration) bool {
	return a.marked && now-a.markAt > ttl/2
}

// acknowledge clears the mark when the holder has seen it.
func (a *account) acknowledge(granted int64, echo time.Duration) {
	if a.marked && granted >= a.markGranted && echo >= a.markEcho {
		a.marked = false
	}
}

// told notes that the account's grant is sent to the holder.
func (a *account) told(now time.Duration) {
	a.toldAt, a.toldEcho, a.untold, a.behind = now, a.echo, false, false
	if !a.marked {
		a.marked, a.markGranted, a.markEcho, a.markAt = true, a.granted, a.echo, now
	}
}

// outstanding is O: all tokens that may be unspent in holders' hands.
func (b *book) outstanding() int64 {
	o := b.inherits
	for i := range b.bounds {
		o += b.bounds[i].Tokens
	}
	for i := range b.accounts {
		o += b.accounts[i].outstanding()
	}
	return o
}

// free returns the pool: what may still be set aside.
func (b *book) free() int64 {
	if b.quota.terms.Windowed {
		return max(0, b.quota.terms.Tokens-b.used)
	}
	return b.pool
}

// held is everything of A + C + O.
func (b *book) held() int64 { return b.free() + b.pending + b.chunk + b.outstanding() }

// account returns the open account of a holder.
func (b *book) account(holder int32) *account {
	for i := range b.accounts {
		if b.accounts[i].holder == holder {
			return &b.accounts[i]
		}
	}
	return nil
}

// stock says where the tokens of a book are.
func (b *book) stock() Stock {
	if b.state != bookOpen {
		return Stock{}
	}
	return Stock{Pool: b.free(), Chunk: b.chunk + b.pending, Outstanding: b.outstanding()}
}
