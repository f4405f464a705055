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
	Floors    int // owned ones
}

// Snapshot returns the counters of the ledger, and of each quota.
func (l *Ledger) Snapshot() (Stats, []QuotaStats) {
	quotas := make([]QuotaStats, len(l.quotas))
	place := make(map[*quota]int, len(l.quotas))
	for i, q := range l.quotas {
		quotas[i] = QuotaStats{
			Quota: q.terms.Quota, Books: q.books, Stock: q.stock, Imbalance: q.books.Imbalance(q.stock),
		}
		for j := range q.slots {
			if q.slots[j].owned {
				quotas[i].Floors++
			}
		}
		place[q] = i
	}
	for _, b := range l.order {
		quotas[place[b.quota]].Buckets++
	}
	return l.stats, quotas
}
