package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
	"github.com/a1009580/leasehold/reconcile"
)

// errNotNew says that a new cluster was asked for on a store that has granted.
var errNotNew = errors.New("the store holds buckets but no cluster: it is damaged, not new")

// scanPage is how many entries are read at once.
const scanPage = 500

// newTerm reads what the last leader left and opens the books.
func (s *Server) newTerm(ctx context.Context, leadership lease.Leadership) (*term, error) {
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	sure, err := s.prove(ctx, leadership)
	if err != nil {
		return nil, fmt.Errorf("prove the leadership: %w", err)
	}
	meta, revision, err := s.readMeta(ctx)
	if err != nil {
		return nil, err
	}
	record, inForce, err := s.choose(meta)
	if err != nil {
		return nil, err
	}
	now := s.clock.Moment()
	ledger, err := lease.NewLedger(lease.Config{
		Cluster: s.opts.Cluster, Drift: s.opts.Drift, ElectionTTL: s.clock.Scaled(leadership.TTL()),
		ReportInterval: s.opts.ReportInterval, MaxBuckets: s.opts.MaxBuckets, Allocate: reconcile.Allocate,
		NewCluster: s.opts.NewCluster, TrustStore: s.opts.TrustStore,
	}, lease.Begin{
		Now: now, Leader: leadership.Key().Revision, Revision: revision,
		Meta: meta, Policy: record, Terms: inForce.terms,
	})
	switch {
	case errors.Is(err, lease.ErrEmptyStore):
		return nil, fmt.Errorf("the store of cluster %q is empty. To begin a new cluster, pass --new-cluster once; "+
			"if this cluster is not new, its store was lost or the address is wrong: %w", s.opts.Cluster, err)
	case err != nil:
		return nil, err
	}
	board, err := s.newBoard(now, ledger, meta, inForce.set)
	if err != nil {
		return nil, err
	}
	t := newTerm(s, leadership, ledger, board, inForce)
	t.sure.Store(int64(sure))
	return t, nil
}

// newBoard begins to watch links. If this leader begins with another policy than the stored one, what was granted
// under that can still be spent.
func (s *Server) newBoard(now lease.Moment, ledger *lease.Ledger, meta []lease.Entry, inForce *policy.Set) (*partition.Board, error) {
	stored, err := lease.StoredPolicy(meta)
	if err != nil {
		return nil, err
	}
	first := inForce
	if stored.Revision > 0 && !bytes.Equal(stored.Policy, ledger.Policy().Policy) {
		if first, err = policy.Parse("the stored policy", stored.Policy); err != nil {
			s.log.Warn("the policy of before cannot be read; what was granted under it is in no bound", "error", err)
			first = inForce
		}
	}
	sole := ledger.Policy().Revision <= 1 && ledger.Epoch().History <= 1 // no other was ever in force
	board, err := partition.NewBoard(partition.WatchTiming(), s.opts.Drift, first, sole)
	if err != nil {
		return nil, err
	}
	board.SetPolicy(now.Mono, inForce)
	return board, nil
}

// bootTimeout bounds the reads before the books are open.
const bootTimeout = 10 * time.Second

// readMeta reads all entries below MetaPrefix and the store's revision before
// them.
func (s *Server) readMeta(ctx context.Context) ([]lease.Entry, int64, error) {
	store := s.opts.Backing.Store
	_, revision, err := store.Get(ctx, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("read the store's revision: %w", err)
	}
	var meta []lease.Entry
	for after := ""; ; {
		page, _, err := store.Scan(ctx, lease.MetaPrefix, after, scanPage)
		if err != nil {
			return nil, 0, fmt.Errorf("read the cluster's records: %w", err)
		}
		meta = append(meta, page...)
		if len(page) < scanPage {
			break
		}
		after = page[len(page)-1].Key
	}
	if !s.opts.NewCluster {
		return meta, revision, nil
	}
	if len(meta) > 0 {
		s.log.Info("the store has a past, so that --new-cluster means nothing")
		return meta, revision, nil
	}
	buckets, _, err := store.Scan(ctx, lease.BucketPrefix, "", 1)
	if err != nil {
		return nil, 0, fmt.Errorf("look for buckets: %w", err)
	}
	if len(buckets) > 0 {
		return nil, 0, errNotNew
	}
	return meta, revision, nil
}

// choose decides which policy to enforce: the file's, unless the stored one
// replaced it before, or does not allow the change.
func (s *Server) choose(meta []lease.Entry) (lease.PolicyRecord, *rules, error) {
	file := s.rules.Load()
	stored, err := lease.StoredPolicy(meta)
	if err != nil {
		return lease.PolicyRecord{}, nil, fmt.Errorf("read the stored policy: %w", err)
	}
	next, stale := stored.Next(file.canonical)
	if stored.Revision == 0 || next.Revision == stored.Revision && !stale {
		s.overruled.Store(nil)
		return next, file, nil
	}
	old, err := parseRules("stored policy", stored.Policy)
	if err != nil {
		return lease.PolicyRecord{}, nil, fmt.Errorf("the stored policy is not understood: %w", err)
	}
	if stale {
		s.overruled.Store(&fileTrouble{why: "it was replaced before, by the stored policy or an older one", at: time.Now()})
		s.log.Warn("the policy file holds a policy that was replaced before; the stored one is enforced. "+
			"To bring the file's back, write the stored one into it while this coordinator leads, and then the file's again",
			"revision", stored.Revision)
		return stored, old, nil
	}
	if err := file.follows(old); err != nil {
		s.overruled.Store(&fileTrouble{why: err.Error(), at: time.Now()})
		s.log.Error("the policy file is refused, the stored policy is enforced", "revision", stored.Revision, "error", err)
		return stored, old, nil
	}
	s.overruled.Store(nil)
	return next, file, nil
}

// prove renews the leadership and returns until when it is then sure, by the
// clock's Mono.
func (s *Server) prove(ctx context.Context, leadership lease.Leadership) (time.Duration, error) {
	before := s.clock.Mono()
	ctx, cancel := context.WithTimeout(ctx, leadership.TTL()/2)
	defer cancel()
	if err := leadership.Prove(ctx); err != nil {
		return 0, err
	}
	return before + s.clock.Scaled(sureFor(leadership.TTL(), s.opts.Drift)), nil
}

// sureFor is how long, by our clock, an election lease of ttl surely lasts by
// the store's: ttl·(1-ρ)/(1+ρ), less a margin for clocks that are read late.
func sureFor(ttl time.Duration, drift lease.Drift) time.Duration {
	const million = 1_000_000
	sure := ttl / (million + time.Duration(drift)) * (million - time.Duration(drift))
	return sure - ttl/50
}
