package coordinator

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/partition"
)

// noteLinks tells the log and the counters how links changed since it was last called. The loop calls it.
func (t *term) noteLinks() {
	changes, cuts := t.board.Changes()
	named := t.named()
	for i := range changes {
		c := &changes[i]
		t.metrics.transitions.WithLabelValues(label(named, c.Holder.Region), c.To).Inc()
		log := t.log.Info
		if c.To == partition.CutOff.String() {
			log = t.log.Warn
		}
		log("the link to a region changed", "region", c.Holder.Region, "node", c.Holder.Node, "holder", c.Holder.String(),
			"from", c.From, "to", c.To, slog.String("reason", c.Reason))
	}
	for _, c := range cuts {
		t.metrics.cuts.WithLabelValues(label(named, c.Region)).Add(float64(c.Cuts))
	}
}

// named are the regions that the policy in force names: a holder may call itself anything, and must not make
// labels.
func (t *term) named() map[string]bool {
	named := map[string]bool{}
	for _, d := range t.inForce.Load().set.Domains {
		for _, q := range d.Quotas {
			for _, r := range q.Regions {
				named[r.Name] = true
			}
		}
	}
	return named
}

func label(named map[string]bool, region string) string {
	if named[region] {
		return region
	}
	return otherRegion
}

// otherRegion stands for all that the policy does not name.
const otherRegion = "other"

// serveLinks answers /v1/links.
func (s *Server) serveLinks(w http.ResponseWriter, _ *http.Request) { s.write(w, s.links()) }

// links tells of the links of all holders that this leader heard of.
func (s *Server) links() overshoot.Links {
	out := overshoot.Links{Source: overshoot.Coordinator, At: s.clock.Wall().UTC(), Links: []overshoot.Link{}}
	t, v, leads := s.current()
	if !leads {
		return out
	}
	out.Leads, out.Since, out.Forgotten = true, utc(t.since), v.links.Forgotten
	views := v.links.Links(s.clock.Mono())
	for i := range views {
		l := &views[i]
		proof := overshoot.Seconds(l.LastProof)
		out.Links = append(out.Links, overshoot.Link{
			Region: l.Holder.Region, Node: l.Holder.Node, Holder: l.Holder.String(), State: l.State, Reason: l.Reason,
			Since: overshoot.Seconds(l.Since), LastProof: &proof, Session: l.Session, Transitions: l.Transitions,
			Cut: overshoot.Cut{Number: l.Cut.Number, Open: l.Cut.Open, Length: overshoot.Seconds(l.Cut.Length), Total: l.Cuts},
		})
	}
	return out
}

func utc(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}
