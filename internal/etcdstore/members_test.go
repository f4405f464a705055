package etcdstore

import (
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
	key := writer.lead(t, "a").Key()
	require.Eventually(t, func() bool { // members that have just started may still change their leader
		_, err := writer.store.Commit(soon(t), key, []lease.Write{put("k", "1", 0)})
		return err == nil || errors.Is(err, lease.ErrConflict) // it was written after all
	}, 30*time.Second, 50*time.Millisecond)
	kills[0]()
	reader := newWorld(t, dial(t, addrs[2]), "c")
	require.Eventually(t, func() bool { // it may have been the leader that was killed
		entries, _, err := reader.store.Get(soon(t), []string{"k"})
		return err == nil && len(entries) == 1
	}, 30*time.Second, 50*time.Millisecond)
}

func TestAMemberMustBeAmongTheMembers(t *testing.T) {
	o := anyPort(t.TempDir())
	o.Name, o.Members = "d", map[string]string{"b": "127.0.0.1:2", "a": "127.0.0.1:1"}
	_, err := Start(t.Context(), o)
	require.ErrorContains(t, err, `"d" is not among the members a=http://127.0.0.1:1,b=http://127.0.0.1:2`)
}
