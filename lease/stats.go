package lease

// Stats counts what a ledger did since it opened.
type Stats struct {
	Granted    int64 // tokens
	Refused    int64 // claims and reports of buckets that cannot be served
	Malformed  int64 // reports that say more than was granted
	NotWritten int64 // transactions that the store surely did not write
}

// QuotaStats is one quota in a Snapshot.
type QuotaStats struct {
	Quota     string
	Buckets   int
	Books     Books
	Stock     Stock
	Imbalance int64
	Floors    int   // owned ones
	Granted   int64 // tokens
	// Stranded is how much of Stock.Outstanding belongs to holders that have no
	// session, as of the last whole sweep.
	Stranded int64
	// FloorSpent and Overspent are the tokens that holders reported spent from
	// their floors, and unreserved while they were cut off.
	FloorSpent, Overspent int64
	Observed              Observed
	Moved                 Moved
}

// Snapshot returns the counters of the ledger, and of each quota.
func (l *Ledger) Snapshot() (Stats, []QuotaStats) {
	quotas := make([]QuotaStats, len(l.quotas))
	for i, q := range l.quotas {
		quotas[i] = QuotaStats{
			Quota: q.terms.Quota, Books: q.books, Stock: q.stock, Imbalance: q.books.Imbalance(q.stock),
			Buckets: q.buckets, Granted: q.granted, Stranded: q.stranded,
			FloorSpent: q.floorSpent, Overspent: q.overspent, Observed: q.observed, Moved: q.moved,
		}
		for j := range q.slots {
			if q.slots[j].owned {
				quotas[i].Floors++
			}
		}
	}
	return l.stats, quotas
}

// stranded is what holders without a session have of a bucket.
func (l *Ledger) stranded(b *book) int64 {
	n := b.inherits
	for i := range b.bounds {
		n += b.bounds[i].Tokens
	}
	for i := range b.accounts {
		if l.sessions[b.accounts[i].session] == nil {
			n += b.accounts[i].outstanding()
		}
	}
	return n
}

// publishStranded ends a sweep's count.
func (l *Ledger) publishStranded() {
	for _, q := range l.quotas {
		q.stranded, q.strands = q.strands, 0
	}
}
