package lease

import (
	"encoding/binary"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// newborn is what a bucket that no record speaks of has: in general all that
// there is room for. But a raise adds room, not tokens (law 12), and that holds
// for buckets that no ledger has heard of, too: their floors may just have been
// spent, or their record deleted when it was full under the lower limit. So a
// quota keeps one such bucket that nobody ever uses, and the others are born
// with what it has.
type newborn struct {
	pool int64
	rem  uint64
	mark bucket.Mark
}

// mature brings the newborn of a quota up to now. A lost past (law 13) leaves
// it empty until the last lease of it has surely ended.
func (l *Ledger) mature(now time.Duration, q *quota) {
	if q.terms.Windowed {
		return
	}
	n := &q.newborn
	if l.cluster.Distrust {
		if now < l.settles {
			*n = newborn{mark: q.meter.Mark(now)}
			return
		}
		if !l.awake {
			for _, o := range l.quotas {
				o.newborn = newborn{mark: o.meter.Mark(l.settles)}
			}
			l.awake = true
		}
	}
	mark := q.meter.Mark(now)
	tokens, rem := q.meter.Since(n.mark, mark, n.rem, max(0, q.capacity-n.pool))
	n.pool, n.rem, n.mark = n.pool+tokens, rem, mark
}

// fit drops what a lower capacity has no room for.
func (n *newborn) fit(capacity int64) {
	if n.pool > capacity {
		n.pool, n.rem = capacity, 0
	}
}

// grown says that every newborn is full, and no floor of an unknown owner is
// in the way of it.
func (l *Ledger) grown(now time.Duration) bool {
	for _, q := range l.quotas {
		if q.terms.Windowed || q.removed {
			continue
		}
		l.mature(now, q)
		if q.newborn.pool < q.capacity {
			return false
		}
		for i := range q.slots {
			if s := &q.slots[i]; s.owned && s.owner.Holder == (HolderID{}) {
				return false
			}
		}
	}
	return true
}

// levels writes down what newborns have at least, for the leaders to come.
func (l *Ledger) levels() string {
	var b []byte
	for _, q := range l.quotas {
		if !q.terms.Windowed {
			b = appendString(b, q.terms.Quota)
			b = binary.AppendUvarint(b, uint64(q.newborn.pool))
		}
	}
	return string(b)
}

// level finds what the newborns of a quota had; one that was not known is new.
func (r *clusterRecord) level(quota string) (level int64, known bool) {
	for d := (decoder{data: []byte(r.Levels)}); len(d.data) > 0 && d.err == nil; {
		name, v := d.string(), d.amount()
		if d.err == nil && name == quota {
			return v, true
		}
	}
	return 0, false
}
