package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/storetest"
)

var prefixByAge = []clientv3.OpOption{
	clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend),
}

// TestConformance gives every check a cluster of its own on one etcd.
func TestConformance(t *testing.T) {
	client := dial(t, start(t, anyPort(t.TempDir())).ClientAddr())
	var clusters atomic.Int64
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		w := newWorld(t, client, fmt.Sprintf("c%d", clusters.Add(1)))
		// Only the checks of elections wait for a lease to end; a busy machine
		// must not end those of the others.
		w.elector.ttl = time.Minute
		if strings.Contains(t.Name(), "/election/") {
			w.elector.ttl = 3 * time.Second
		}
		return storetest.Harness{
			Store:   w.store,
			Elector: w.elector,
			DeleteKey: func(ctx context.Context, key lease.LeaderKey) error {
				_, err := client.etcd.Delete(ctx, key.Key)
				return err
			},
			EndSession: func(ctx context.Context, name string) error { return w.elector.endSession(ctx, name) },
			Standing:   w.elector.standing,
		}
	})
}

// endSession revokes the lease of one who stands.
func (e *Elector) endSession(ctx context.Context, candidate string) error {
	resp, err := e.client.etcd.Get(ctx, e.prefix, prefixByAge...)
	if err != nil {
		return err
	}
	for _, kv := range resp.Kvs {
		if string(kv.GetValue()) == candidate {
			_, err = e.client.etcd.Revoke(ctx, clientv3.LeaseID(kv.GetLease()))
			return err
		}
	}
	return errors.New("nobody stands by that name")
}
