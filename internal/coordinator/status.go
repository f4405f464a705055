package coordinator

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/a1009580/leasehold/internal/version"
	"github.com/a1009580/leasehold/lease"
)

// statusBody is the body of /v1/status.
type statusBody struct {
	Cluster        string     `json:"cluster"`
	Version        string     `json:"version"`
	Role           string     `json:"role"` // leader, standby or draining
	Ready          bool       `json:"ready"`
	Reason         string     `json:"reason"`
	Granting       bool       `json:"granting"`         // this is the leader, and nothing keeps it from granting
	Leader         string     `json:"leader,omitempty"` // its address
	Epoch          string     `json:"epoch,omitempty"`
	PolicyRevision uint64     `json:"policy_revision,omitempty"`
	PolicyHash     string     `json:"policy_fingerprint"`
	PolicyPending  bool       `json:"policy_pending"` // the file's is not in force
	PolicyWhy      string     `json:"policy_pending_reason,omitempty"`
	ReloadError    string     `json:"last_reload_error,omitempty"` // until a content is taken
	ReloadErrorAt  *time.Time `json:"last_reload_error_at,omitempty"`
	Disk           *Disk      `json:"disk,omitempty"`
	Transactions   int        `json:"transactions_in_flight"`
	Refused        int64      `json:"refused_reports"`
	Overspent      int64      `json:"overspent_reports"` // that say more than was granted
	// Links counts the holders that the leader knows by the state of their links.
	Links    map[string]int `json:"links"`
	Sessions []sessionView  `json:"sessions"`
	Quotas   []quotaStatus  `json:"quotas"`
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
	FloorSpent  int64  `json:"floor_spent_tokens"`
	Unreserved  int64  `json:"overspent_tokens"` // spent unreserved while cut off
}

// Role words.
const (
	roleLeader   = "leader"
	roleStandby  = "standby"
	roleDraining = "draining"
)

// status describes this coordinator.
func (s *Server) status(ctx context.Context) statusBody {
	st := statusBody{Cluster: s.opts.Cluster, Version: version.String(), Links: map[string]int{}, Sessions: []sessionView{}, Quotas: []quotaStatus{}}
	st.Role, st.Ready, st.Reason = s.readiness(ctx)
	st.Granting = s.granting()
	in := s.rules.Load()
	if t, v, ok := s.current(); ok {
		st.Leader, st.Epoch, st.PolicyRevision = s.opts.Advertise, v.epoch.String(), v.policy.Revision
		st.Transactions, st.Refused, st.Overspent = v.queued, v.stats.Refused, v.stats.Malformed
		st.Sessions = append(st.Sessions, v.sessions...)
		for _, states := range v.links.States(nil) {
			for state, n := range states {
				st.Links[state] += n
			}
		}
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
		FloorSpent: q.FloorSpent, Unreserved: q.Overspent,
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
