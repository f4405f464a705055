package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// beginWipe kills coordinators and etcd; at the end they begin with nothing.
func (r *run) beginWipe(f *injected) (healing, error) {
	f.targets = append(r.fleet.Of(result.Etcd), r.fleet.Of(result.Coordinator)...)
	killed, err := r.fleet.KillStore()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (result.Bite, error) {
		bytes, err := r.fleet.WipeStore()
		if err == nil {
			err = r.fleet.StartStore(ctx)
		}
		return result.Bite{
			Proven: killed == len(f.targets) && bytes > 0, Method: "processes killed and data removed", Count: int64(killed),
			Detail: fmt.Sprintf("%d processes were killed, %s were removed", killed, humanize.IBytes(uint64(bytes))),
		}, err
	}, nil
}

// beginRestore keeps a copy of the store and lets the system go on; at the end
// coordinators and etcd are killed and begin with the copy.
func (r *run) beginRestore(ctx context.Context, f *injected) (healing, error) {
	f.targets = append(r.fleet.Of(result.Etcd), r.fleet.Of(result.Coordinator)...)
	if err := r.fleet.CopyStore(ctx); err != nil {
		return nil, err
	}
	copied := time.Now()
	r.event("drill", result.EventInject, "the store is copied, and the system goes on")
	return func(ctx context.Context) (result.Bite, error) {
		killed, err := r.fleet.KillStore()
		if err != nil {
			return result.Bite{}, err
		}
		age := time.Since(copied)
		bytes, err := r.fleet.RestoreStore()
		if err == nil {
			err = r.fleet.StartStore(ctx)
		}
		return result.Bite{
			Proven: killed == len(f.targets) && bytes > 0, Method: "processes killed and data replaced", Count: int64(killed),
			Detail: fmt.Sprintf("%d processes were killed, their %s of data replaced by those of %v before", killed, humanize.IBytes(uint64(bytes)), age.Round(time.Millisecond)),
		}, err
	}, nil
}

// beginChange gives the coordinators another policy, which stays.
func (r *run) beginChange(ctx context.Context, f *injected) (healing, error) {
	f.targets = r.fleet.Of(result.Coordinator)
	before, err := r.inForce(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.fleet.SetPolicy(f.fault.Policy); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (result.Bite, error) {
		after, err := r.inForce(ctx)
		if err == nil {
			r.mu.Lock()
			r.revision = before
			r.mu.Unlock()
		}
		return result.Bite{
			Proven: err == nil && after > before, Method: "revision of the policy in force, by the leader", Count: int64(after) - int64(before),
			Detail: fmt.Sprintf("from revision %d to %d", before, after),
		}, err
	}, nil
}

// inForce is the revision of the policy that the leader has.
func (r *run) inForce(ctx context.Context) (uint64, error) {
	leader := r.fleet.Leader(ctx)
	if leader == nil {
		return 0, fmt.Errorf("nobody leads, so that no policy is in force")
	}
	s, err := r.fleet.Coordinator(ctx, leader)
	return s.PolicyRevision, err
}
