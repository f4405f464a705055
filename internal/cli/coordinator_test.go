package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const soundPolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: q
    match: {key: "*"}
    limit: {tokens: 1000, per: 1m}
    partition: {mode: fail_closed}
`

// coordinatorRun is a coordinator's command that runs in this process.
type coordinatorRun struct {
	t    *testing.T
	args []string
	http string
	out  lockedBuffer
	stop context.CancelFunc
	done chan struct{}
	code int // belongs to the closer of done
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// coordinatorArgs are those of a coordinator with addresses of its own.
func coordinatorArgs(t *testing.T, dir, policy string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(path, []byte(policy), 0o600))
	return []string{
		"--data-dir", dir, "--policy", path, "--listen", freeAddress(t), "--http", freeAddress(t),
		"--etcd-listen-client", freeAddress(t), "--etcd-listen-peer", freeAddress(t), "--min-free-disk", "1",
	}
}

// runCoordinator runs the command until it is stopped, or ends by itself.
func runCoordinator(t *testing.T, args ...string) *coordinatorRun {
	t.Helper()
	r := &coordinatorRun{t: t, args: args, done: make(chan struct{})}
	for i, a := range args {
		if a == "--http" {
			r.http = "http://" + args[i+1]
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() {
		defer close(r.done)
		r.code = Run(ctx, NewCoordinator(), args, io.Discard, &r.out)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
		if t.Failed() {
			t.Log(r.out.String())
		}
	})
	return r
}

func (r *coordinatorRun) exit() int {
	r.t.Helper()
	select {
	case <-r.done:
		return r.code
	case <-time.After(time.Minute):
		require.FailNow(r.t, "the command does not end")
		return -1
	}
}

// leads waits until the coordinator is ready.
func (r *coordinatorRun) leads() {
	r.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	require.Eventually(r.t, func() bool {
		resp, err := client.Get(r.http + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond, "it leads")
}

// TestCoordinatorOnEmbeddedEtcd is the life of a coordinator as an operator
// sees it.
func TestCoordinatorOnEmbeddedEtcd(t *testing.T) {
	args := coordinatorArgs(t, filepath.Join(t.TempDir(), "data"), soundPolicy)

	fresh := runCoordinator(t, args...)
	assert.Equal(t, Failure, fresh.exit(), "an empty store is no cluster by itself")
	assert.Contains(t, fresh.out.String(), "pass --new-cluster once")

	first := runCoordinator(t, append(args, "--new-cluster")...)
	first.leads()
	taken := runCoordinator(t, args...)
	assert.Equal(t, Failure, taken.exit())
	assert.Contains(t, taken.out.String(), "--listen "+args[5]+": the address is in use")
	first.stop()
	assert.Equal(t, OK, first.exit(), "an orderly end")
	assert.Contains(t, first.out.String(), "resigned")
	assert.True(t, strings.HasPrefix(first.out.String(), "coordinator of cluster default serves gRPC on "+args[5]+" and HTTP on "+args[7]+"\n"))

	second := runCoordinator(t, args...)
	second.leads()
	second.stop()
	assert.Equal(t, OK, second.exit())
	assert.NotContains(t, second.out.String(), "WARN")
	assert.Contains(t, second.out.String(), "ttl=1s", "nobody waits long for a lone coordinator that was killed")

	third := runCoordinator(t, append(args, "--election-ttl", "3s")...)
	third.leads()
	third.stop()
	assert.Equal(t, OK, third.exit())
	assert.Contains(t, third.out.String(), "ttl=3s")
}

func TestCoordinatorNamesTheBusyPortOfEtcd(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for _, flag := range []string{"--etcd-listen-client", "--etcd-listen-peer"} {
		r := runCoordinator(t, append(coordinatorArgs(t, filepath.Join(t.TempDir(), "data"), soundPolicy), flag, l.Addr().String())...)
		assert.Equal(t, Failure, r.exit())
		assert.Contains(t, r.out.String(), flag+" "+l.Addr().String()+": the address is in use")
	}
}

func TestCoordinatorRefusesABadPolicy(t *testing.T) {
	args := coordinatorArgs(t, filepath.Join(t.TempDir(), "data"), strings.Replace(soundPolicy, "tokens: 1000", "tokens: -1", 1))
	r := runCoordinator(t, args...)
	assert.Equal(t, Usage, r.exit())
	assert.Contains(t, r.out.String(), "\n"+args[3]+":6:21: limit.tokens: ", "file, line and column begin a line")
	assert.NotContains(t, r.out.String(), "--help", "the usage would not help")
}

func TestCoordinatorOptionsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	sound := coordinatorArgs(t, dir, soundPolicy)
	with := func(more ...string) []string { return append(append([]string(nil), sound...), more...) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--policy must be given"},
		{[]string{"--policy", "p.yaml"}, "--data-dir must be given"},
		{with("--etcd-endpoints", "a:1"), "give one of them"},
		{with("--policy", filepath.Join(dir, "none")), "--policy: open"},
		{with("--ratelimit-config", dir), "two sources of one policy"},
		{[]string{"--ratelimit-config", filepath.Join(dir, "none"), "--data-dir", dir}, "--ratelimit-config: open"},
		{with("--election-ttl", "1500ms"), "--election-ttl 1.5s"},
		{with("--drift", "0"), "--drift 0"},
		{with("--min-free-disk", "0"), "--min-free-disk 0"},
		{with("--max-buckets", "0"), "--max-buckets 0"},
		{with("--report-interval", "1us"), "--report-interval 1µs"},
		{with("--drain-timeout", "0s"), "--drain-timeout 0s"},
		{with("--cluster", "a/b"), `--cluster "a/b"`},
		{with("--log-level", "loud"), "--log-level"},
		{with("--listen", "nowhere"), "--listen nowhere"},
	} {
		r := runCoordinator(t, c.args...)
		assert.Equal(t, Usage, r.exit(), "%v", c.args)
		assert.Contains(t, r.out.String(), c.want)
	}
}
