package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestWhatAKilledDrillLeftIsRemoved: directories whose owner is gone, and no other.
func TestWhatAKilledDrillLeftIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	old := time.Now().Add(-2 * youngest)
	create := func(name string, age time.Time) (dir string, lock *os.File) {
		dir = filepath.Join(os.Getenv("TMPDIR"), scratchName+name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		lock, err := os.Create(filepath.Join(dir, scratchLock))
		require.NoError(t, err)
		require.NoError(t, os.Chtimes(lock.Name(), age, age))
		t.Cleanup(func() { require.NoError(t, lock.Close()) })
		return dir, lock
	}
	gone, _ := create("gone", old)
	fresh, _ := create("fresh", time.Now())
	held, lock := create("held", old)
	require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB))

	dir, done, err := scratch()
	require.NoError(t, err)
	require.NoDirExists(t, gone)
	require.DirExists(t, fresh)
	require.DirExists(t, held)
	require.DirExists(t, dir)
	require.NoError(t, done())
	require.NoDirExists(t, dir)
}
