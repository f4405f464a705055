package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/a1009580/leasehold/lease"
)

// DiskFree returns the bytes that an unprivileged process may still write to the
// file system of dir, and the size of that file system.
func DiskFree(dir string) (free, total uint64, err error) {
	var st unix.Statfs_t
	for {
		if err = unix.Statfs(dir, &st); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("etcdstore: free space of %s: %w", dir, err)
	}
	block := uint64(st.Bsize)
	return st.Bavail * block, st.Blocks * block, nil
}

// DefaultWatermark is the free disk space below which an embedded etcd takes no
// more writes: 512 MiB, several of its log segments of 64 MB.
const DefaultWatermark = 512 << 20

// Watermark is a store that stops taking writes before its disk is full, since
// an etcd whose disk is full ends its process and all its answers. Reads and
// elections go on: the leader stays, and says why it grants nothing.
type Watermark struct {
	lease.Store
	free       func() (uint64, error)
	low, clear uint64

	mu    sync.Mutex
	short bool // belongs to mu
}

// NewWatermark guards a store: Commit fails with ErrNoSpace from when free
// returns less than low bytes until it returns a tenth more than low. A low of 0
// means DefaultWatermark. free is called for every Commit, maybe concurrently.
func NewWatermark(store lease.Store, low uint64, free func() (uint64, error)) *Watermark {
	if low == 0 {
		low = DefaultWatermark
	}
	clearAt := low + low/10
	if clearAt < low {
		clearAt = math.MaxUint64
	}
	return &Watermark{Store: store, free: free, low: low, clear: clearAt}
}

// Commit implements lease.Store. When the free space cannot be told it fails
// with ErrUnavailable: such a disk is not to be written to either.
func (w *Watermark) Commit(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
	free, err := w.free()
	if err != nil {
		return 0, unavailable(err)
	}
	if w.update(free) {
		return 0, fmt.Errorf("%w: %d bytes are free, and writes stop below %d until %d are", lease.ErrNoSpace, free, w.low, w.clear)
	}
	return w.Store.Commit(ctx, leader, writes)
}

// Short reports whether the last Commit was refused for want of space.
func (w *Watermark) Short() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.short
}

func (w *Watermark) update(free uint64) (short bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.short {
		w.short = free < w.clear
	} else {
		w.short = free < w.low
	}
	return w.short
}
