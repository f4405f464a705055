package etcdstore

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a1009580/leasehold/lease"
)

// fakeKV answers transactions as it is told.
type fakeKV struct {
	etcdserverpb.UnimplementedKVServer
	calls  atomic.Int64
	answer func(*etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error)
}

func (f *fakeKV) Txn(_ context.Context, r *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	f.calls.Add(1)
	return f.answer(r)
}

// serve returns a store whose etcd is f.
func (f *fakeKV) serve(t *testing.T) *Store {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	etcdserverpb.RegisterKVServer(server, f)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-done)
	})
	s, err := NewStore(dial(t, l.Addr().String()), "fake")
	require.NoError(t, err)
	return s
}

var someLeader = lease.LeaderKey{Key: "leasehold/fake/election/1", Revision: 7}

// TestCommitErrors gives every answer that a server may have its one meaning,
// after one attempt: an answer that says that time is up, too, though the
// caller's is not (SYNC-09, and law 2).
func TestCommitErrors(t *testing.T) {
	for _, c := range []struct {
		answer error
		want   error
	}{
		{rpctypes.ErrGRPCRequestTooLarge, lease.ErrTooLarge},
		{rpctypes.ErrGRPCTooManyOps, lease.ErrTooLarge},
		{rpctypes.ErrGRPCRequestTooManyRequests, lease.ErrUnavailable},
		{rpctypes.ErrGRPCPermissionDenied, lease.ErrUnavailable},
		{rpctypes.ErrGRPCInvalidAuthToken, lease.ErrUnavailable},
		{rpctypes.ErrGRPCAuthOldRevision, lease.ErrUnavailable},
		{rpctypes.ErrGRPCUserEmpty, lease.ErrUnavailable},
		{rpctypes.ErrGRPCNotCapable, lease.ErrUnavailable},

		{rpctypes.ErrGRPCTimeout, lease.ErrUnknown},
		{rpctypes.ErrGRPCTimeoutDueToLeaderFail, lease.ErrUnknown},
		{rpctypes.ErrGRPCTimeoutDueToConnectionLost, lease.ErrUnknown},
		{rpctypes.ErrGRPCLeaderChanged, lease.ErrUnknown},
		{rpctypes.ErrGRPCNoLeader, lease.ErrUnknown},
		{rpctypes.ErrGRPCStopped, lease.ErrUnknown},
		{rpctypes.ErrGRPCCanceled, lease.ErrUnknown},
		{rpctypes.ErrGRPCDeadlineExceeded, lease.ErrUnknown},
		{rpctypes.ErrGRPCCorrupt, lease.ErrUnknown},
		{status.Error(codes.Canceled, "context canceled"), lease.ErrUnknown},
		{status.Error(codes.DeadlineExceeded, "context deadline exceeded"), lease.ErrUnknown},
		{status.Error(codes.Unavailable, "there is no connection available"), lease.ErrUnknown},
		{status.Error(codes.Unavailable, "transport is closing"), lease.ErrUnknown},
		{status.Error(codes.ResourceExhausted, "somebody's limit"), lease.ErrUnknown},
		{status.Error(codes.Unknown, "raft: stopped"), lease.ErrUnknown},
	} {
		t.Run(c.answer.Error(), func(t *testing.T) {
			f := &fakeKV{answer: func(*etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) { return nil, c.answer }}
			_, err := f.serve(t).Commit(soon(t), someLeader, []lease.Write{put("k", "1", 0)})
			require.ErrorIs(t, err, c.want)
			assert.Equal(t, int64(1), f.calls.Load(), "attempts")
		})
	}
}

// TestCommitNoSpace: etcd says "no space" also of a transaction that it applied,
// so only a look at the records tells.
func TestCommitNoSpace(t *testing.T) {
	for _, c := range []struct {
		name     string
		expect   int64
		revision int64 // what the look finds; 0 is nothing
		look     error
		want     error
	}{
		{"an absent record is absent", 0, 0, nil, lease.ErrNoSpace},
		{"a record is as it was", 5, 5, nil, lease.ErrNoSpace},
		{"a record was written", 5, 9, nil, lease.ErrUnknown},
		{"a record was created", 0, 9, nil, lease.ErrUnknown},
		{"a record was deleted", 5, 0, nil, lease.ErrUnknown},
		{"nobody can tell", 5, 5, rpctypes.ErrGRPCStopped, lease.ErrUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeKV{answer: func(r *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
				if len(r.GetCompare()) > 0 {
					return nil, rpctypes.ErrGRPCNoSpace
				}
				found := &etcdserverpb.RangeResponse{}
				if c.revision > 0 {
					found.Kvs = append(found.Kvs, &mvccpb.KeyValue{ModRevision: c.revision})
				}
				return &etcdserverpb.TxnResponse{Header: &etcdserverpb.ResponseHeader{}, Responses: []*etcdserverpb.ResponseOp{
					rangeResponse(&etcdserverpb.RangeResponse{}), rangeResponse(found),
				}}, c.look
			}}
			_, err := f.serve(t).Commit(soon(t), someLeader, []lease.Write{put("k", "1", c.expect)})
			require.ErrorIs(t, err, c.want)
			if c.want != lease.ErrNoSpace { //nolint:errorlint // the sentinel itself
				require.NotErrorIs(t, err, lease.ErrNoSpace)
			}
		})
	}
}

func rangeResponse(r *etcdserverpb.RangeResponse) *etcdserverpb.ResponseOp {
	return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: r}}
}

// TestCommitNotSent: what no connection took was surely not written.
func TestCommitNotSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	silent, err := NewStore(dial(t, addr), "c")
	require.NoError(t, err)
	writes := []lease.Write{put("k", "1", 0)}

	// Somebody listens and never says a word.
	ctx, cancel := context.WithTimeout(soon(t), 50*time.Millisecond)
	defer cancel()
	_, err = silent.Commit(ctx, someLeader, writes)
	require.ErrorIs(t, err, lease.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	// Nobody listens.
	require.NoError(t, l.Close())
	refused, err := NewStore(dial(t, addr), "c")
	require.NoError(t, err)
	ctx, cancel = context.WithTimeout(soon(t), 50*time.Millisecond)
	defer cancel()
	_, err = refused.Commit(ctx, someLeader, writes)
	require.ErrorIs(t, err, lease.ErrUnavailable)
	require.NotErrorIs(t, err, lease.ErrUnknown)
	ctx, cancel = context.WithTimeout(soon(t), 50*time.Millisecond)
	defer cancel()
	_, _, err = refused.Get(ctx, []string{"k"})
	require.ErrorIs(t, err, lease.ErrUnavailable)
	ctx, cancel = context.WithTimeout(soon(t), 50*time.Millisecond)
	defer cancel()
	_, _, err = refused.Scan(ctx, "", "", 1)
	require.ErrorIs(t, err, lease.ErrUnavailable)

	// The client is closed.
	require.NoError(t, refused.client.Close())
	_, err = refused.Commit(soon(t), someLeader, writes)
	require.ErrorIs(t, err, lease.ErrUnavailable)
}

// TestCommitAnswerLost: a transaction that was sent and not answered is in
// doubt, and here it was written.
func TestCommitAnswerLost(t *testing.T) {
	etcd := start(t, anyPort(t.TempDir()))
	p := newProxy(t, etcd.ClientAddr())
	direct := newWorld(t, dial(t, etcd.ClientAddr()), "c")
	proxied := newWorld(t, dial(t, p.addr()), "c")
	direct.elector.ttl = time.Minute
	key := direct.lead(t, "a").Key()
	_, err := proxied.store.Commit(soon(t), key, []lease.Write{put("k", "1", 0)})
	require.NoError(t, err)

	p.mode.Store(deaf)
	ctx, cancel := context.WithCancel(soon(t))
	done := make(chan error, 1)
	go func() {
		_, err := proxied.store.Commit(ctx, key, []lease.Write{put("new", "1", 0)})
		done <- err
	}()
	until(soon(t), t, "the write arrives", func() bool {
		entries, _, err := direct.store.Get(soon(t), []string{"new"})
		return err == nil && len(entries) == 1
	})
	cancel()
	require.ErrorIs(t, <-done, lease.ErrUnknown)

	// A connection that breaks leaves it in doubt as well.
	p.mode.Store(open)
	p.cut()
	until(soon(t), t, "the connection is back", func() bool {
		_, _, err := proxied.store.Get(soon(t), nil)
		return err == nil
	})
	p.mode.Store(deaf)
	go func() {
		_, err := proxied.store.Commit(soon(t), key, []lease.Write{put("newer", "1", 0)})
		done <- err
	}()
	until(soon(t), t, "the write arrives", func() bool {
		entries, _, err := direct.store.Get(soon(t), []string{"newer"})
		return err == nil && len(entries) == 1
	})
	p.cut()
	require.ErrorIs(t, <-done, lease.ErrUnknown)
}

func TestCommitTooManyBytes(t *testing.T) {
	f := &fakeKV{}
	s := f.serve(t)
	_, err := s.Commit(soon(t), someLeader, []lease.Write{{Key: "k", Value: make([]byte, MaxTxnBytes)}})
	require.ErrorIs(t, err, lease.ErrTooLarge)
	assert.Zero(t, f.calls.Load(), "it was sent")
}

func TestNames(t *testing.T) {
	c := dial(t, "127.0.0.1:1")
	for _, bad := range []string{"", "/", "a/data"} {
		_, err := NewStore(c, bad)
		require.ErrorContains(t, err, "cluster name", "%q", bad)
		_, err = NewElector(c, bad, ElectorOptions{})
		require.ErrorContains(t, err, "cluster name", "%q", bad)
	}
	for _, bad := range []time.Duration{time.Millisecond, 1500 * time.Millisecond, -time.Second} {
		_, err := NewElector(c, "c", ElectorOptions{TTL: bad})
		require.ErrorContains(t, err, "whole seconds", "%v", bad)
	}
	e, err := NewElector(c, "c", ElectorOptions{})
	require.NoError(t, err)
	assert.Equal(t, DefaultTTL, e.ttl)
}
