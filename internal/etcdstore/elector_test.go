package etcdstore

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// outcome is how a Campaign ended.
type outcome struct {
	leadership lease.Leadership
	err        error
}

func campaign(ctx context.Context, e *Elector, name string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		l, err := e.Campaign(ctx, name)
		done <- outcome{l, err}
	}()
	return done
}

// TestCampaignBeforeTheStore (FAIL-03): a coordinator that starts before its
// store waits for it.
func TestCampaignBeforeTheStore(t *testing.T) {
	etcd := start(t, anyPort(t.TempDir()))
	p := newProxy(t, etcd.ClientAddr())
	p.mode.Store(severed)
	w := newWorld(t, dial(t, p.addr()), "c")
	done := campaign(soon(t), w.elector, "a")
	ctx, cancel := context.WithTimeout(soon(t), time.Second) // the campaign gives up on several attempts
	defer cancel()
	_, _, err := w.elector.Leader(ctx)
	require.ErrorIs(t, err, lease.ErrUnavailable)
	select {
	case o := <-done:
		require.FailNow(t, "the campaign ended", "%v", o)
	default:
	}
	p.mode.Store(open)
	o := <-done
	require.NoError(t, o.err)
	require.NoError(t, o.leadership.Prove(soon(t)))

	// Nor does it wait for ever.
	p.mode.Store(severed)
	p.cut()
	ctx, cancel = context.WithTimeout(soon(t), 100*time.Millisecond)
	defer cancel()
	_, err = w.elector.Campaign(ctx, "b")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestCandidateCutOff (LSE-05): a standby whose link is down for longer than its
// lease has no place in the queue; it stands again, and leads with a key that
// exists.
func TestCandidateCutOff(t *testing.T) {
	etcd := start(t, anyPort(t.TempDir()))
	p := newProxy(t, etcd.ClientAddr())
	direct := newWorld(t, dial(t, etcd.ClientAddr()), "c")
	proxied := newWorld(t, dial(t, p.addr()), "c")
	a := direct.lead(t, "a")
	ctx := soon(t)
	stand := func(names ...string) {
		t.Helper()
		until(ctx, t, "these stand", func() bool {
			if err := a.Prove(ctx); err != nil {
				require.NoError(t, err)
			}
			standing, err := direct.elector.standing(ctx)
			return err == nil && slices.Equal(standing, names)
		})
	}
	done := campaign(ctx, proxied.elector, "b")
	stand("a", "b")
	p.mode.Store(severed)
	p.cut()
	stand("a") // b's lease ended
	c := campaign(ctx, direct.elector, "c")
	stand("a", "c")
	p.mode.Store(open)
	stand("a", "c", "b")
	require.NoError(t, a.Resign(ctx))
	third := <-c
	require.NoError(t, third.err)
	require.NoError(t, third.leadership.Resign(ctx))
	b := <-done
	require.NoError(t, b.err)
	require.NoError(t, b.leadership.Prove(ctx))
	_, err := direct.store.Commit(ctx, b.leadership.Key(), []lease.Write{put("k", "1", 0)})
	require.NoError(t, err)
}

// TestCandidateCutOffAtTheTurn (LSE-05): the leader goes while the only standby
// is cut off.
func TestCandidateCutOffAtTheTurn(t *testing.T) {
	etcd := start(t, anyPort(t.TempDir()))
	p := newProxy(t, etcd.ClientAddr())
	direct := newWorld(t, dial(t, etcd.ClientAddr()), "c")
	proxied := newWorld(t, dial(t, p.addr()), "c")
	ctx := soon(t)
	a := direct.lead(t, "a")
	done := campaign(ctx, proxied.elector, "b")
	until(ctx, t, "b stands", func() bool {
		standing, err := direct.elector.standing(ctx)
		return err == nil && len(standing) == 2
	})
	p.mode.Store(severed)
	p.cut()
	require.NoError(t, a.Resign(ctx))
	until(ctx, t, "b's key is gone", func() bool {
		standing, err := direct.elector.standing(ctx)
		return err == nil && len(standing) == 0
	})
	select {
	case o := <-done:
		require.FailNow(t, "a leader without a key", "%v", o)
	default:
	}
	p.mode.Store(open)
	b := <-done
	require.NoError(t, b.err)
	require.NoError(t, b.leadership.Prove(ctx))
}

// TestProveCutOff: nothing is proved, and nothing is said to be lost.
func TestProveCutOff(t *testing.T) {
	etcd := start(t, anyPort(t.TempDir()))
	p := newProxy(t, etcd.ClientAddr())
	w := newWorld(t, dial(t, p.addr()), "c")
	w.elector.ttl = time.Minute
	l := w.lead(t, "a")
	assert.Equal(t, time.Minute, l.TTL())
	p.mode.Store(severed)
	p.cut()
	ctx, cancel := context.WithTimeout(soon(t), 50*time.Millisecond)
	defer cancel()
	err := l.Prove(ctx)
	require.ErrorIs(t, err, lease.ErrUnavailable)
	require.NotErrorIs(t, err, lease.ErrFenced)

	// Answers that do not come end with the caller's patience.
	p.mode.Store(open)
	until(soon(t), t, "the connection is back", func() bool { return l.Prove(soon(t)) == nil })
	p.mode.Store(deaf)
	ctx, cancel = context.WithTimeout(soon(t), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, l.Prove(ctx), lease.ErrUnavailable)

	// Resigning tries for as long as it is let (LSE-07).
	p.mode.Store(severed)
	p.cut()
	ctx, cancel = context.WithTimeout(soon(t), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, l.Resign(ctx), lease.ErrUnavailable)
	resigned := make(chan error, 1)
	go func() { resigned <- l.Resign(soon(t)) }()
	p.mode.Store(open)
	require.NoError(t, <-resigned)
	require.ErrorIs(t, l.Prove(soon(t)), lease.ErrFenced)
}
