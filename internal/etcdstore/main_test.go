package etcdstore

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/a1009580/leasehold/lease"
)

// childDir makes this test binary be an etcd on that directory, so that a test
// can kill it.
const childDir = "LEASEHOLD_TEST_ETCD_DIR"

// childPeers makes the child one member of several: the addresses of all, of
// which its own is the one that the last part of its directory counts.
const childPeers = "LEASEHOLD_TEST_ETCD_PEERS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(dir))
	}
	goleak.VerifyTestMain(m)
}

// child runs an etcd until its standard input ends, and tells its address.
func child(dir string) int {
	o := anyPort(dir)
	if peers := os.Getenv(childPeers); peers != "" {
		o.Members = map[string]string{}
		for i, addr := range strings.Split(peers, ",") {
			o.Members[strconv.Itoa(i)] = addr
		}
		o.Name = filepath.Base(dir)
		o.PeerAddr = o.Members[o.Name]
	}
	e, err := Start(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(e.ClientAddr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// quiet discards what etcd says; a fatal error still ends the process, and -v
// shows it.
func quiet() *slog.Logger {
	if testing.Verbose() {
		return slog.Default()
	}
	return slog.New(slog.DiscardHandler)
}

func anyPort(dir string) EmbeddedOptions {
	o := EmbeddedOptions{Dir: filepath.Join(dir, "etcd"), ClientAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0"}
	if os.Getenv(childDir) == "" {
		o.Logger = quiet()
	}
	return o
}

// start returns an etcd that the test closes at its end, if not before.
func start(t testing.TB, o EmbeddedOptions) *Embedded {
	t.Helper()
	e, err := Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// dial returns a client that the test closes at its end, if not before.
func dial(t testing.TB, addr string) *Client {
	t.Helper()
	c, err := Dial(DialOptions{Endpoints: []string{addr}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// world is one cluster on one etcd.
type world struct {
	store   *Store
	elector *Elector
}

func newWorld(t testing.TB, c *Client, cluster string) world {
	t.Helper()
	s, err := NewStore(c, cluster)
	require.NoError(t, err)
	e, err := NewElector(c, cluster, ElectorOptions{TTL: time.Second, Logger: quiet()})
	require.NoError(t, err)
	return world{s, e}
}

// lead returns a leadership that nobody else wants.
func (w world) lead(t testing.TB, name string) lease.Leadership {
	t.Helper()
	l, err := w.elector.Campaign(soon(t), name)
	require.NoError(t, err)
	return l
}

// soon is how long a test waits for what must happen.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// standing returns who stands, the leader first.
func (e *Elector) standing(ctx context.Context) ([]string, error) {
	resp, err := e.client.etcd.Get(ctx, e.prefix, prefixByAge...)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(resp.Kvs))
	for _, kv := range resp.Kvs {
		names = append(names, string(kv.GetValue()))
	}
	return names, nil
}

// until waits for a condition that asks etcd, which paces it.
func until(ctx context.Context, t testing.TB, what string, condition func() bool) {
	t.Helper()
	for !condition() {
		require.NoError(t, ctx.Err(), "waited for: %s", what)
	}
}

func put(key, value string, expect int64) lease.Write {
	return lease.Write{Key: key, Value: []byte(value), Expect: expect}
}
