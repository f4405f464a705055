package explore

import (
	"errors"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// elect makes another leader on what the store holds. It reads before anything
// else happens, and its first transactions are written at once.
func (w *World) elect() {
	s := w.own()
	s.revision++
	s.leader = s.revision
	meta := s.with(lease.MetaPrefix)
	stored, err := lease.StoredPolicy(meta)
	if err != nil {
		w.fail("the stored policy: %v", err)
		return
	}
	policy, _ := stored.Next([]byte("policy"))
	i := int8(len(w.leaders))
	cfg := lease.Config{
		Cluster: "tiny", Drift: w.scene.Drift, ElectionTTL: w.scene.Election,
		ReportInterval: 100 * time.Millisecond, MaxBuckets: 10, Allocate: allocate, NewCluster: i == 0,
	}
	w.leaders = append(slices.Clone(w.leaders), nil)
	ledger, err := lease.NewLedger(cfg, lease.Begin{
		Now: w.moment(i), Leader: s.leader, Revision: s.revision, Meta: meta, Policy: policy,
		Terms: []lease.Terms{w.scene.Terms},
	})
	if err != nil {
		w.fail("a new leader cannot begin: %v", err)
		return
	}
	w.leaders[i] = &leader{ledger: ledger, key: s.leader, alive: true}
	w.ownLeaders |= 1 << i
	w.extend(i)
	w.ready(i)
	for w.fault == nil && len(w.txns) > 0 && w.txns[len(w.txns)-1].leader == i {
		w.answer(Action{Kind: Land, Arg: int8(len(w.txns) - 1)})
	}
}

// extend has a leader prove that it leads.
func (w *World) extend(i int8) {
	w.leader(i).ledger.Extend(w.moment(i).Mono + w.scene.Election)
}

// bury ends a leader: what it had in memory is gone.
func (w *World) bury(i int8) {
	l := *w.leaders[i]
	l.alive, l.sum = false, sum{}
	w.leaders = slices.Clone(w.leaders)
	w.leaders[i] = &l
	w.txns = slices.DeleteFunc(slices.Clone(w.txns), func(t txn) bool { return t.leader == i })
	w.up = slices.DeleteFunc(slices.Clone(w.up), func(m *message) bool { return m.leader == i })
}

// ready does what a ledger wants done. Records are read at once; transactions
// and messages are on their way.
func (w *World) ready(i int8) {
	l := w.leader(i)
	r := l.ledger.Ready(w.moment(i))
	for len(r.Loads) > 0 {
		w.keep(i, r)
		l.ledger.Loaded(w.moment(i), r.Loads, w.store.get(r.Loads))
		r = l.ledger.Ready(w.moment(i))
	}
	w.keep(i, r)
	if r.Halt != nil {
		if !errors.Is(r.Halt, lease.ErrFenced) && !errors.Is(r.Halt, lease.ErrUnknown) &&
			!errors.Is(r.Halt, lease.ErrUnavailable) {
			w.fail("a leader halted: %v", r.Halt)
		}
		w.bury(i)
	}
}

// keep takes a ledger's transactions and messages.
func (w *World) keep(i int8, r lease.Ready) {
	if len(r.Txns) > 0 {
		w.txns = slices.Clone(w.txns)
		for _, t := range r.Txns {
			w.txns = append(w.txns, txn{leader: i, txn: t})
		}
	}
	for k := range r.Batches {
		h := w.leaders[i].sessions[r.Batches[k].Session.N-1]
		w.down = w.push(w.down, &message{holder: h, leader: i, incarnation: w.holders[h].incarnation, grants: &r.Batches[k]})
	}
}

// answer has the store do a transaction, or not, and say so, or not.
func (w *World) answer(a Action) {
	t := w.txns[a.Arg]
	w.txns = slices.Delete(slices.Clone(w.txns), int(a.Arg), int(a.Arg)+1)
	var revision int64
	err := lease.ErrUnavailable
	switch a.Kind {
	case Land, LandMute:
		revision, err = w.own().commit(w.leaders[t.leader].key, t.txn.Writes)
		if a.Kind == LandMute {
			w.left.Unknowns--
			err = lease.ErrUnknown
		}
	case LoseMute:
		w.left.Unknowns--
		err = lease.ErrUnknown
	default:
		w.left.Refusals--
	}
	l := w.leader(t.leader)
	if err != nil {
		l.ledger.Failed(t.txn.ID, err)
	} else {
		l.ledger.Committed(w.moment(t.leader), t.txn.ID, revision)
	}
	w.ready(t.leader)
}
