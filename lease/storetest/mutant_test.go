package storetest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/memstore"
)

// recorder is a T that keeps failures to itself.
type recorder struct {
	ctx context.Context

	mu       sync.Mutex
	failures []string // belongs to mu
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) FailNow()                 { r.fail("failed"); runtime.Goexit() }

func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }

func (r *recorder) fail(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, s)
}

// failures runs a check and returns how it failed.
func failures(ctx context.Context, c check, h Harness) []string {
	r := &recorder{ctx: ctx}
	var wg sync.WaitGroup
	wg.Go(func() { c.run(r, h) }) // FailNow ends a goroutine
	wg.Wait()
	return r.failures
}

// sound is a harness of the store that mutants break, with the store itself.
func sound() (Harness, *memstore.Store) {
	var at atomic.Int64
	s := memstore.New(memstore.Options{Now: func() time.Duration { return time.Duration(at.Load()) }})
	return Harness{
		Store:      s,
		Elector:    s,
		DeleteKey:  func(context.Context, lease.LeaderKey) error { s.DeleteLeader(); return nil },
		EndSession: func(_ context.Context, name string) error { return s.EndSession(name) },
		Standing:   func(context.Context) ([]string, error) { return s.Standing(), nil },
		Elapse:     func(d time.Duration) { at.Add(int64(d)); s.Wake() },
		Patience:   time.Minute,
	}, s
}

// TestSuiteBites breaks one promise at a time. The check that is named must
// reject each mutant; others may as well.
func TestSuiteBites(t *testing.T) {
	rejected := map[string]bool{}
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			i := indexOf(t, m.caught)
			c := checks()[i]
			h, s := sound()
			m.mutate(&h, s)
			if m.hangs {
				h.Patience = 200 * time.Millisecond
			}
			require.NotEmpty(t, failures(t.Context(), c, h), "the check %q accepts the mutant", c.name)
			rejected[c.name] = true
		})
	}
	if t.Failed() {
		return
	}
	// A check that rejects nothing checks nothing.
	for _, c := range checks() {
		assert.True(t, rejected[c.name], "no mutant is there for the check %q", c.name)
	}
}

// TestSuiteAcceptsTheSound shows that a check fails for the mutation and not
// for the way in which it is run here.
func TestSuiteAcceptsTheSound(t *testing.T) {
	for _, c := range checks() {
		h, _ := sound()
		assert.Empty(t, failures(t.Context(), c, h), c.name)
	}
}

func indexOf(t *testing.T, name string) int {
	t.Helper()
	for i, c := range checks() {
		if c.name == name || strings.HasPrefix(c.name, name+" (") {
			return i
		}
	}
	t.Fatalf("there is no check %q", name)
	return 0
}

// mutant is one broken store.
type mutant struct {
	name   string
	caught string // the check that must reject it
	mutate func(*Harness, *memstore.Store)
	hangs  bool // it is rejected when the check's time is over
}

// broken is a lease.Store with some methods replaced.
type broken struct {
	lease.Store
	get    func(context.Context, []string) ([]lease.Entry, int64, error)
	scan   func(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error)
	commit func(context.Context, lease.LeaderKey, []lease.Write) (int64, error)
}

func (b broken) Get(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
	if b.get != nil {
		return b.get(ctx, keys)
	}
	return b.Store.Get(ctx, keys)
}

func (b broken) Scan(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error) {
	if b.scan != nil {
		return b.scan(ctx, prefix, after, limit)
	}
	return b.Store.Scan(ctx, prefix, after, limit)
}

func (b broken) Commit(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
	if b.commit != nil {
		return b.commit(ctx, leader, writes)
	}
	return b.Store.Commit(ctx, leader, writes)
}

// brokenElector is a lease.Elector with some methods replaced.
type brokenElector struct {
	lease.Elector
	campaign func(context.Context, string) (lease.Leadership, error)
	leader   func(context.Context) (string, bool, error)
}

func (b brokenElector) Campaign(ctx context.Context, candidate string) (lease.Leadership, error) {
	if b.campaign != nil {
		return b.campaign(ctx, candidate)
	}
	return b.Elector.Campaign(ctx, candidate)
}

func (b brokenElector) Leader(ctx context.Context) (string, bool, error) {
	if b.leader != nil {
		return b.leader(ctx)
	}
	return b.Elector.Leader(ctx)
}

// brokenLeadership is a lease.Leadership with some methods replaced.
type brokenLeadership struct {
	lease.Leadership
	key    func() lease.LeaderKey
	prove  func(context.Context) error
	resign func(context.Context) error
}

func (b brokenLeadership) Key() lease.LeaderKey {
	if b.key != nil {
		return b.key()
	}
	return b.Leadership.Key()
}

func (b brokenLeadership) Prove(ctx context.Context) error {
	if b.prove != nil {
		return b.prove(ctx)
	}
	return b.Leadership.Prove(ctx)
}

func (b brokenLeadership) Resign(ctx context.Context) error {
	if b.resign != nil {
		return b.resign(ctx)
	}
	return b.Leadership.Resign(ctx)
}

// everyLeadership replaces methods of all leaderships.
func everyLeadership(h *Harness, change func(lease.Leadership) brokenLeadership) {
	inner := h.Elector
	h.Elector = brokenElector{Elector: inner, campaign: func(ctx context.Context, name string) (lease.Leadership, error) {
		l, err := inner.Campaign(ctx, name)
		if err != nil {
			return nil, err
		}
		b := change(l)
		b.Leadership = l
		return b, nil
	}}
}
