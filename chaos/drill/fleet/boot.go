package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// look is how often it is asked whether something has come about.
const look = 20 * time.Millisecond

// until waits until a condition holds.
func until(ctx context.Context, what string, condition func() bool) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// Boot starts everything, and returns when every region leases.
func (f *Fleet) Boot(ctx context.Context) error {
	if err := f.StartStore(ctx); err != nil {
		return err
	}
	if err := start(f.Of(result.Region)); err != nil {
		return err
	}
	for _, r := range f.Of(result.Region) {
		if err := f.Ready(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// StartStore starts etcd and the coordinators, of which the first is to lead, and
// returns when one of them grants and the others see it.
func (f *Fleet) StartStore(ctx context.Context) error {
	if err := start(f.Of(result.Etcd)); err != nil {
		return err
	}
	if err := until(ctx, "etcd has a leader", func() bool {
		_, err := f.EtcdLeader(ctx)
		return err == nil
	}); err != nil {
		return err
	}
	for _, c := range f.Of(result.Coordinator) {
		if err := start([]*Process{c}); err != nil {
			return err
		}
		if err := f.Ready(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func start(all []*Process) error {
	for _, p := range all {
		if err := p.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Ready waits until a process does its work: a coordinator leads and grants or
// stands by, a region leases, a member of etcd knows who leads.
func (f *Fleet) Ready(ctx context.Context, p *Process) error {
	return until(ctx, p.Name+" is ready", func() bool {
		switch p.Kind {
		case result.Region:
			s, err := f.Region(ctx, p, "")
			return err == nil && s.State == "ready"
		case result.Coordinator:
			s, err := f.Coordinator(ctx, p)
			return err == nil && s.Ready
		case result.Etcd:
			answer, err := f.ask(ctx, p, "/health")
			if err != nil {
				return false
			}
			return answer.Body.Close() == nil
		case result.Client:
		}
		return false
	})
}

// KillStore kills the coordinators, and etcd.
func (f *Fleet) KillStore() (killed int, err error) {
	for _, p := range append(f.Of(result.Coordinator), f.Of(result.Etcd)...) {
		if !p.running() {
			continue
		}
		if _, err := p.Kill(); err != nil {
			return killed, err
		}
		killed++
	}
	return killed, nil
}

// WipeStore removes the data of etcd, which must not run. It returns how many
// bytes there were.
func (f *Fleet) WipeStore() (bytes int64, err error) {
	for _, m := range f.Of(result.Etcd) {
		n, err := size(f.dir(m))
		if err == nil {
			err = os.RemoveAll(f.dir(m))
		}
		if err != nil {
			return bytes, fmt.Errorf("wipe the data of %s: %w", m.Name, err)
		}
		bytes += n
	}
	return bytes, nil
}

// CopyStore keeps a copy of the data of etcd: of all members at one moment, for
// which they are killed, copied and started again.
func (f *Fleet) CopyStore(ctx context.Context) error {
	members := f.Of(result.Etcd)
	for _, m := range members {
		if _, err := m.Kill(); err != nil {
			return err
		}
	}
	for _, m := range members {
		if err := os.CopyFS(f.copyDir(m), os.DirFS(f.dir(m))); err != nil {
			return fmt.Errorf("copy the data of %s: %w", m.Name, err)
		}
	}
	if err := start(members); err != nil {
		return err
	}
	return until(ctx, "etcd has a leader again", func() bool {
		_, err := f.EtcdLeader(ctx)
		return err == nil
	})
}

func (f *Fleet) copyDir(m *Process) string {
	return filepath.Join(f.opts.Network.Dir(), m.Name+".copy")
}

// RestoreStore puts that copy in the place of the data of etcd, which must not
// run. It returns how many bytes it has.
func (f *Fleet) RestoreStore() (bytes int64, err error) {
	if _, err := f.WipeStore(); err != nil {
		return 0, err
	}
	for _, m := range f.Of(result.Etcd) {
		if err := os.Rename(f.copyDir(m), f.dir(m)); err != nil {
			return bytes, fmt.Errorf("restore the data of %s: %w", m.Name, err)
		}
		n, err := size(f.dir(m))
		if err != nil {
			return bytes, err
		}
		bytes += n
	}
	return bytes, nil
}

// size sums up the files below a directory.
func size(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return bytes, nil
	}
	return bytes, err
}
