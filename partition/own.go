package partition

import (
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Own notes how the link of this very process is, whose id is given. It is to be called whenever the link was told
// anything, and by its ticks: a cut counts until unreserved tokens were last in use.
func (h *History) Own(now time.Duration, id lease.HolderID, l *Link) {
	number, since, open := l.Cut()
	o := h.open[id]
	switch {
	case number == 0:
	case o.told != nil && o.told.Number == number && !open:
		h.close(o.told, o.told.Length)
		h.going(id, goingOn{})
		h.fold()
	case open:
		t := Took{Holder: id, Number: number, Open: true, At: now}
		if o.told != nil && o.told.Number == number {
			t.Length = o.told.Length
		}
		if l.Unreserved() {
			t.Length = now - since
		}
		h.note(t, h.policy)
	}
}

// Adopt says that this process enforces another policy from now on, with a cut that goes on.
func (h *History) Adopt(now time.Duration, id lease.HolderID, set *policy.Set) {
	h.SetPolicy(now, set)
	h.adopt(id)
}

// SetDrift says by how much clocks may be wrong, as soon as a coordinator told it.
func (h *History) SetDrift(ρ lease.Drift) { h.drift = ρ }

// Drift is the ρ by which bounds are computed.
func (h *History) Drift() lease.Drift { return h.drift }

// Policy returns the policy in force, nil if none is known.
func (h *History) Policy() *policy.Set { return h.set }
