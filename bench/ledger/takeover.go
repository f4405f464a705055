package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// page is how many records are read at once, as a coordinator does.
const page = 8000

// TakeOver is what a new leader does on the store that a Desk of the same
// options left, whose leader's key it takes over. It returns how long it took
// until the first grant was made, and until every record was in memory.
func TakeOver(o Options, now time.Duration) (first, all time.Duration, err error) {
	ctx, began := context.Background(), time.Now()
	d := &Desk{Now: now, store: o.Store, spend: 1, keys: []string{"key-000000000000"}}
	d.ask = lease.Ask{Demand: 1000, Want: 1}
	meta, revision, err := o.Store.Scan(ctx, lease.MetaPrefix, "", page)
	if err != nil {
		return 0, 0, err
	}
	if d.Ledger, err = open(o, d.moment(), revision, meta); err != nil {
		return 0, 0, err
	}
	d.Ledger.Extend(1 << 60)
	if err := d.Settle(); err != nil {
		return 0, 0, err
	}
	if err := d.join(0); err != nil {
		return 0, 0, err
	}
	for d.Grants == 0 {
		if err := d.Report(); err != nil {
			return 0, 0, err
		}
		if err := d.Settle(); err != nil {
			return 0, 0, err
		}
		if d.Now > now+time.Minute {
			return 0, 0, errors.New("ledger: no grant within a minute of a takeover")
		}
	}
	first = time.Since(began)
	for after := ""; ; {
		entries, _, err := o.Store.Scan(ctx, lease.BucketPrefix, after, page)
		if err != nil {
			return 0, 0, err
		}
		d.Ledger.Scanned(d.moment(), entries, len(entries) < page)
		if err := d.Settle(); err != nil {
			return 0, 0, err
		}
		if len(entries) < page {
			return first, time.Since(began), nil
		}
		after = entries[len(entries)-1].Key
	}
}
