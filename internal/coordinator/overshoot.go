package coordinator

import (
	"errors"
	"net/http"

	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/internal/respond"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

// serveOvershoot answers /v1/overshoot.
func (s *Server) serveOvershoot(w http.ResponseWriter, r *http.Request) {
	query, err := overshoot.ParseQuery(r.URL.Query())
	var body overshoot.Report
	if err == nil {
		body, err = s.overshoot(&query)
	}
	switch {
	case errors.Is(err, overshoot.ErrQuery):
		respond.Problem(w, http.StatusBadRequest, err.Error())
	case err != nil:
		respond.Problem(w, http.StatusInternalServerError, err.Error())
	default:
		s.write(w, body)
	}
}

// overshoot tells by how much each limit can have been exceeded since this leader was elected, by how much it was
// as far as holders reported it, and what is asked about cuts that are supposed.
func (s *Server) overshoot(query *overshoot.Query) (overshoot.Report, error) {
	now := s.clock.Mono()
	out := overshoot.Report{Source: overshoot.Coordinator, At: s.clock.Wall().UTC(), DriftPPM: int64(s.opts.Drift), Quotas: []overshoot.Quota{}}
	set, there := s.rules.Load().set, map[string]int(nil)
	stats := map[string]*lease.QuotaStats{}
	t, v, leads := s.current()
	if leads {
		out.Leads, out.Since, out.PolicyRevision = true, utc(t.since), v.policy.Revision
		set, there = v.links.Policy(), v.links.There()
		for i := range v.quotas {
			stats[v.quotas[i].Quota] = &v.quotas[i]
		}
	}
	places := partition.Known(set, there)
	if err := query.Check(set, places); err != nil {
		return out, err
	}
	for _, d := range set.Domains {
		for _, q := range d.Quotas {
			if !query.Wants(q.ID) {
				continue
			}
			bound := partition.Bound(q, s.opts.Drift, nil)
			one := overshoot.NewQuota(q, &bound, nil)
			if st := stats[q.ID]; st != nil {
				bound = v.links.Bound(q.ID, now, st.Observed.High)
				one = overshoot.NewQuota(q, &bound, &st.Observed)
				one.FloorSpent, one.Overspent = st.FloorSpent, st.Overspent
			}
			query.Suppose(&one, q, s.opts.Drift, places)
			out.Quotas = append(out.Quotas, one)
		}
	}
	return out, nil
}
