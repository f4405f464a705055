package chaos

import (
	"fmt"

	"github.com/a1009580/leasehold/lease"
)

// drawRefunds has some clients take back what they were admitted for, now and
// then more than that.
func (c *Config) drawRefunds(r *rng) {
	if r.n(4) > 0 {
		return
	}
	for i := range c.Clients {
		if r.n(3) > 0 {
			c.Clients[i].Refund = pick(r, 20, 200, 1000)
		}
	}
}

// refund takes back so many tokens of one bucket, and has the judges look at
// what the shipping code took.
func (r *region) refund(cell Cell, tokens int64) {
	b := r.w.index(cell)
	id := r.w.bucketID(b)
	c, ok := r.holder.Lookup(id.Quota, []byte(id.Key))
	if !ok {
		return
	}
	v := c.View()
	n := c.Refund(tokens)
	if n == 0 {
		return
	}
	r.w.count(Refunded)
	r.w.detail("%s takes back %d of %s, %s", r.name, n, id.Quota, id.Key)
	r.w.check(r.w.register.takenBack(r, id, &v, n))
}

// takenBack judges tokens that a holder lets be refunded: no more than it
// admitted from the same account.
func (g *register) takenBack(r *region, id lease.BucketID, v *lease.CellView, tokens int64) error {
	a := g.accounts[accountKey{r.index, r.gen, v.Session, v.Account}]
	if a == nil || a.bucket != id {
		return fmt.Errorf("law 8: %d tokens refunded in account %d of session %v, which no leader granted", tokens, v.Account, v.Session)
	}
	if a.refunded += tokens; a.refunded > a.spent && !g.w.lost {
		return fmt.Errorf("law 8: %d tokens refunded in account %d, which admitted %d", a.refunded, v.Account, a.spent)
	}
	return nil
}

// noteRefunds tells the meters what a ledger put back into its pools since it
// was last looked at: these tokens may be admitted once more.
func (c *coordinator) noteRefunds() {
	w := c.w
	if len(c.back) != len(w.bounds) {
		c.back = make([]int64, len(w.bounds))
	}
	for b := range w.bounds {
		v, _ := c.ledger.View(w.bucketID(b)) // zero while it is not open
		if more := v.Refunded - c.back[b]; more > 0 {
			w.bounds[b].takeBack(w.now, v.Window, more)
		}
		c.back[b] = v.Refunded
	}
}
