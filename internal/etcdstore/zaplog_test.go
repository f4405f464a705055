package etcdstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.uber.org/zap"

	"github.com/a1009580/leasehold/lease"
)

// written returns what one record of etcd becomes.
func written(log func(*zap.Logger)) string {
	var out bytes.Buffer
	log(zapLogger(slog.New(slog.NewTextHandler(&out, nil)), new(atomic.Bool)))
	return out.String()
}

// etcd logs slow and failed requests whole, and a key of a bucket may be a
// credential: it must not reach a log, in whatever field and form.
func TestNoKeyIsLogged(t *testing.T) {
	const secret = "sk-live-PLANTED"
	key := "leasehold/default/data/b/api/partner-key\x00" + secret
	request := &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte(key)}}
	fields := []zap.Field{
		zap.Duration("took", 300*time.Millisecond), zap.Duration("expected-duration", 100*time.Millisecond),
		zap.Int("request size", 77), zap.Int64("revision", 12), zap.Bool("ok", true),
		zap.String("local-member-id", "8e9e05c52164694d"),
		zap.String("prefix", "read-only range "+key), zap.String("request", request.String()),
		zap.String("request content", "key:"+secret), zap.String("response", secret), zap.String("path", "/data/"+key),
		zap.Stringer("raft-request", request), zap.Any("entry", request), zap.ByteString("key", []byte(key)),
		zap.Binary("value", []byte(secret)), zap.Strings("keys", []string{key}), zap.Reflect("r", map[string]string{"k": secret}),
		zap.NamedError("cause", errors.New(secret)), zap.Namespace("inner"), zap.Stack("stack"),
		zap.Error(fmt.Errorf("no such key %q", key)),
	}
	out := written(func(l *zap.Logger) { l.With(fields...).Warn("apply request took too long", fields...) })
	assert.NotContains(t, out, secret)
	assert.NotContains(t, out, "partner-key")
	assert.Contains(t, out, "apply request took too long")
	for _, useful := range []string{"took=300ms", "etcd.expected-duration=100ms", "size\"=77", "revision=12", "local-member-id=8e9e05c52164694d"} {
		assert.Contains(t, out, useful)
	}
	out = written(func(l *zap.Logger) { l.Sugar().Errorf("cannot apply %s", key) })
	assert.NotContains(t, out, secret)
	assert.Contains(t, out, "withheld")

	out = written(func(l *zap.Logger) {
		l.Error("cannot write", zap.String("path", "/var/lib/leasehold/db"), zap.Error(errors.New("/var/lib/leasehold: disk is full")))
	})
	assert.Contains(t, out, "etcd.path=/var/lib/leasehold/db")
	assert.Contains(t, out, "disk is full", "an error that quotes no key is told")
}

// A leader logs why it steps down and shows it to whoever asks.
func TestNoErrorTellsAKey(t *testing.T) {
	const secret = "sk-live-PLANTED"
	key := lease.BucketID{Quota: "api/partner-key", Key: secret}.StoreKey()
	w := newWorld(t, dial(t, start(t, anyPort(t.TempDir())).ClientAddr()), "c")
	w.elector.ttl = time.Minute
	leader := w.lead(t, "a").Key()
	_, conflict := w.store.Commit(soon(t), leader, []lease.Write{put(key, "1", 7)})
	require.ErrorIs(t, conflict, lease.ErrConflict)
	_, err := w.store.Commit(soon(t), leader, []lease.Write{put(key, "1", 0)})
	require.NoError(t, err)
	written := w.store.noSpace(soon(t), leader, []lease.Write{put(key, "1", 0)}, errors.New("no space"))
	require.ErrorIs(t, written, lease.ErrUnknown)
	for _, err := range []error{conflict, written} {
		assert.NotContains(t, err.Error(), secret)
		assert.Contains(t, err.Error(), "api/partner-key", "the quota is told")
	}
}

// What every healthy start says is left out, and only with its known cause.
func TestChatterIsKnownByItsCause(t *testing.T) {
	say := func(cause string) string {
		return written(func(l *zap.Logger) { l.Error("failed to update storage version", zap.Error(errors.New(cause))) })
	}
	assert.Empty(t, say("cannot detect storage schema version: missing term information"))
	assert.Contains(t, say("the disk is on fire"), "on fire")
	assert.Empty(t, written(func(l *zap.Logger) { l.Warn("simple token is not cryptographically signed") }))
}
