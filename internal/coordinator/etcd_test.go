package coordinator

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/etcdstore"
)

// etcd starts one that the test may stop before its end.
func etcd(t *testing.T, o etcdstore.EmbeddedOptions) *etcdstore.Embedded {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	var e *etcdstore.Embedded
	eventually(t, "etcd starts", func() (ok bool) {
		var err error
		e, err = etcdstore.Start(t.Context(), o)
		return err == nil
	})
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// on has a coordinator keep its records in an external etcd.
func on(t *testing.T, addr string) func(*Options) {
	t.Helper()
	return func(o *Options) {
		b, err := OpenEtcd(context.Background(), EtcdOptions{Endpoints: []string{addr}, ElectionTTL: time.Second, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		o.Backing = *b
	}
}

// TestOnAnEtcdThatIsExternal has two coordinators share one: it stops and comes
// back, and then the leader leaves.
func TestOnAnEtcdThatIsExternal(t *testing.T) {
	r := newRig(t, time.Second)
	data := etcdstore.EmbeddedOptions{Dir: filepath.Join(t.TempDir(), "etcd"), ClientAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0"}
	e := etcd(t, data)
	data.ClientAddr = e.ClientAddr()
	first := r.start(on(t, e.ClientAddr())).leads()
	h := first.join(identity("us", 1)).hello()
	g := h.want("k", 100)

	require.NoError(t, e.Close())
	eventually(t, "the leader says that its store is away", func() bool { _, code := first.get("/readyz"); return code == 503 })
	etcd(t, data)
	first.leads()
	again := first.join(h.id)
	again.hello(claimOf(h.welcome.Session, g))
	again.want("other", 10)

	second := r.start(on(t, e.ClientAddr())).standsBy()
	first.stop()
	require.NoError(t, first.ended())
	second.leads()
	st := second.status()
	assert.True(t, strings.HasPrefix(st.Epoch, "1."), "no history was lost: %s", st.Epoch)
	assert.Nil(t, st.Disk, "the disk is another machine's")
	second.join(identity("us", 1)).hello().want("third", 10)
}

func TestOpenEtcdRefusesWhatItCannotUse(t *testing.T) {
	_, err := OpenEtcd(t.Context(), EtcdOptions{})
	require.ErrorContains(t, err, "data directory")
	_, err = OpenEtcd(t.Context(), EtcdOptions{Endpoints: []string{"127.0.0.1:1"}, ElectionTTL: time.Millisecond})
	require.ErrorContains(t, err, "election TTL")
	_, err = OpenEtcd(t.Context(), EtcdOptions{Endpoints: []string{"127.0.0.1:1"}, Cluster: "a/b"})
	require.ErrorContains(t, err, "cluster name")
}
