package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// longCut is how long a cut is supposed to last where the policy sets no end to it.
const longCut = 10 * time.Minute

// overrun compares what all regions, cut off for as long as counts, may admit beyond the promise with that
// promise itself. A quota that lists no region is taken to have one holder.
func (q *Quota) overrun() string {
	p := &q.Partition
	if q.Limit.Unbounded || p.Mode.Exact() {
		return ""
	}
	if p.Unbounded {
		return fmt.Sprintf("mode %v with an unbounded ceiling: a region that is cut off admits everything, and the limit has no bound. "+
			"Remedy: a ceiling of {tokens, per}", p.Mode)
	}
	cut := longCut
	if p.For > 0 {
		cut = p.For
	}
	cut = min(cut, q.Limit.LongestWindow())
	holders := int64(0)
	for _, r := range q.Regions {
		holders += int64(r.Nodes)
	}
	who := fmt.Sprintf("with all regions cut off (holders %d)", holders)
	if holders == 0 {
		holders, who = 1, "with one holder cut off"
	}
	each, allowed := p.PerCut(lease.DefaultDrift, cut), q.Limit.Promise(lease.DefaultDrift, cut)
	if compareProducts(each, holders, allowed, 1) <= 0 {
		return ""
	}
	beyond := int64(math.MaxInt64)
	if each <= beyond/holders {
		beyond = each * holders
	}
	return fmt.Sprintf("%s for %v, mode %v adds up to %d to the %d that the limit allows in that time. "+
		"Remedies: a lower rate or burst, which count for each holder, or mode local_floor, which adds nothing",
		who, cut, p.Mode, beyond, allowed)
}
