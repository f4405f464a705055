package regional

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a1009580/leasehold/internal/respond"
	"github.com/a1009580/leasehold/internal/version"
	"github.com/a1009580/leasehold/partition"
)

// statusBody is the body of /v1/status.
type statusBody struct {
	Region      string      `json:"region"`
	Node        string      `json:"node"`
	Version     string      `json:"version"`
	Uptime      json.Number `json:"uptime_seconds"`
	State       string      `json:"state"` // ready, degraded, unready or draining
	Coordinator coordinator `json:"coordinator"`
	// Link is never_connected, connected, suspect, cut_off or healing.
	Link    string       `json:"link"`
	Policy  uint64       `json:"policy_revision"`
	Quotas  []quotaBody  `json:"quotas"`
	Domains []domainBody `json:"domains"`
	Unknown int64        `json:"unknown_domain_total"`
}

type coordinator struct {
	Connected bool        `json:"connected"`
	Address   string      `json:"address,omitempty"`
	Cluster   string      `json:"cluster,omitempty"`
	Epoch     string      `json:"epoch,omitempty"`
	Session   uint64      `json:"session,omitempty"`
	Since     json.Number `json:"connected_seconds,omitempty"`
	Heard     json.Number `json:"heard_seconds_ago,omitempty"`
	RoundTrip json.Number `json:"round_trip_seconds,omitempty"`
	LastError string      `json:"last_error,omitempty"`
}

type quotaBody struct {
	Quota      string `json:"quota"`
	Limit      string `json:"limit"`
	Mode       string `json:"mode,omitempty"`
	Allowed    int64  `json:"allowed_total"`
	Exhausted  int64  `json:"exhausted_total"`
	NoLease    int64  `json:"no_lease_total"`
	CutOff     int64  `json:"cut_off_total"`
	Impossible int64  `json:"impossible_total"`
	Overflow   int64  `json:"overflow_total"`
	Advised    int64  `json:"advised_total"`
	Refunded   int64  `json:"refunded_tokens_total"`
	Buckets    int64  `json:"live_buckets"`
	Credited   int64  `json:"credited_tokens_total"`
	Returned   int64  `json:"returned_tokens_total"`
	Unspent    int64  `json:"unspent_tokens"`
	FloorOwned bool   `json:"floor_owned"`
	FloorSpent int64  `json:"floor_spent_tokens_total"`
	Overspent  int64  `json:"overspent_tokens_total"` // unreserved, while cut off
}

type domainBody struct {
	Domain    string `json:"domain"`
	NoQuota   int64  `json:"no_quota_total"`
	Unmatched int64  `json:"unmatched_total"`
}

// handleStatus tells all that is known here, and no key.
func (s *Server) handleStatus(w http.ResponseWriter, _ *http.Request) {
	st := s.limiter.Status()
	state, _ := s.state()
	b := statusBody{
		Region: st.Region, Node: st.Node, Version: version.String(), Uptime: respond.Seconds(time.Since(s.began).Round(time.Millisecond)),
		State: state, Link: st.Link.State, Policy: st.PolicyRevision, Unknown: st.UnknownDomain, Quotas: []quotaBody{}, Domains: []domainBody{},
		Coordinator: coordinator{Connected: st.Connected, Address: st.Coordinator, Cluster: st.Cluster, LastError: st.LastError},
	}
	if st.Connected {
		c := &b.Coordinator
		c.Epoch, c.Session = st.Epoch, st.Session
		c.Since, c.Heard, c.RoundTrip = respond.Seconds(st.Since), respond.Seconds(st.Heard), respond.Seconds(st.RoundTrip)
	}
	for i := range st.Quotas {
		q := &st.Quotas[i]
		b.Quotas = append(b.Quotas, quotaBody{
			Quota: q.Quota, Limit: q.Limit, Mode: q.Mode, Allowed: q.Allowed, Exhausted: q.Exhausted, NoLease: q.NoLease,
			CutOff: q.CutOff, Impossible: q.Impossible, Overflow: q.Overflow, Advised: q.Advised, Refunded: q.Refunded, Buckets: q.Buckets, Credited: q.Credited,
			Returned: q.Returned, Unspent: q.Unspent, FloorOwned: q.FloorOwned,
			FloorSpent: q.FloorSpent, Overspent: q.Overspent,
		})
	}
	for _, d := range st.Domains {
		b.Domains = append(b.Domains, domainBody{Domain: d.Domain, NoQuota: d.NoQuota, Unmatched: d.Unmatched})
	}
	writeJSON(w, b)
}

// handleHealth says that the process lives.
func (*Server) handleHealth(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "ok")
}

// state is ready, degraded, unready or draining, and whether requests should be
// sent here. A region that is cut off stays ready, so that its load balancer
// keeps it: it serves from what it has.
func (s *Server) state() (state string, serve bool) {
	switch {
	case s.draining.Load():
		return "draining", false
	case s.limiter.Policy() == nil:
		return "unready", false
	case s.cutOff():
		return "degraded", true
	default:
		return "ready", true
	}
}

// handleHealthcheck says whether requests should be sent here as
// envoyproxy/ratelimit does: with 200 and "OK", or with 500.
func (s *Server) handleHealthcheck(w http.ResponseWriter, _ *http.Request) {
	if _, serve := s.state(); !serve {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, "OK")
}

// cutOff says that there is no session, or one in which nothing is answered.
func (s *Server) cutOff() bool {
	return !s.limiter.Connected() || s.limiter.Link().State == partition.CutOff.String()
}

// handleReady says whether requests should be sent here; with ?verbose, why.
func (s *Server) handleReady(w http.ResponseWriter, r *http.Request) {
	state, serve := s.state()
	if !serve {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintln(w, state)
	if !r.URL.Query().Has("verbose") {
		return
	}
	st := s.limiter.Status()
	line := func(ok bool, what, why string) {
		mark := "[+]"
		if !ok {
			mark = "[-]"
		}
		fmt.Fprintln(w, strings.TrimSpace(mark+what+" "+why))
	}
	line(st.Ready, "policy", fmt.Sprintf("revision %d", st.PolicyRevision))
	line(st.Connected, "coordinator", strings.TrimSpace(st.Coordinator+" "+st.LastError))
	line(!s.draining.Load(), "serving", "")
	tellLink(&st, line)
}
