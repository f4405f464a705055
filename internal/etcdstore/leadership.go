package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/a1009580/leasehold/lease"
)

// leadership is a lease.Leadership.
type leadership struct {
	elector  *Elector
	lease    clientv3.LeaseID
	key      lease.LeaderKey
	ttl      time.Duration
	resigned atomic.Bool
}

// Key implements lease.Leadership.
func (l *leadership) Key() lease.LeaderKey { return l.key }

// TTL implements lease.Leadership. It is what etcd granted.
func (l *leadership) TTL() time.Duration { return l.ttl }

// Prove implements lease.Leadership: one renewal, then a linearizable read. The
// read comes second, since a renewal alone says nothing of a key that somebody
// deleted.
func (l *leadership) Prove(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return unavailable(err)
	}
	err := l.elector.renew(ctx, l.lease)
	if mutated("no fence at the store") {
		return nil
	}
	if err != nil {
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return fmt.Errorf("%w: the election lease ended", lease.ErrFenced)
		}
		return unavailable(err)
	}
	resp, err := l.elector.client.etcd.Get(ctx, l.key.Key, clientv3.WithKeysOnly())
	if err != nil {
		return unavailable(err)
	}
	if len(resp.Kvs) == 0 || resp.Kvs[0].GetCreateRevision() != l.key.Revision {
		return fmt.Errorf("%w: %q of revision %d was deleted", lease.ErrFenced, l.key.Key, l.key.Revision)
	}
	return nil
}

// Resign implements lease.Leadership. Revoking the lease deletes the key with
// it, and nobody else's; a lease that is gone took the key along.
func (l *leadership) Resign(ctx context.Context) error {
	pause := newPause()
	var failure error
	for !l.resigned.Load() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: resign: %w", lease.ErrUnavailable, errors.Join(err, failure))
		}
		_, err := l.elector.client.etcd.Revoke(ctx, l.lease)
		if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) {
			l.resigned.Store(true)
			continue
		}
		failure = err
		sleep(ctx, pause.NextBackOff())
	}
	return nil
}
