package storetest

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// probe is one check's hold on the store under test: each method fails the
// check when the store does not do what it must.
type probe struct {
	T
	Harness
	ctx context.Context
}

// put is a write of a value that must replace the revision expect.
func put(key, value string, expect int64) lease.Write {
	return lease.Write{Key: key, Value: []byte(value), Expect: expect}
}

// del is a deletion.
func del(key string, expect int64) lease.Write { return lease.Write{Key: key, Expect: expect} }

// lead returns a leadership that nobody else wants.
func (p *probe) lead(candidate string) lease.Leadership {
	p.Helper()
	l, err := p.Elector.Campaign(p.ctx, candidate)
	require.NoError(p, err, "campaign of %q", candidate)
	return l
}

// commit makes a transaction that must succeed.
func (p *probe) commit(leader lease.LeaderKey, writes ...lease.Write) int64 {
	p.Helper()
	revision, err := p.Store.Commit(p.ctx, leader, writes)
	require.NoError(p, err)
	require.Positive(p, revision)
	return revision
}

// refused makes a transaction that must fail with want, and checks that it
// wrote nothing.
func (p *probe) refused(want error, leader lease.LeaderKey, writes ...lease.Write) {
	p.Helper()
	keys := make([]string, 0, len(writes))
	seen := map[string]bool{}
	for _, w := range writes {
		if !seen[w.Key] {
			keys = append(keys, w.Key)
		}
		seen[w.Key] = true
	}
	before := p.get(keys...)
	_, err := p.Store.Commit(p.ctx, leader, writes)
	require.ErrorIs(p, err, want)
	for _, other := range []error{
		lease.ErrFenced, lease.ErrConflict, lease.ErrNoSpace,
		lease.ErrUnavailable, lease.ErrTooLarge, lease.ErrUnknown,
	} {
		if other != want { //nolint:errorlint // these are the sentinels themselves
			require.NotErrorIs(p, err, other, "an error has one meaning")
		}
	}
	require.Equal(p, before, p.get(keys...), "a refused transaction wrote")
}

// get reads entries by key.
func (p *probe) get(keys ...string) map[string]lease.Entry {
	p.Helper()
	entries, revision, err := p.Store.Get(p.ctx, keys)
	require.NoError(p, err)
	found := make(map[string]lease.Entry, len(entries))
	for _, e := range entries {
		require.NotNil(p, e.Value, "value of %q", e.Key)
		require.Positive(p, e.Revision)
		require.LessOrEqual(p, e.Revision, revision, "an entry is newer than the store")
		require.NotContains(p, found, e.Key, "an entry was returned twice")
		require.Contains(p, keys, e.Key, "an entry nobody asked for")
		found[e.Key] = e
	}
	return found
}

// holds checks that an entry has this value and revision.
func (p *probe) holds(key, value string, revision int64) {
	p.Helper()
	require.Equal(p, map[string]lease.Entry{key: {Key: key, Value: []byte(value), Revision: revision}}, p.get(key))
}

// absent checks that there is no such entry.
func (p *probe) absent(keys ...string) {
	p.Helper()
	require.Empty(p, p.get(keys...))
}

// revision reads the store's own.
func (p *probe) revision() int64 {
	p.Helper()
	_, revision, err := p.Store.Get(p.ctx, nil)
	require.NoError(p, err)
	return revision
}

// until waits for a condition.
func (p *probe) until(what string, condition func() bool) {
	p.Helper()
	for !condition() {
		require.NoError(p, p.ctx.Err(), "waited for: %s", what)
		runtime.Gosched()
	}
}

// stands waits until exactly these candidates stand, the leader first.
func (p *probe) stands(names ...string) {
	p.Helper()
	var last []string
	p.until(fmt.Sprintf("%q stand", names), func() bool {
		var err error
		last, err = p.Standing(p.ctx)
		return err == nil && fmt.Sprint(last) == fmt.Sprint(names)
	})
}

// elapse lets d pass.
func (p *probe) elapse(d time.Duration) {
	if p.Elapse != nil {
		p.Elapse(d)
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, d)
	defer cancel()
	<-ctx.Done()
}

// campaign is one that runs beside the check.
type campaign struct {
	leadership lease.Leadership
	err        error
	done       chan struct{}
	cancel     context.CancelFunc
}

// campaign starts one, which ends with the check.
func (p *probe) campaign(candidate string) *campaign {
	ctx, cancel := context.WithCancel(p.ctx)
	c := &campaign{done: make(chan struct{}), cancel: cancel}
	spawn(func() {
		defer close(c.done)
		c.leadership, c.err = p.Elector.Campaign(ctx, candidate)
	})
	return c
}

// elected waits until a campaign leads.
func (p *probe) elected(c *campaign) lease.Leadership {
	p.Helper()
	select {
	case <-c.done:
	case <-p.ctx.Done():
		require.FailNow(p, "nobody was elected in time")
	}
	require.NoError(p, c.err)
	return c.leadership
}

// waits checks that a campaign has not ended.
func (p *probe) waits(c *campaign) {
	p.Helper()
	select {
	case <-c.done:
		require.FailNow(p, "the campaign ended", "leadership %v, error %v", c.leadership, c.err)
	default:
	}
}
