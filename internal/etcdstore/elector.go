package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/lease"
)

// DefaultTTL is the length of election leases unless ElectorOptions says
// otherwise. etcd looks for ended leases every 0.5 s and a leader proves itself
// at least every third of the TTL, so that a killed leader's place is free after
// 1.3 s to 2.5 s.
const DefaultTTL = 2 * time.Second

// ElectorOptions are the choices of NewElector.
type ElectorOptions struct {
	// TTL is the length of election leases in whole seconds; 0 means
	// DefaultTTL. etcd may grant a longer one, never a shorter: a Leadership
	// tells what was granted.
	TTL time.Duration
	// Logger hears why a candidate does not get on; nil discards it.
	Logger *slog.Logger
}

// Elector is a lease.Elector in etcd: every candidate has a key that hangs on a
// lease of its own, and the oldest key leads. Its keys begin with "leasehold/",
// the cluster's name and "/election/".
//
// It starts nothing that runs beside its calls: a leadership lives as long as
// its owner proves it, so that one whose work is stuck loses its place.
type Elector struct {
	client *Client
	prefix string
	ttl    time.Duration
	log    *slog.Logger
}

var _ lease.Elector = (*Elector)(nil)

// NewElector returns the elector of a cluster. The name must not contain a slash.
func NewElector(client *Client, cluster string, o ElectorOptions) (*Elector, error) {
	prefix, err := keyspace(cluster, "election")
	if err != nil {
		return nil, err
	}
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	if o.TTL < time.Second || o.TTL%time.Second != 0 {
		return nil, fmt.Errorf("etcdstore: election TTL %v must be whole seconds, at least 1s", o.TTL)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Elector{client: client, prefix: prefix, ttl: o.TTL, log: o.Logger}, nil
}

// Leader implements lease.Elector.
func (e *Elector) Leader(ctx context.Context) (string, bool, error) {
	if err := ctx.Err(); err != nil {
		return "", false, unavailable(err)
	}
	resp, err := e.client.etcd.Get(ctx, e.prefix, clientv3.WithFirstCreate()...)
	switch {
	case err != nil:
		return "", false, unavailable(err)
	case len(resp.Kvs) == 0:
		return "", false, nil
	}
	return string(resp.Kvs[0].GetValue()), true, nil
}

// Campaign implements lease.Elector. While it waits it renews the candidate's
// lease at least every third of the TTL. It returns up to cleanupTime after ctx
// ended, which it takes to free its place.
func (e *Elector) Campaign(ctx context.Context, candidate string) (lease.Leadership, error) {
	c := &candidacy{Elector: e, candidate: candidate}
	pause := newPause()
	var failure error
	for {
		if err := ctx.Err(); err != nil {
			c.withdraw(ctx)
			if failure != nil {
				err = fmt.Errorf("%w (before that: %w)", err, failure)
			}
			return nil, fmt.Errorf("etcdstore: campaign of %q: %w", candidate, err)
		}
		place, err := c.advance(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil && place.first:
			return &leadership{elector: e, lease: c.lease, key: c.key, ttl: c.ttl}, nil
		case err == nil:
			failure = nil
			pause.Reset()
			c.await(ctx, place)
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			e.log.Warn("election: the candidate's lease was lost, standing again", "candidate", candidate, "lost", c.key.Key)
			*c = candidacy{Elector: e, candidate: candidate}
		default:
			if failure == nil {
				e.log.Warn("election: the store does not answer, trying again", "candidate", candidate, "error", err)
			}
			failure = err
			sleep(ctx, pause.NextBackOff())
		}
	}
}

// cleanupTime is how long an ended Campaign may take to free its place; what it
// cannot free ends with its lease.
const cleanupTime = 500 * time.Millisecond

// candidacy is one process that stands for election. It belongs to one Campaign.
type candidacy struct {
	*Elector
	candidate string
	lease     clientv3.LeaseID // 0: none yet
	ttl       time.Duration
	key       lease.LeaderKey // Revision 0: not written yet
}

// place is what a candidate saw of its place in the queue.
type place struct {
	first    bool
	ahead    string // the key that must vanish first
	revision int64  // of the store when it looked
}

// advance does whatever brings the candidacy on: obtain a lease, or renew it;
// write the key; look at the queue. After an error it may be called again, and
// after ErrLeaseNotFound on a fresh candidacy only.
func (c *candidacy) advance(ctx context.Context) (place, error) {
	// A store that does not answer must not hold the candidate for longer than
	// its lease may last.
	ctx, cancel := context.WithTimeout(ctx, c.Elector.ttl/2)
	defer cancel()
	if c.lease == 0 {
		granted, err := c.client.etcd.Grant(ctx, int64(c.Elector.ttl/time.Second))
		if err != nil {
			return place{}, fmt.Errorf("grant a lease: %w", err)
		}
		c.lease, c.ttl = granted.ID, time.Duration(granted.TTL)*time.Second
		c.key.Key = fmt.Sprintf("%s%016x", c.prefix, int64(granted.ID))
	} else if err := c.renew(ctx, c.lease); err != nil {
		return place{}, fmt.Errorf("renew the lease: %w", err)
	}
	if c.key.Revision == 0 {
		if err := c.stand(ctx); err != nil {
			return place{}, fmt.Errorf("stand: %w", err)
		}
	}
	return c.look(ctx)
}

// stand writes the key. An attempt whose outcome is unknown is repeated without
// harm: the name belongs to our lease alone.
func (c *candidacy) stand(ctx context.Context) error {
	key := c.key.Key
	resp, err := c.client.etcd.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, c.candidate, clientv3.WithLease(c.lease))).
		Else(clientv3.OpGet(key, clientv3.WithKeysOnly())).
		Commit()
	if err != nil {
		return err
	}
	c.key.Revision = resp.Header.GetRevision()
	if !resp.Succeeded {
		c.key.Revision = found(resp, 0).GetCreateRevision()
	}
	return nil
}

// look finds the candidate's place. A key that is gone means a lease that is of
// no use.
func (c *candidacy) look(ctx context.Context) (place, error) {
	resp, err := c.client.etcd.Get(ctx, c.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return place{}, fmt.Errorf("look at the queue: %w", err)
	}
	p := place{first: true, revision: resp.Header.GetRevision()}
	for _, kv := range resp.Kvs {
		if string(kv.GetKey()) == c.key.Key && kv.GetCreateRevision() == c.key.Revision {
			return p, nil
		}
		p.first, p.ahead = false, string(kv.GetKey())
	}
	return place{}, fmt.Errorf("the candidate's key is gone: %w", rpctypes.ErrLeaseNotFound)
}

// await returns when the key ahead was deleted, and in any case when it is time
// to renew the lease and look again: a watch that is cut off tells nothing.
func (c *candidacy) await(ctx context.Context, p place) {
	ctx, cancel := context.WithTimeout(ctx, c.ttl/3)
	defer cancel()
	watch := c.client.etcd.Watch(ctx, p.ahead, clientv3.WithRev(p.revision+1), clientv3.WithFilterPut())
	select {
	case seen, ok := <-watch:
		if !ok || seen.Err() != nil {
			<-ctx.Done() // a watch that cannot be had is no reason to ask in a circle
		}
	case <-ctx.Done():
	}
}

// withdraw frees the candidate's place, within cleanupTime.
func (c *candidacy) withdraw(ctx context.Context) {
	if c.lease == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	if _, err := c.client.etcd.Revoke(ctx, c.lease); err != nil {
		c.log.Warn("election: the candidate's place is free when its lease ends",
			"candidate", c.candidate, "ttl", c.ttl, "error", err)
	}
}

// renew asks once for the renewal of a lease, which etcd's leader grants after
// it made sure that it still leads. It fails with ErrLeaseNotFound when the
// lease ended. The client's own KeepAliveOnce repeats without a pause while
// nobody answers.
func (e *Elector) renew(ctx context.Context, id clientv3.LeaseID) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := etcdserverpb.NewLeaseClient(e.client.etcd.ActiveConnection()).LeaseKeepAlive(ctx, grpc.WaitForReady(true))
	if err != nil {
		return rpctypes.Error(err)
	}
	if err = stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
		_, err = stream.Recv() // Send says EOF; this says why
		return rpctypes.Error(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		return rpctypes.Error(err)
	}
	if resp.GetTTL() <= 0 {
		return rpctypes.ErrLeaseNotFound
	}
	return nil
}

// newPause returns the waits between attempts at a store that does not answer:
// short enough for the goal of granting again within 3 s.
func newPause() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: 50 * time.Millisecond, Multiplier: 2, RandomizationFactor: 0.5, MaxInterval: 500 * time.Millisecond,
	}
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
