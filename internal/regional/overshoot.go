package regional

import (
	"errors"
	"net/http"
	"time"

	"github.com/a1009580/leasehold/internal/envoy"
	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/internal/respond"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

// handleOvershoot tells by how much this process can have exceeded each limit by its own cuts, how much it spent
// unreserved, and what is asked about cuts that are supposed; the coordinator tells of the whole.
func (s *Server) handleOvershoot(w http.ResponseWriter, r *http.Request) {
	query, err := overshoot.ParseQuery(r.URL.Query())
	var body overshoot.Report
	if err == nil {
		body, err = s.overshoot(&query)
	}
	switch {
	case errors.Is(err, overshoot.ErrQuery):
		respond.Problem(w, http.StatusBadRequest, err.Error())
	case err != nil:
		w.Header().Set("Retry-After", "1")
		respond.Problem(w, http.StatusServiceUnavailable, err.Error())
	default:
		writeJSON(w, body)
	}
}

// overshoot fails with limiter.ErrNotReady while no policy is known.
func (s *Server) overshoot(query *overshoot.Query) (overshoot.Report, error) {
	st, cuts := s.limiter.Status(), s.limiter.Cuts()
	set, ρ := cuts.History.Policy(), cuts.History.Drift()
	if set == nil || !st.Ready {
		return overshoot.Report{}, limiter.ErrNotReady
	}
	places := partition.Known(set, map[string]int{st.Region: 1})
	if err := query.Check(set, places); err != nil {
		return overshoot.Report{}, err
	}
	out := overshoot.Report{
		Source: overshoot.Region, Region: st.Region, Node: st.Node, Leads: st.Connected, Since: utc(cuts.Since),
		At: s.clock.Wall().UTC(), PolicyRevision: st.PolicyRevision, DriftPPM: int64(ρ), Quotas: []overshoot.Quota{},
	}
	held := map[string]*limiter.QuotaStatus{}
	for i := range st.Quotas {
		held[st.Quotas[i].Quota] = &st.Quotas[i]
	}
	var proxies map[string]int64
	if s.quotas != nil {
		proxies = s.quotas.Held()
	}
	for _, d := range set.Domains {
		for _, q := range d.Quotas {
			if !query.Wants(q.ID) {
				continue
			}
			bound, observed := cuts.Bound(q.ID), lease.Observed{}
			h := held[q.ID]
			if h != nil && h.WorstOver > 0 {
				observed.High, observed.HighAt = h.WorstOver, out.At.Add(-h.WorstSince)
			}
			one := overshoot.NewQuota(q, &bound, &observed)
			if h != nil {
				one.FloorSpent, one.Overspent = h.FloorSpent, h.Overspent
			}
			s.addProxies(&one, q, ρ, proxies)
			query.Suppose(&one, q, ρ, places)
			out.Quotas = append(out.Quotas, one)
		}
	}
	return out, nil
}

// addProxies tells what Envoy's quota protocol adds: what is assigned to proxies is
// spent here, so that its bound is what the quota promises for as long as an
// assignment may be used.
func (s *Server) addProxies(o *overshoot.Quota, q *policy.Quota, ρ lease.Drift, held map[string]int64) {
	if s.quotas == nil || q.Limit.Unbounded {
		return
	}
	n, bound := held[q.ID], q.Limit.Promise(ρ, envoy.Longest(q.Lease.TTL))
	if q.Limit.Algorithm != policy.TokenBucket {
		bound *= 2 // what is on its way may be of the window before
	}
	o.Proxies, o.ProxiesBound = &n, &bound
}

func utc(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}
