package lease_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// actors are a ledger and its holders, in one of two copies that are driven
// alike. Whatever comes out of one must come out of the other.
type actors struct {
	ledger  *lease.Ledger
	holders []*lease.Holder
}

func (a actors) clone() actors {
	c := actors{ledger: a.ledger.Clone()}
	for _, h := range a.holders {
		c.holders = append(c.holders, h.Clone())
	}
	return c
}

// stage is what is between the actors: a store, the network, the time.
type stage struct {
	store *shelf
	now   time.Duration
	up    []lease.ReportBatch
	hello []lease.Hello
	down  []lease.GrantBatch
	txns  []lease.Txn
	loads []lease.BucketID
	of    map[uint64]int
	next  uint64
}

func (s *stage) moment() lease.Moment {
	return lease.Moment{Mono: s.now, Wall: start.Add(s.now)}
}

func (s *stage) state(a actors, plain bool) (all [][]byte) {
	f := lease.Frame{Now: s.moment(), Plain: plain, Holder: func(lease.HolderID) time.Duration { return s.now }}
	all = append(all, a.ledger.AppendState(nil, f))
	for _, h := range a.holders {
		all = append(all, h.AppendState(nil, f))
	}
	return all
}

// play does one drawn operation to all copies and returns what the first said.
func (s *stage) play(t *rapid.T, copies ...actors) {
	i := rapid.IntRange(0, 1).Draw(t, "holder")
	switch rapid.IntRange(0, 9).Draw(t, "operation") {
	case 0:
		s.now += rapid.SampledFrom([]time.Duration{time.Millisecond, 300 * time.Millisecond, 3 * time.Second, 6 * time.Second}).Draw(t, "time")
	case 1, 2:
		cost := rapid.Int64Range(0, 4).Draw(t, "cost")
		key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
		quota := rapid.SampledFrom([]string{"rate", "window"}).Draw(t, "quota")
		alike(t, copies, func(a actors) any {
			c := a.holders[i].Cell(quota, key)
			if c == nil {
				return nil
			}
			if cost == 4 {
				return c.Refund(cost)
			}
			return lease.Decide(func() time.Duration { return s.now }, []*lease.Cell{c}, cost)
		})
	case 3:
		s.connect(t, i, copies)
	case 4:
		got := alike(t, copies, func(a actors) any {
			b, ok := a.holders[i].Tick(s.now)
			if !ok {
				return nil
			}
			return b
		})
		if b, ok := got.(lease.ReportBatch); ok {
			s.up = append(s.up, b)
		}
	case 5:
		alike(t, copies, func(a actors) any { a.ledger.Tick(s.moment()); return nil })
	case 6:
		s.deliver(t, copies)
	case 7:
		s.stored(t, copies)
	case 8:
		s.greet(t, copies)
	case 9:
		switch rapid.IntRange(0, 20).Draw(t, "rarely") {
		case 0:
			alike(t, copies, func(a actors) any { a.holders[i].Disconnected(); return nil })
		case 1:
			if len(s.up) < 3 {
				s.up = append(s.up, alike(t, copies, func(a actors) lease.ReportBatch { return a.holders[i].Drain(s.now) }))
			}
		case 2:
			page := s.store.with(lease.BucketPrefix)
			slices.SortFunc(page, func(a, b lease.Entry) int { return strings.Compare(a.Key, b.Key) })
			alike(t, copies, func(a actors) any { a.ledger.Scanned(s.moment(), page, true); return nil })
		case 3:
			alike(t, copies, func(a actors) any { a.ledger.Retire(s.moment()); return nil })
		}
	}
	s.ready(t, copies)
}

// greet delivers every Hello there is.
func (s *stage) greet(t *rapid.T, copies []actors) {
	for _, h := range s.hello {
		alike(t, copies, func(a actors) any {
			h.Claims = slices.Clone(h.Claims)
			return a.ledger.Hello(s.moment(), h) == nil
		})
	}
	s.hello = nil
}

func (s *stage) connect(t *rapid.T, i int, copies []actors) {
	got := alike(t, copies, func(a actors) any {
		w, ok := a.ledger.OpenSession()
		if !ok {
			return nil
		}
		a.holders[i].Adopt(w.PolicyRevision, []lease.QuotaLimits{
			{Terms: stageTerms()[0], MaxKeys: 10}, {Terms: stageTerms()[1], MaxKeys: 10},
		})
		pieces, err := a.holders[i].Welcome(s.now, w)
		require.NoError(t, err)
		return pieces
	})
	if pieces, ok := got.([]lease.Hello); ok {
		s.next++
		s.of[s.next] = i
		s.hello = append(s.hello, pieces...)
	}
}

func (s *stage) deliver(t *rapid.T, copies []actors) {
	up := s.up
	s.up = nil
	for _, b := range up {
		alike(t, copies, func(a actors) any { return a.ledger.Report(s.moment(), b) == nil })
	}
	for len(s.down) > 0 && rapid.IntRange(0, 3).Draw(t, "down") > 0 {
		k := rapid.IntRange(0, len(s.down)-1).Draw(t, "message")
		b := s.down[k]
		s.down = slices.Delete(s.down, k, k+1)
		alike(t, copies, func(a actors) any { return a.holders[s.of[b.Session.N]].Grants(s.now, b) == nil })
	}
}

func (s *stage) stored(t *rapid.T, copies []actors) {
	if len(s.loads) > 0 {
		ids := s.loads
		s.loads = nil
		entries := s.store.with(lease.BucketPrefix)
		alike(t, copies, func(a actors) any { a.ledger.Loaded(s.moment(), ids, entries); return nil })
	}
	txns := s.txns
	s.txns = nil
	for _, x := range txns {
		if rapid.IntRange(0, 9).Draw(t, "refused") == 0 {
			alike(t, copies, func(a actors) any { a.ledger.Failed(x.ID, lease.ErrNoSpace); return nil })
			continue
		}
		revision, err := s.store.commit(x.Writes)
		require.NoError(t, err)
		alike(t, copies, func(a actors) any { a.ledger.Committed(s.moment(), x.ID, revision); return nil })
	}
}

func (s *stage) ready(t *rapid.T, copies []actors) {
	r, ok := alike(t, copies, func(a actors) any { return a.ledger.Ready(s.moment()) }).(lease.Ready)
	require.True(t, ok)
	s.loads = append(s.loads, r.Loads...)
	s.txns = append(s.txns, r.Txns...)
	s.down = append(s.down, r.Batches...)
}

// alike does the same to every copy and wants the same of each.
func alike[T any](t *rapid.T, copies []actors, do func(actors) T) T {
	first := do(copies[0])
	for _, c := range copies[1:] {
		require.Equal(t, first, do(c))
	}
	return first
}

func stageTerms() []lease.Terms {
	rate := lease.Terms{
		Quota: "rate", Tokens: 2, Per: time.Second, Burst: 8, TTL: 5 * time.Second, FloorTTL: 20 * time.Second,
		Floors: []lease.FloorTerms{{Region: "us", Tokens: 1, Burst: 2}},
	}
	windows, err := bucket.FixedWindows(10 * time.Second)
	if err != nil {
		panic(err)
	}
	window := lease.Terms{
		Quota: "window", Tokens: 5, Windowed: true, Windows: windows, TTL: 5 * time.Second, FloorTTL: 20 * time.Second,
		Floors: []lease.FloorTerms{{Region: "us", Tokens: 2}},
	}
	return []lease.Terms{rate, window}
}

func newStage(t *rapid.T) (*stage, actors) {
	s := &stage{store: newShelf(), now: time.Hour, of: map[uint64]int{}}
	l, err := lease.NewLedger(lease.Config{
		Cluster: "test", Drift: lease.DefaultDrift, ElectionTTL: time.Second, ReportInterval: 100 * time.Millisecond,
		MaxBuckets: 3, Allocate: allocateHalf, NewCluster: true,
	}, lease.Begin{Now: s.moment(), Leader: 1, Revision: 1, Policy: lease.PolicyRecord{}.Replace([]byte("p")), Terms: stageTerms()})
	require.NoError(t, err)
	l.Extend(1000 * time.Hour)
	a := actors{ledger: l}
	for _, region := range []string{"eu", "us"} {
		id := lease.HolderID{Region: region, Node: "1"}
		a.holders = append(a.holders, lease.NewHolder(lease.HolderConfig{ID: id, Plan: exactly}, lease.State{}))
	}
	s.ready(t, []actors{a})
	for _, x := range s.txns {
		revision, err := s.store.commit(x.Writes)
		require.NoError(t, err)
		l.Committed(s.moment(), x.ID, revision)
	}
	s.txns = nil
	for i := range a.holders {
		s.connect(t, i, []actors{a})
	}
	s.greet(t, []actors{a})
	return s, a
}

// allocateHalf gives everyone what is asked while there is any, and recalls.
func allocateHalf(s *lease.Situation, targets []lease.Target) {
	for i, a := range s.Asks {
		targets[i] = lease.Target{Hold: min(a.Ask.Want, s.Limit/2), Recall: a.Ask.Want < a.Outstanding}
	}
}

// Two copies that are driven alike say the same and stay the same.
func TestClone_DoesWhatTheOriginalDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := newStage(t)
		for range rapid.IntRange(0, 100).Draw(t, "before") {
			s.play(t, a)
		}
		c := a.clone()
		require.Equal(t, s.state(a, false), s.state(c, false))
		for range rapid.IntRange(0, 100).Draw(t, "after") {
			s.play(t, a, c)
			require.Equal(t, s.state(a, false), s.state(c, false))
			require.Equal(t, s.state(a, true), s.state(c, true))
		}
	})
}

// What happens to a clone does not happen to the original.
func TestClone_LeavesTheOriginalAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := newStage(t)
		for range rapid.IntRange(0, 100).Draw(t, "before") {
			s.play(t, a)
		}
		at, before := *s, s.state(a, false)
		c := a.clone()
		for range rapid.IntRange(1, 100).Draw(t, "after") {
			s.play(t, c)
		}
		require.Equal(t, before, at.state(a, false))
	})
}
