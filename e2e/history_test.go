package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheDataDirectoryIsWiped under load, and the operator says that the cluster
// is new: the regions know better (law 13). All of them have seen the old
// history, so that there is no exception to the promise.
func TestTheDataDirectoryIsWiped(t *testing.T) {
	c := small(t)
	l := c.hammerAll()
	l.more(t, -1, burst+tokens, "the load is on")
	k := c.coordinators[0]
	k.kill()
	require.NoError(t, os.RemoveAll(k.dir))
	k.launch() // with --new-cluster, as at first
	l.more(t, -1, burst+2*tokens, "grants flow again")
	l.judge(t, promise())
}

// TestTheDataDirectoryIsRestored from a copy that is some seconds old, under
// load.
func TestTheDataDirectoryIsRestored(t *testing.T) {
	c := small(t)
	l := c.hammerAll()
	l.more(t, -1, tokens, "the load is on")
	k := c.coordinators[0]
	k.kill()
	old := filepath.Join(c.dir, "copy")
	require.NoError(t, os.CopyFS(old, os.DirFS(k.dir)))
	k.launch()
	l.more(t, -1, burst+2*tokens, "grants flow again")
	k.kill()
	require.NoError(t, os.RemoveAll(k.dir))
	require.NoError(t, os.CopyFS(k.dir, os.DirFS(old)))
	k.launch()
	l.more(t, -1, burst+2*tokens, "grants flow again, of the old copy")
	l.judge(t, promise())
}
