package lease

import "time"

// NextExpiry is the first moment after now at which time alone changes what may
// be spent, as far as is in memory: a lease ends, what older leaders left, or a
// floor. An exploration stops just before it and just past it.
func (l *Ledger) NextExpiry(now time.Duration) (at time.Duration, ok bool) {
	consider := func(d time.Duration) {
		if d > now && (!ok || d < at) {
			at, ok = d, true
		}
	}
	consider(l.settles)
	for _, b := range l.order {
		for i := range b.accounts {
			if !b.quota.terms.Windowed {
				consider(b.accounts[i].deadline)
			}
		}
	}
	for _, q := range l.quotas {
		for i := range q.slots {
			if q.slots[i].owned {
				consider(q.slots[i].until)
			}
		}
	}
	return at, ok
}

// Holders is how many holders a ledger remembers, or has room for: so many
// Ticks look at each of them once.
func (l *Ledger) Holders() int { return len(l.holders.list) }
