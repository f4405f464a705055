package etcdstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// TestReopen: entries, revisions and election keys outlive the process.
func TestReopen(t *testing.T) {
	o := anyPort(t.TempDir())
	first := start(t, o)
	client := dial(t, first.ClientAddr())
	w := newWorld(t, client, "c")
	key := w.lead(t, "a").Key()
	r, err := w.store.Commit(soon(t), key, []lease.Write{put("k", "1", 0)})
	require.NoError(t, err)
	before, revision, err := w.store.Get(soon(t), []string{"k"})
	require.NoError(t, err)
	require.NoError(t, client.Close())
	require.NoError(t, first.Close())
	_, open := <-first.Err()
	require.False(t, open, "Close closes Err")

	second := start(t, o)
	w = newWorld(t, dial(t, second.ClientAddr()), "c")
	after, again, err := w.store.Get(soon(t), []string{"k"})
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.GreaterOrEqual(t, again, revision)
	_, err = w.store.Commit(soon(t), key, []lease.Write{put("k", "2", r)})
	require.NoError(t, err, "the key lives as long as its lease")

	// The next leader waits for that lease.
	l := w.lead(t, "a")
	require.Greater(t, l.Key().Revision, key.Revision)
	_, err = w.store.Commit(soon(t), key, nil)
	require.ErrorIs(t, err, lease.ErrFenced)
}

// TestOlderCopy: a restored backup is a store with a lower revision, where later
// leaders have no key.
func TestOlderCopy(t *testing.T) {
	root := t.TempDir()
	o := anyPort(root)
	session := func(f func(world)) {
		e := start(t, o)
		c := dial(t, e.ClientAddr())
		f(newWorld(t, c, "c"))
		require.NoError(t, c.Close())
		require.NoError(t, e.Close())
	}
	var first, revision int64
	session(func(w world) {
		l := w.lead(t, "a")
		var err error
		first, err = w.store.Commit(soon(t), l.Key(), []lease.Write{put("k", "1", 0)})
		require.NoError(t, err)
		require.NoError(t, l.Resign(soon(t)))
	})
	backup := filepath.Join(root, "backup")
	require.NoError(t, os.CopyFS(backup, os.DirFS(o.Dir)))
	var later lease.LeaderKey
	session(func(w world) {
		later = w.lead(t, "a").Key()
		at := first
		for i := range 20 {
			var err error
			at, err = w.store.Commit(soon(t), later, []lease.Write{put("k", fmt.Sprint(i), at)})
			require.NoError(t, err)
		}
		revision = at
	})
	require.NoError(t, os.RemoveAll(o.Dir))
	require.NoError(t, os.Rename(backup, o.Dir))
	session(func(w world) {
		entries, restored, err := w.store.Get(soon(t), []string{"k"})
		require.NoError(t, err)
		require.Equal(t, []lease.Entry{{Key: "k", Value: []byte("1"), Revision: first}}, entries)
		require.Less(t, restored, revision)
		_, err = w.store.Commit(soon(t), later, []lease.Write{put("k", "2", first)})
		require.ErrorIs(t, err, lease.ErrFenced)
	})
}

func TestBusyAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	busy := l.Addr().String()
	for role, set := range map[string]func(*EmbeddedOptions){
		"client": func(o *EmbeddedOptions) { o.ClientAddr = busy },
		"peer":   func(o *EmbeddedOptions) { o.PeerAddr = busy },
	} {
		o := anyPort(t.TempDir())
		set(&o)
		_, err := Start(t.Context(), o)
		var address *AddressError
		require.ErrorAs(t, err, &address)
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		assert.Equal(t, role, address.Role)
		assert.Equal(t, fmt.Sprintf("etcdstore: %s address %s is in use by another process", role, busy), err.Error())
		assert.NoDirExists(t, o.Dir, "nothing was begun")
	}
}

func TestLockedDirectory(t *testing.T) {
	o := anyPort(t.TempDir())
	e := start(t, o)
	_, err := Start(t.Context(), o)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, o.Dir)
	require.NoError(t, e.Close())

	// A plain etcd holds the lock of its database alone.
	database, err := flock(filepath.Join(o.Dir, "member", "snap", "db"), os.O_RDWR)
	require.NoError(t, err)
	_, err = Start(t.Context(), o)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, database.Close())
	start(t, o)
}

func TestStartGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := anyPort(t.TempDir())
	_, err := Start(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	start(t, o)

	_, err = Start(t.Context(), EmbeddedOptions{})
	require.ErrorContains(t, err, "Dir")
	_, err = Start(t.Context(), EmbeddedOptions{Dir: "d", QuotaBytes: -1})
	require.ErrorContains(t, err, "QuotaBytes -1")
}

// TestErr: an etcd that ends by itself is noticed.
func TestErr(t *testing.T) {
	e := start(t, anyPort(t.TempDir()))
	e.etcd.Server.Stop()
	select {
	case err := <-e.Err():
		require.Error(t, err)
	case <-soon(t).Done():
		require.FailNow(t, "nobody noticed")
	}
}

// TestStoppedMidCommit (SYNC-09): whatever a commit said while its etcd stopped
// or was killed is true of the store that comes back.
func TestStoppedMidCommit(t *testing.T) {
	for name, run := range map[string]func(*testing.T, EmbeddedOptions, func(addr string) (stopped func())){
		"closed": func(t *testing.T, o EmbeddedOptions, work func(string) func()) {
			e := start(t, o)
			stopped := work(e.ClientAddr())
			require.NoError(t, e.Close())
			stopped()
		},
		"killed": func(t *testing.T, o EmbeddedOptions, work func(string) func()) {
			addr, kill := startChild(t, filepath.Dir(o.Dir))
			stopped := work(addr)
			kill()
			stopped()
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := anyPort(t.TempDir())
			var said []answer
			run(t, o, func(addr string) func() {
				client := dial(t, addr)
				w := newWorld(t, client, "c")
				key := w.lead(t, "a").Key()
				done := make(chan []answer, 1)
				var commits atomic.Int64
				ctx, cancel := context.WithCancel(soon(t))
				go func() { done <- hammer(ctx, w.store, key, &commits) }()
				until(soon(t), t, "commits are made", func() bool { return commits.Load() > 50 })
				return func() {
					cancel() // some found no connection and wait for one
					said = <-done
					require.NoError(t, client.Close())
				}
			})
			e := start(t, o)
			check(t, newWorld(t, dial(t, e.ClientAddr()), "c").store, said)
		})
	}
}

// answer is what a commit of one new record said.
type answer struct {
	key      string
	revision int64
	err      error
}

// hammer commits new records from several callers until each met an error.
func hammer(ctx context.Context, s *Store, leader lease.LeaderKey, commits *atomic.Int64) []answer {
	const callers = 8
	answers := make(chan []answer, callers)
	for caller := range callers {
		go func() {
			var mine []answer
			for i := 0; ; i++ {
				a := answer{key: fmt.Sprintf("%d/%d", caller, i)}
				a.revision, a.err = s.Commit(ctx, leader, []lease.Write{put(a.key, "1", 0)})
				mine = append(mine, a)
				commits.Add(1)
				if a.err != nil {
					break
				}
			}
			answers <- mine
		}()
	}
	var all []answer
	for range callers {
		all = append(all, <-answers...)
	}
	return all
}

// check holds what was said against what is there.
func check(t *testing.T, s *Store, said []answer) {
	t.Helper()
	ctx := soon(t)
	failed := 0
	for _, a := range said {
		entries, _, err := s.Get(ctx, []string{a.key})
		require.NoError(t, err)
		switch {
		case a.err == nil:
			require.Len(t, entries, 1, "%q was acknowledged", a.key)
			require.Equal(t, a.revision, entries[0].Revision)
		case errors.Is(a.err, lease.ErrUnknown):
			failed++
		default:
			require.ErrorIs(t, a.err, lease.ErrUnavailable)
			require.Empty(t, entries, "%q was surely not written: %v", a.key, a.err)
			failed++
		}
	}
	require.Positive(t, failed, "it did not stop in the middle")
}

// startChild runs an etcd in a process of its own. extra are variables of its
// environment.
func startChild(t *testing.T, dir string, extra ...string) (addr string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childDir+"="+dir), extra...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it says that it was killed
		_ = stdin.Close()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line), kill
}

// TestKilledLeader: a standby leads once the lease of a leader that says nothing
// more has ended, and not before. How long that took is logged.
func TestKilledLeader(t *testing.T) {
	e := start(t, anyPort(t.TempDir()))
	client := dial(t, e.ClientAddr())
	w := newWorld(t, client, "c")
	w.elector.ttl = DefaultTTL
	a := w.lead(t, "a")
	require.Equal(t, DefaultTTL, a.TTL())
	done := campaign(soon(t), w.elector, "b")
	require.NoError(t, a.Prove(soon(t)))
	proved := time.Now()
	b := <-done
	require.NoError(t, b.err)
	took := time.Since(proved)
	t.Logf("elected %v after the last proof", took)
	require.GreaterOrEqual(t, took, a.TTL(), "an election lease is a minimum")
}
