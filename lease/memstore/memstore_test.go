package memstore_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/memstore"
)

func put(key, value string, expect int64) []lease.Write {
	return []lease.Write{{Key: key, Value: []byte(value), Expect: expect}}
}

func lead(t *testing.T, s *memstore.Store, name string) lease.Leadership {
	t.Helper()
	l, err := s.Campaign(t.Context(), name)
	require.NoError(t, err)
	return l
}

func holds(t *testing.T, s *memstore.Store, key, value string) {
	t.Helper()
	entries, _, err := s.Get(t.Context(), []string{key})
	require.NoError(t, err)
	if value == "" {
		require.Empty(t, entries)
		return
	}
	require.Len(t, entries, 1)
	require.Equal(t, value, string(entries[0].Value))
}

// TestHooks: a hook before a commit prevents it, a hook after it only hides it.
func TestHooks(t *testing.T) {
	s, _ := newStore()
	l := lead(t, s, "a")
	s.SetHooks(memstore.Hooks{BeforeCommit: func(lease.LeaderKey, []lease.Write) error { return lease.ErrUnavailable }})
	_, err := s.Commit(t.Context(), l.Key(), put("k", "1", 0))
	require.ErrorIs(t, err, lease.ErrUnavailable)
	holds(t, s, "k", "")

	s.SetHooks(memstore.Hooks{AfterCommit: func(leader lease.LeaderKey, writes []lease.Write, revision int64) error {
		assert.Equal(t, l.Key(), leader)
		assert.Len(t, writes, 1)
		entries, at, err := s.Get(t.Context(), []string{"k"}) // a hook may use the store
		assert.NoError(t, err)
		assert.Equal(t, revision, entries[0].Revision)
		assert.Equal(t, revision, at)
		return lease.ErrUnknown
	}})
	_, err = s.Commit(t.Context(), l.Key(), put("k", "1", 0))
	require.ErrorIs(t, err, lease.ErrUnknown)
	holds(t, s, "k", "1")

	// What was refused was not made, so nothing comes after it.
	_, err = s.Commit(t.Context(), l.Key(), put("k", "2", 0))
	require.ErrorIs(t, err, lease.ErrConflict)

	s.SetHooks(memstore.Hooks{
		BeforeRead:   func() error { return lease.ErrUnavailable },
		BeforeProve:  func(lease.LeaderKey) error { return lease.ErrUnavailable },
		BeforeResign: func(lease.LeaderKey) error { return lease.ErrUnavailable },
	})
	_, _, err = s.Get(t.Context(), nil)
	require.ErrorIs(t, err, lease.ErrUnavailable)
	_, _, err = s.Scan(t.Context(), "", "", 1)
	require.ErrorIs(t, err, lease.ErrUnavailable)
	_, _, err = s.Leader(t.Context())
	require.ErrorIs(t, err, lease.ErrUnavailable)
	require.ErrorIs(t, l.Prove(t.Context()), lease.ErrUnavailable)
	require.ErrorIs(t, l.Resign(t.Context()), lease.ErrUnavailable)

	s.SetHooks(memstore.Hooks{})
	require.NoError(t, l.Prove(t.Context()))
	require.NoError(t, l.Resign(t.Context()))
}

// TestRestore: an older copy is a store whose revision went back and where later
// leaders have no key (law 13).
func TestRestore(t *testing.T) {
	s, _ := newStore()
	first := lead(t, s, "a")
	r, err := s.Commit(t.Context(), first.Key(), put("k", "1", 0))
	require.NoError(t, err)
	copied := s.Snapshot()
	require.Equal(t, r, copied.Revision())

	last, err := s.Commit(t.Context(), first.Key(), put("k", "2", r))
	require.NoError(t, err)
	_, err = s.Commit(t.Context(), first.Key(), put("new", "1", 0))
	require.NoError(t, err)
	require.NoError(t, first.Resign(t.Context()))
	second := lead(t, s, "b")

	for range 2 { // a copy may be used again
		s.Restore(copied)
		holds(t, s, "k", "1")
		holds(t, s, "new", "")
		entries, revision, err := s.Scan(t.Context(), "", "", 9)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Less(t, revision, last)
		require.ErrorIs(t, second.Prove(t.Context()), lease.ErrFenced)
		_, err = s.Commit(t.Context(), second.Key(), put("k", "3", r))
		require.ErrorIs(t, err, lease.ErrFenced)
		_, err = s.Commit(t.Context(), first.Key(), put("k", "3", r))
		require.NoError(t, err, "the copy has the key of that time")
	}
	holds(t, s, "k", "3")
}

// TestKeysAfterRestore: revisions come again after a restore, keys do not.
func TestKeysAfterRestore(t *testing.T) {
	s, _ := newStore()
	empty := s.Snapshot()
	keys := map[lease.LeaderKey]bool{}
	for range 3 {
		keys[lead(t, s, "a").Key()] = true
		s.Restore(empty)
	}
	assert.Len(t, keys, 3)
}

func TestWipe(t *testing.T) {
	s, _ := newStore()
	_, fresh, err := s.Get(t.Context(), nil)
	require.NoError(t, err)
	l := lead(t, s, "a")
	_, err = s.Commit(t.Context(), l.Key(), put("k", "1", 0))
	require.NoError(t, err)
	s.Wipe()
	entries, revision, err := s.Scan(t.Context(), "", "", 9)
	require.NoError(t, err)
	assert.Empty(t, entries)
	assert.Equal(t, fresh, revision)
	require.ErrorIs(t, l.Prove(t.Context()), lease.ErrFenced)
	_, err = s.Commit(t.Context(), l.Key(), put("k", "1", 0))
	require.ErrorIs(t, err, lease.ErrFenced)
}

func TestForce(t *testing.T) {
	s, _ := newStore()
	l := lead(t, s, "a")
	r, err := s.Commit(t.Context(), l.Key(), put("k", "1", 0))
	require.NoError(t, err)
	require.Greater(t, s.Force(put("k", "by hand", 99)), r)
	holds(t, s, "k", "by hand")
	_, err = s.Commit(t.Context(), l.Key(), put("k", "2", r))
	require.ErrorIs(t, err, lease.ErrConflict)
	assert.True(t, s.DeleteLeader())
	assert.False(t, s.DeleteLeader())
}

// TestStand: those who may not wait renew their candidacy by asking for it.
func TestStand(t *testing.T) {
	s, c := newStore()
	a, b := s.Stand("a"), s.Stand("b")
	first, ok := a.Elected()
	require.True(t, ok)
	_, ok = b.Elected()
	require.False(t, ok)
	again, ok := a.Elected()
	require.True(t, ok)
	assert.Equal(t, first.Key(), again.Key())

	// One that does not ask loses its place, and stands again behind the others.
	late := s.Stand("c")
	c.advance(first.TTL() / 2)
	require.NoError(t, first.Prove(t.Context()))
	_, ok = b.Elected()
	require.False(t, ok)
	c.advance(first.TTL() / 2)
	assert.Equal(t, []string{"a", "b"}, s.Standing())
	_, ok = late.Elected()
	require.False(t, ok)
	assert.Equal(t, []string{"a", "b", "c"}, s.Standing())

	a.Withdraw()
	second, ok := b.Elected()
	require.True(t, ok)
	assert.Greater(t, second.Key().Revision, first.Key().Revision)
	require.ErrorIs(t, first.Prove(t.Context()), lease.ErrFenced)
	require.ErrorContains(t, s.EndSession("nobody"), "nobody")
}

// TestCampaignWatchesTheClock: with After, a waiting Campaign needs no one to
// wake it.
func TestCampaignWatchesTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when bubbles begin
		now := func() time.Duration { return time.Since(begin) }
		s := memstore.New(memstore.Options{
			Now:   now,
			After: time.After,
			TTL:   10 * time.Second,
		})
		a := lead(t, s, "a")
		assert.Equal(t, 10*time.Second, a.TTL())
		b := lead(t, s, "b")
		assert.Equal(t, 10*time.Second, now(), "at once when a's lease ended")
		require.ErrorIs(t, a.Prove(t.Context()), lease.ErrFenced)
		require.NoError(t, b.Prove(t.Context()))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Campaign(ctx, "c")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []string{"b"}, s.Standing())
	})
}

func TestNewWithoutClock(t *testing.T) {
	assert.Panics(t, func() { memstore.New(memstore.Options{}) })
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("writes=%d", n), func(b *testing.B) {
			s, _ := newStore()
			l, err := s.Campaign(b.Context(), "a")
			require.NoError(b, err)
			writes := make([]lease.Write, n)
			for i := range writes {
				writes[i] = put(fmt.Sprint(i), "some value of some length", 0)[0]
			}
			for b.Loop() {
				r, err := s.Commit(b.Context(), l.Key(), writes)
				if err != nil {
					b.Fatal(err)
				}
				for i := range writes {
					writes[i].Expect = r
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
