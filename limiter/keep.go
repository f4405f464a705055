package limiter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/lease"
)

const (
	keptFile = "regional.json"
	// keepEvery is how often what was seen is written when only that changed.
	keepEvery = 5 * time.Second
)

// kept is what a restarted process is told by the one before.
type kept struct {
	state    lease.State
	revision uint64 // of policy
	policy   []byte // nil: none
}

// keptJSON is the file's content.
type keptJSON struct {
	Cluster        string `json:"cluster"`
	SeenHistory    uint64 `json:"seen_history"`
	SeenEpoch      int64  `json:"seen_epoch"`
	SeenRevision   int64  `json:"seen_revision"`
	PolicyRevision uint64 `json:"policy_revision,omitempty"`
	Policy         string `json:"policy,omitempty"`
}

// keeper writes what is kept into the data directory. A nil keeper keeps
// nothing.
type keeper struct {
	dir    string
	clock  *clock.Clock
	log    *slog.Logger
	look   func() kept // the present state
	wanted chan struct{}

	mu   sync.Mutex
	last string // what the file holds
}

// openKeeper reads what an earlier process left.
func (l *Limiter) openKeeper() (kept, error) {
	k := kept{state: lease.State{Cluster: l.opts.Cluster}}
	if l.opts.DataDir == "" {
		return k, nil
	}
	invalid := func(err error) (kept, error) {
		return k, fmt.Errorf("%w: DataDir %q: %w", ErrOptions, l.opts.DataDir, err)
	}
	if err := os.MkdirAll(l.opts.DataDir, 0o750); err != nil {
		return invalid(err)
	}
	l.keep = &keeper{dir: l.opts.DataDir, clock: l.clock, log: l.log, look: l.snapshot, wanted: make(chan struct{}, 1)}
	data, err := os.ReadFile(filepath.Join(l.opts.DataDir, keptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return invalid(err)
	}
	var j keptJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return invalid(fmt.Errorf("%s: %w", keptFile, err))
	}
	if l.opts.Cluster != "" && j.Cluster != "" && j.Cluster != l.opts.Cluster {
		return invalid(fmt.Errorf("%s is of cluster %q, not %q", keptFile, j.Cluster, l.opts.Cluster))
	}
	if j.Cluster != "" {
		k.state.Cluster = j.Cluster
	}
	k.state.SeenEpoch = lease.Epoch{History: j.SeenHistory, Revision: j.SeenEpoch}
	k.state.SeenRevision = j.SeenRevision
	if j.Policy != "" {
		k.revision, k.policy = j.PolicyRevision, []byte(j.Policy)
	}
	return k, nil
}

// snapshot returns what is worth keeping now.
func (l *Limiter) snapshot() kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	return kept{state: l.holder.State(), revision: l.revision, policy: l.policy}
}

// want has the file written soon.
func (k *keeper) want() {
	if k == nil {
		return
	}
	select {
	case k.wanted <- struct{}{}:
	default:
	}
}

// run is the actor that keeps the file current.
func (k *keeper) run(ctx context.Context) {
	ticker := k.clock.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wanted:
		case <-ticker.C:
		}
		if err := k.save(k.look()); err != nil {
			k.log.Error("what was seen of the cluster is not kept", "error", err)
		}
	}
}

// save writes the file if it would change.
func (k *keeper) save(now kept) error {
	if k == nil {
		return nil
	}
	data, err := json.MarshalIndent(keptJSON{
		Cluster: now.state.Cluster, SeenHistory: now.state.SeenEpoch.History, SeenEpoch: now.state.SeenEpoch.Revision,
		SeenRevision: now.state.SeenRevision, PolicyRevision: now.revision, Policy: string(now.policy),
	}, "", "\t")
	if err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if string(data) == k.last {
		return nil
	}
	if err := replaceFile(filepath.Join(k.dir, keptFile), data); err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	k.last = string(data)
	return nil
}

// replaceFile writes a file whole or not at all, and durably.
func replaceFile(name string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return nil // the file is there; its name is durable a little later
	}
	defer dir.Close()
	return dir.Sync()
}
