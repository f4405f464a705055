package e2e

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const mebibyte = 1 << 20

// volume is a disk that a test can fill up and empty again.
type volume struct {
	t         *testing.T
	dir       string
	watermark uint64 // what --min-free-disk is to be
	below     uint64 // how far under the watermark a full volume is
	reserve   string // a file whose space is free again when the volume is emptied
	ballast   string
}

// newVolume makes one at dir: a file system of its own in memory. Where this
// process may not mount one, the watermark is laid a little below what is free on
// the disk that is there, and a reserve is set aside above it.
func newVolume(t *testing.T, dir string) *volume {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	v := &volume{t: t, dir: dir, watermark: 32 * mebibyte, below: 16 * mebibyte, ballast: filepath.Join(dir, "ballast")}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256m,mode=700"); err == nil {
		t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
		return v
	}
	v.reserve = filepath.Join(dir, "reserve")
	v.allocate(v.reserve, v.free()/5)
	left := v.free()
	v.below = max(left/50, 256*mebibyte) // others write to this disk too
	require.Greater(t, left, 4*v.below, "this disk is full already")
	v.watermark = left - v.below
	return v
}

// free is what may still be written.
func (v *volume) free() uint64 {
	v.t.Helper()
	var s syscall.Statfs_t
	require.NoError(v.t, syscall.Statfs(v.dir, &s))
	return s.Bavail * uint64(s.Bsize)
}

// fill leaves less than the watermark.
func (v *volume) fill() {
	v.t.Helper()
	free := v.free()
	require.Greater(v.t, free, v.watermark)
	v.allocate(v.ballast, free-v.watermark+v.below)
	require.Less(v.t, v.free(), v.watermark)
}

// empty takes away what filled it.
func (v *volume) empty() {
	v.t.Helper()
	require.NoError(v.t, os.Remove(v.ballast))
	if v.reserve != "" {
		require.NoError(v.t, os.Remove(v.reserve))
	}
	require.Greater(v.t, v.free(), v.watermark+v.watermark/10)
}

// allocate has a file take up space that nothing is written to.
func (v *volume) allocate(name string, n uint64) {
	v.t.Helper()
	f, err := os.Create(name)
	require.NoError(v.t, err)
	require.NoError(v.t, syscall.Fallocate(int(f.Fd()), 0, 0, int64(n)))
	require.NoError(v.t, f.Close())
}
