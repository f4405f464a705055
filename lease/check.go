package lease

import "fmt"

// Check verifies what must hold of a ledger between any two calls, and names
// the law that does not. It visits every bucket: tests call it after every
// event, a coordinator now and then.
func (l *Ledger) Check() error {
	stock := make(map[*quota]Stock, len(l.quotas))
	for _, b := range l.order {
		if b.state != bookOpen {
			continue
		}
		if err := b.check(); err != nil {
			return fmt.Errorf("quota %q: %w", b.quota.terms.Quota, err)
		}
		s, a := stock[b.quota], b.stock()
		s.Pool += a.Pool
		s.Chunk += a.Chunk
		s.Outstanding += a.Outstanding
		stock[b.quota] = s
	}
	for _, q := range l.quotas {
		if s := stock[q]; s != q.stock {
			return fmt.Errorf("law 16: quota %q: the books say %+v, the buckets hold %+v", q.terms.Quota, q.stock, s)
		}
		if i := q.books.Imbalance(q.stock); i != 0 {
			return fmt.Errorf("law 16: quota %q: imbalance of %d tokens: %+v %+v", q.terms.Quota, i, q.books, q.stock)
		}
	}
	return nil
}

// check verifies one book.
func (b *book) check() error {
	if b.pool < 0 || b.chunk < 0 || b.pending < 0 || b.inherits < 0 || b.used < 0 {
		return fmt.Errorf("law 2: negative amount: pool %d, chunk %d, pending %d, inherited %d, used %d",
			b.pool, b.chunk, b.pending, b.inherits, b.used)
	}
	for i := range b.accounts {
		a := &b.accounts[i]
		if a.spent < 0 || a.returned < 0 || a.refunded < 0 || a.outstanding() < 0 {
			return fmt.Errorf("law 3: account %d: granted %d, spent %d, returned %d, refunded %d", a.n, a.granted, a.spent, a.returned, a.refunded)
		}
		for j := range b.accounts[:i] {
			if b.accounts[j].holder == a.holder {
				return fmt.Errorf("law 3: a holder has the accounts %d and %d", b.accounts[j].n, a.n)
			}
		}
	}
	if b.quota.terms.Windowed {
		if least := b.chunk + b.pending + b.outstanding(); b.used < least {
			return fmt.Errorf("law 5: %d used, but %d set aside or outstanding", b.used, least)
		}
		return nil
	}
	if over := b.held() - b.quota.capacity; over > 0 && b.pool+b.chunk > 0 {
		return fmt.Errorf("law 1: pool %d + pending %d + chunk %d + outstanding %d is %d above %d",
			b.pool, b.pending, b.chunk, b.outstanding(), over, b.quota.capacity)
	}
	return nil
}
