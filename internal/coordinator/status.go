package coordinator

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/a1009580/leasehold/internal/version"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

// statusBody is the body of /v1/status.
type statusBody struct {
	Cluster        string        `json:"cluster"`
	Version        string        `json:"version"`
	Role           string        `json:"role"` // leader, standby or draining
	Ready          bool          `json:"ready"`
	Reason         string        `json:"reason"`
	Granting       bool          `json:"granting"`         // this is the leader, and nothing keeps it from granting
	Leader         string        `json:"leader,omitempty"` // its address
	Epoch          string        `json:"epoch,omitempty"`
	PolicyRevision uint64        `json:"policy_revision,omitempty"`
	PolicyHash     string        `json:"policy_fingerprint"`
	PolicyPending  bool          `json:"policy_pending"` // the file's is not in force
	PolicyWhy      string        `json:"policy_pending_reason,omitempty"`
	ReloadError    string        `json:"last_reload_error,omitempty"` // until a content is taken
	ReloadErrorAt  *time.Time    `json:"last_reload_error_at,omitempty"`
	Disk           *Disk         `json:"disk,omitempty"`
	Transactions   int           `json:"transactions_in_flight"`
	Refused        int64         `json:"refused_reports"`
	Overspent      int64         `json:"overspent_reports"` // that say more than was granted
	Sessions       []sessionView `json:"sessions"`
	Quotas         []quotaStatus `json:"quotas"`
}

// quotaStatus is one quota as this leader's books have it since its election.
type quotaStatus struct {
	Quota       string `json:"quota"`
	Buckets     int    `json:"buckets"`
	Pool        int64  `json:"pool_tokens"`
	Chunk       int64  `json:"chunk_tokens"`
	Outstanding int64  `json:"outstanding_tokens"`
	Stranded    int64  `json:"stranded_tokens"`
	Initial     int64  `json:"initial_tokens"`
	Refilled    int64  `json:"refilled_tokens"`
	Refunded    int64  `json:"refunded_tokens"`
	Spent       int64  `json:"spent_tokens"`
	Destroyed   int64  `json:"destroyed_tokens"`
	Granted     int64  `json:"granted_tokens"`
	Imbalance   int64  `json:"imbalance_tokens"`
	FloorsOwned int    `json:"floors_owned"`
}

// Role words.
const (
	roleLeader   = "leader"
	roleStandby  = "standby"
	roleDraining = "draining"
)

// status describes this coordinator.
func (s *Server) status(ctx context.Context) statusBody {
	st := statusBody{Cluster: s.opts.Cluster, Version: version.String(), Sessions: []sessionView{}, Quotas: []quotaStatus{}}
	st.Role, st.Ready, st.Reason = s.readiness(ctx)
	st.Granting = s.granting()
	in := s.rules.Load()
	if t, v, ok := s.current(); ok {
		st.Leader, st.Epoch, st.PolicyRevision = s.opts.Advertise, v.epoch.String(), v.policy.Revision
		st.Transactions, st.Refused, st.Overspent = v.queued, v.stats.Refused, v.stats.Malformed
		st.Sessions = append(st.Sessions, v.sessions...)
		for i := range v.quotas {
			st.Quotas = append(st.Quotas, describe(&v.quotas[i]))
		}
		st.PolicyPending = !bytes.Equal(v.policy.Policy, in.canonical)
		if why := s.overruled.Load(); why != nil && st.PolicyPending {
			st.PolicyWhy = why.why
		}
		in = t.inForce.Load()
	} else if leader, err := s.leader.get(ctx); err == nil {
		st.Leader = leader
	}
	if refused := s.refused.Load(); refused != nil {
		st.ReloadError, st.ReloadErrorAt = refused.why, &refused.at
	}
	fingerprint := in.set.Fingerprint()
	st.PolicyHash = hex.EncodeToString(fingerprint[:8])
	if s.opts.Backing.Disk != nil {
		d := s.opts.Backing.Disk()
		st.Disk = &d
	}
	return st
}

func describe(q *lease.QuotaStats) quotaStatus {
	return quotaStatus{
		Quota: q.Quota, Buckets: q.Buckets, Pool: q.Stock.Pool, Chunk: q.Stock.Chunk, Outstanding: q.Stock.Outstanding,
		Stranded: q.Stranded, Initial: q.Books.Initial, Refilled: q.Books.Refilled, Refunded: q.Books.Refunded, Spent: q.Books.Spent,
		Destroyed: q.Books.Destroyed, Granted: q.Granted, Imbalance: q.Imbalance, FloorsOwned: q.Floors,
	}
}

// staleView is how old the leader's view may be, beside what speed it has.
const staleView = 2 * time.Second

// readiness says what this coordinator is, whether it can do its work, and why
// not. A standby is ready when it sees who leads.
func (s *Server) readiness(ctx context.Context) (role string, ready bool, reason string) {
	if s.draining.Load() {
		return roleDraining, false, "about to end"
	}
	t, v, leads := s.current()
	if !leads {
		leader, err := s.leader.get(ctx)
		switch {
		case err != nil:
			return roleStandby, false, err.Error()
		case leader == "":
			return roleStandby, false, "nobody leads yet" + s.lastTrouble()
		case leader == s.opts.Advertise:
			return roleStandby, false, "the leader has this coordinator's own address: a predecessor that was killed, until its " +
				"election lease ends, or another with the same --advertise" + s.lastTrouble()
		}
		return roleStandby, true, "standing by for " + leader
	}
	if why := s.hindrance(t, v); why != "" {
		return roleLeader, false, why
	}
	if trouble := s.trouble.Load(); trouble != nil {
		return roleLeader, false, *trouble
	}
	return roleLeader, true, fmt.Sprintf("leading in epoch %v with policy revision %d", v.epoch, v.policy.Revision)
}

// hindrance says what keeps a leader from granting, "" if nothing does.
func (s *Server) hindrance(t *term, v *view) string {
	now := s.clock.Mono()
	switch {
	case s.opts.Backing.Disk != nil && s.opts.Backing.Disk().Short:
		return "grants stopped, the store's disk is short of space: " + s.opts.Backing.Disk().String()
	case !v.booted:
		return "elected, but not ready yet" + s.lastTrouble()
	case now >= time.Duration(t.sure.Load()):
		return "grants stopped, the election lease cannot be renewed" + s.lastTrouble()
	case s.clock.Real(now-v.at) > staleView:
		return "the leader makes no progress"
	case v.pausing != "":
		return "nothing is granted yet: " + v.pausing
	}
	return ""
}

// granting says that this coordinator leads and grants.
func (s *Server) granting() bool {
	t, v, leads := s.current()
	return leads && !s.draining.Load() && s.hindrance(t, v) == ""
}

func (s *Server) lastTrouble() string {
	if trouble := s.trouble.Load(); trouble != nil {
		return ": " + *trouble
	}
	return ""
}

// overshootBody is the body of /v1/overshoot.
type overshootBody struct {
	Leads  bool             `json:"leader"`
	Quotas []quotaOvershoot `json:"quotas"`
}

// quotaOvershoot is the overshoot of one quota in tokens. Bound and margin are
// null for a quota that is unbounded by its policy, and in the modes whose bound
// depends on what was cut.
type quotaOvershoot struct {
	Quota    string    `json:"quota"`
	Mode     string    `json:"mode,omitempty"`
	Exact    bool      `json:"exact"`
	Bound    *int64    `json:"bound_tokens"`
	Observed *observed `json:"observed,omitempty"`
	Margin   *int64    `json:"margin_tokens"`
}

// observed is a range: low is what reports prove, high what they leave open. It
// is left out when not this coordinator hears the reports, high also when some
// of what is spent is never reported: that of floors, which are taken out of the
// limit instead.
type observed struct {
	Low  int64  `json:"low"`
	High *int64 `json:"high,omitempty"`
}

// overshoot tells by how much each limit can be exceeded and by how much it was,
// as far as the books know. A report of more than was granted changes nothing in
// the books and is counted, so that what they hold as spent was granted before.
func (s *Server) overshoot() overshootBody {
	in := s.rules.Load()
	t, v, leads := s.current()
	if leads {
		in = t.inForce.Load()
	}
	o := overshootBody{Leads: leads, Quotas: []quotaOvershoot{}}
	for _, d := range in.set.Domains {
		for _, q := range d.Quotas {
			one := quotaOvershoot{Quota: q.ID}
			if !q.Limit.Unbounded {
				one.Mode = q.Partition.Mode.String()
			}
			bound := partition.Bound(q, lease.DefaultDrift, nil)
			if !bound.Exact {
				o.Quotas = append(o.Quotas, one)
				continue
			}
			one.Exact, one.Bound = true, &bound.Tokens
			if leads && v.booted {
				one.Observed = &observed{}
				terms := q.Terms()
				if len(terms.Floors) == 0 && v.stats.Malformed == 0 {
					one.Observed.High = new(int64)
				}
			}
			margin := bound.Tokens
			one.Margin = &margin
			o.Quotas = append(o.Quotas, one)
		}
	}
	return o
}
