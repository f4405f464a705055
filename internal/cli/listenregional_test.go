package cli

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/regional"
)

func TestASocketThatWasLeftBehindIsReplacedAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := listenSocket(t.Context(), path)
	require.NoError(t, err)

	_, err = listenSocket(t.Context(), path)
	require.ErrorContains(t, err, "--envoy-socket "+path+": the address is in use by another process")

	unix, ok := l.(*net.UnixListener)
	require.True(t, ok)
	unix.SetUnlinkOnClose(false) // as after a kill
	require.NoError(t, l.Close())
	l, err = listenSocket(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, l.Close())

	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err = listenSocket(t.Context(), path)
	require.ErrorContains(t, err, "something else that is no socket")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(text))

	_, err = listenSocket(t.Context(), filepath.Join(dir, "no", "such"))
	require.ErrorContains(t, err, "--envoy-socket")
}

func TestAllAddressesAreOpenOrNone(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	a := addresses{grpc: "127.0.0.1:0", http: "127.0.0.1:0", proxies: taken.Addr().String()}
	var o regional.Options
	require.ErrorContains(t, a.listen(t.Context(), &o), "--envoy-listen")
	_, err = o.GRPC.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	a.proxies = "127.0.0.1:0"
	o = regional.Options{}
	require.NoError(t, a.listen(t.Context(), &o))
	assert.Len(t, o.Proxies, 1)
	assert.NoError(t, closeAll(&o))
}
