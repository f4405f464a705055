package lease_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// shelf is the dumbest store: a map that obeys at once.
type shelf struct {
	entries  map[string]lease.Entry
	revision int64
}

func newShelf() *shelf { return &shelf{entries: map[string]lease.Entry{}} }

func (s *shelf) commit(writes []lease.Write) (int64, error) {
	for _, w := range writes {
		if s.entries[w.Key].Revision != w.Expect {
			return 0, lease.ErrConflict
		}
	}
	s.revision++
	for _, w := range writes {
		if w.Value == nil {
			delete(s.entries, w.Key)
			continue
		}
		s.entries[w.Key] = lease.Entry{Key: w.Key, Value: w.Value, Revision: s.revision}
	}
	return s.revision, nil
}

func (s *shelf) with(prefix string) (out []lease.Entry) {
	for k, e := range s.entries {
		if len(k) >= len(prefix) && k[:len(prefix)] == prefix {
			out = append(out, e)
		}
	}
	return out
}

// rig is one leader with its store and some holders, joined by a network that
// delivers at once. Its clock stands still until a test moves it.
type rig struct {
	t       *testing.T
	cfg     lease.Config
	terms   []lease.Terms
	store   *shelf
	now     time.Duration
	ledger  *lease.Ledger
	holders map[string]*lease.Holder
	closed  map[string]bool
	deaf    map[string]bool // nothing reaches them
	session map[uint64]string
	halt    error
	plan    lease.Planner // of holders that join
	skew    time.Duration // of the leader's wall clock
	base    time.Duration // when its process started: its clock was 0
	policy  string
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (r *rig) moment() lease.Moment {
	return lease.Moment{Mono: r.now - r.base, Wall: start.Add(r.now + r.skew)}
}

func perMinute(tokens, burst int64) lease.Terms {
	return lease.Terms{
		Quota: "api/key", Tokens: tokens, Per: time.Minute, Burst: burst, TTL: 5 * time.Second, FloorTTL: 10 * time.Minute,
	}
}

func newRig(t *testing.T, terms ...lease.Terms) *rig {
	r := &rig{
		t: t, terms: terms, store: newShelf(), now: time.Hour, holders: map[string]*lease.Holder{},
		plan: reconcile.Plan,
		cfg: lease.Config{
			Cluster: "test", Drift: lease.DefaultDrift, ElectionTTL: 2 * time.Second,
			ReportInterval: 100 * time.Millisecond, MaxBuckets: 1000, Allocate: reconcile.Allocate, NewCluster: true,
		},
	}
	r.lead()
	return r
}

// lead makes a new leader on what the store holds.
func (r *rig) lead() {
	r.store.revision++
	meta := r.store.with(lease.MetaPrefix)
	stored, err := lease.StoredPolicy(meta)
	require.NoError(r.t, err)
	policy := stored
	if r.policy != "" || stored.Revision == 0 {
		policy, _ = stored.Next([]byte(cmp.Or(r.policy, "policy")))
	}
	r.ledger, err = lease.NewLedger(r.cfg, lease.Begin{
		Now: r.moment(), Leader: r.store.revision, Revision: r.store.revision,
		Meta: meta, Policy: policy, Terms: r.terms,
	})
	require.NoError(r.t, err)
	r.ledger.Extend(r.now - r.base + 1000*time.Hour)
	r.session = map[uint64]string{}
	for _, h := range r.holders {
		h.Disconnected()
	}
	r.settle()
}

// join connects a holder, making it if need be.
func (r *rig) join(name string) *lease.Holder {
	h := r.holders[name]
	if h == nil {
		id := lease.HolderID{Region: name, Node: "1"}
		copy(id.Incarnation[:], name)
		h = lease.NewHolder(lease.HolderConfig{ID: id, Plan: r.plan}, lease.State{})
		r.holders[name] = h
	}
	w, ok := r.ledger.OpenSession()
	require.True(r.t, ok)
	quotas := make([]lease.QuotaLimits, len(r.terms))
	for i := range r.terms {
		quotas[i] = lease.QuotaLimits{Terms: r.terms[i], MaxKeys: 100}
	}
	h.Adopt(w.PolicyRevision, quotas)
	pieces, err := h.Welcome(r.now, w)
	require.NoError(r.t, err)
	r.session[w.Session.N] = name
	for _, p := range pieces {
		require.NoError(r.t, r.ledger.Hello(r.moment(), p))
	}
	r.settle()
	return h
}

// settle carries out what the ledger wants until it wants nothing.
func (r *rig) settle() {
	for range 100 {
		rd := r.ledger.Ready(r.moment())
		r.halt = rd.Halt
		if len(rd.Loads)+len(rd.Txns)+len(rd.Batches) == 0 {
			break
		}
		if len(rd.Loads) > 0 {
			r.ledger.Loaded(r.moment(), rd.Loads, r.store.with(lease.BucketPrefix))
		}
		for _, t := range rd.Txns {
			if rev, err := r.store.commit(t.Writes); err != nil {
				r.ledger.Failed(t.ID, err)
			} else {
				r.ledger.Committed(r.moment(), t.ID, rev)
			}
		}
		for _, b := range rd.Batches {
			if h := r.holders[r.session[b.Session.N]]; h != nil && !r.closed[r.session[b.Session.N]] && !r.deaf[r.session[b.Session.N]] {
				_ = h.Grants(r.now, b)
			}
		}
	}
	require.NoError(r.t, r.ledger.Check())
}

// step moves time on, and has every connected holder and the ledger tick.
func (r *rig) step(d time.Duration) {
	r.now += d
	for name, h := range r.holders {
		if r.closed[name] {
			continue
		}
		if b, ok := h.Tick(r.now); ok {
			require.NoError(r.t, r.ledger.Report(r.moment(), b))
		}
	}
	r.ledger.Tick(r.moment())
	r.settle()
}

func (r *rig) clock() time.Duration { return r.now }

func (r *rig) ask(holder, key string, cost int64) lease.Verdict {
	c := r.holders[holder].Cell(r.terms[0].Quota, key)
	return lease.Decide(r.clock, []*lease.Cell{c}, cost)
}

// drain asks for one token at a time until there is none, and returns how many
// were admitted.
func (r *rig) drain(holder, key string) (n int64) {
	for r.ask(holder, key, 1).Outcome == lease.Admitted {
		n++
	}
	return n
}

// run has time pass in ticks of 100 ms.
func (r *rig) run(d time.Duration) {
	for end := r.now + d; r.now < end; {
		r.step(100 * time.Millisecond)
	}
}

func (r *rig) quota() lease.QuotaStats {
	_, quotas := r.ledger.Snapshot()
	return quotas[0]
}

// hammer has some holders ask for all they can get for a while, and returns
// what was admitted.
func (r *rig) hammer(d time.Duration, key string, holders ...string) (n int64) {
	for end := r.now + d; r.now < end; {
		for _, h := range holders {
			n += r.drain(h, key)
		}
		r.step(20 * time.Millisecond)
	}
	return n
}

// exactly asks for what was refused, and keeps all that it gets.
func exactly(u *lease.Usage) lease.Plan {
	return lease.Plan{Ask: lease.Ask{Want: u.MaxRefused, Need: u.MaxRefused}, Keep: u.Limit}
}
