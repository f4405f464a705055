package etcdstore

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// TestThreeMembers: what is written through one member is read through another,
// also after one of them was killed.
func TestThreeMembers(t *testing.T) {
	var peers []string
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
		require.NoError(t, err)
		peers = append(peers, l.Addr().String())
		require.NoError(t, l.Close())
	}
	dir := t.TempDir()
	var addrs [3]string
	var kills [3]func()
	var started sync.WaitGroup
	for i := range addrs { // none of them gets ready alone
		started.Go(func() {
			addrs[i], kills[i] = startChild(t, filepath.Join(dir, strconv.Itoa(i)), childPeers+"="+strings.Join(peers, ","))
		})
	}
	started.Wait()
	writer := newWorld(t, dial(t, addrs[1]), "c")
	_, err := writer.store.Commit(soon(t), writer.lead(t, "a").Key(), []lease.Write{put("k", "1", 0)})
	require.NoError(t, err)
	kills[0]()
	reader := newWorld(t, dial(t, addrs[2]), "c")
	entries, _, err := reader.store.Get(soon(t), []string{"k"})
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestAMemberMustBeAmongTheMembers(t *testing.T) {
	o := anyPort(t.TempDir())
	o.Name, o.Members = "d", map[string]string{"b": "127.0.0.1:2", "a": "127.0.0.1:1"}
	_, err := Start(t.Context(), o)
	require.ErrorContains(t, err, `"d" is not among the members a=http://127.0.0.1:1,b=http://127.0.0.1:2`)
}
