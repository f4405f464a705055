package regional

import (
	"fmt"
	"net/http"

	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/partition"
)

// handleLinks tells how the way to the coordinators is, and what there is to live on.
func (s *Server) handleLinks(w http.ResponseWriter, _ *http.Request) {
	st := s.limiter.Status()
	link := overshoot.Link{
		Region: st.Region, Node: st.Node, State: st.Link.State, Reason: st.Link.Reason, Since: overshoot.Seconds(st.Link.Since),
		Transitions: st.Link.Transitions, Held: held(&st),
		Cut: overshoot.Cut{Number: st.Link.Cut, Open: st.Link.CutOpen, Length: overshoot.Seconds(st.Link.CutFor), Total: st.Link.Cut},
	}
	if st.Link.Ever {
		proof := overshoot.Seconds(st.Link.Proof)
		link.LastProof = &proof
	}
	if st.Connected {
		link.Session = st.Session
	}
	writeJSON(w, overshoot.Links{
		Source: overshoot.Region, Region: st.Region, Node: st.Node, Leads: st.Connected, Since: utc(s.began), At: s.clock.Wall().UTC(),
		Links: []overshoot.Link{link},
	})
}

// held is what can be spent without a coordinator.
func held(st *limiter.Status) *overshoot.Held {
	h := &overshoot.Held{Unreserved: st.Link.Unreserved, Quotas: []overshoot.HeldQuota{}}
	for i := range st.Quotas {
		q := &st.Quotas[i]
		if q.Unbounded {
			continue
		}
		h.Lease += q.Unspent
		h.LeaseEnds = max(h.LeaseEnds, overshoot.Seconds(q.LeaseEnds))
		h.Quotas = append(h.Quotas, overshoot.HeldQuota{
			Quota: q.Quota, Mode: q.Mode, Lease: q.Unspent, LeaseEnds: overshoot.Seconds(q.LeaseEnds), FloorOwned: q.FloorOwned,
			FloorSpent: q.FloorSpent, Overspent: q.Overspent,
		})
	}
	return h
}

// tellLink adds to what /readyz?verbose says.
func tellLink(st *limiter.Status, line func(ok bool, what, why string)) {
	line(st.Link.State == partition.Connected.String(), "link", fmt.Sprintf("%s for %.1fs: %s", st.Link.State, st.Link.Since.Seconds(), st.Link.Reason))
	h := held(st)
	cut := st.Link.State == partition.CutOff.String()
	if h.Lease > 0 {
		line(true, "lease", fmt.Sprintf("%d tokens unspent, the last for %.1fs", h.Lease, h.LeaseEnds.Duration().Seconds()))
	} else {
		line(!cut, "lease", "nothing unspent") // nobody asks, if it is connected
	}
	for i := range h.Quotas {
		q := &h.Quotas[i]
		if q.FloorOwned || q.FloorSpent > 0 {
			line(q.FloorOwned, "floor "+q.Quota, fmt.Sprintf("%d tokens spent from it", q.FloorSpent))
		}
		if q.Overspent > 0 {
			line(!cut, "unreserved "+q.Quota, fmt.Sprintf("%d tokens spent beyond lease and floor while cut off", q.Overspent))
		}
	}
}
