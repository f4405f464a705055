package etcdstore

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/a1009580/leasehold/lease"
)

// Store is a lease.Store in etcd. Its keys begin with "leasehold/", the
// cluster's name and "/data/".
type Store struct {
	client *Client
	prefix string
}

var _ lease.Store = (*Store)(nil)

// NewStore returns the store of a cluster. The name must not contain a slash.
func NewStore(client *Client, cluster string) (*Store, error) {
	prefix, err := keyspace(cluster, dataKeys)
	if err != nil {
		return nil, err
	}
	return &Store{client: client, prefix: prefix}, nil
}

// maxReads is the most reads in one transaction: etcd's default limit.
const maxReads = 128

// Get implements lease.Store. More keys than fit one transaction are read in
// several, at the revision of the first.
func (s *Store) Get(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, unavailable(err)
	}
	entries := make([]lease.Entry, 0, len(keys))
	var revision int64
	for {
		n := min(len(keys), maxReads)
		resp, err := s.client.etcd.Txn(ctx).Then(s.reads(keys[:n], revision)...).Commit()
		if err != nil {
			return nil, 0, unavailable(err)
		}
		for _, r := range resp.Responses {
			entries = s.appendEntries(entries, r.GetResponseRange().GetKvs())
		}
		if revision == 0 {
			revision = resp.Header.GetRevision()
		}
		if keys = keys[n:]; len(keys) == 0 {
			return entries, revision, nil
		}
	}
}

// reads are the operations that read keys at a revision; 0 is the latest.
func (s *Store) reads(keys []string, revision int64) []clientv3.Op {
	if len(keys) == 0 {
		return []clientv3.Op{clientv3.OpGet(s.prefix, clientv3.WithCountOnly())}
	}
	ops := make([]clientv3.Op, 0, len(keys))
	for _, key := range keys {
		ops = append(ops, clientv3.OpGet(s.prefix+key, clientv3.WithRev(revision)))
	}
	return ops
}

// Scan implements lease.Store.
func (s *Store) Scan(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, unavailable(err)
	}
	if limit < 1 {
		return s.Get(ctx, nil)
	}
	end := clientv3.GetPrefixRangeEnd(s.prefix + prefix)
	from := max(s.prefix+prefix, s.prefix+after+"\x00")
	if from >= end {
		return s.Get(ctx, nil)
	}
	resp, err := s.client.etcd.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(int64(limit)),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
	if err != nil {
		return nil, 0, unavailable(err)
	}
	return s.appendEntries(nil, resp.Kvs), resp.Header.GetRevision(), nil
}

func (s *Store) appendEntries(entries []lease.Entry, kvs []*mvccpb.KeyValue) []lease.Entry {
	for _, kv := range kvs {
		value := kv.GetValue()
		if value == nil {
			value = []byte{}
		}
		entries = append(entries, lease.Entry{
			Key: string(kv.GetKey()[len(s.prefix):]), Value: value, Revision: kv.GetModRevision(),
		})
	}
	return entries
}

// unavailable is the only error of reads: they change nothing, so that nothing
// about them is in doubt.
func unavailable(cause error) error {
	return fmt.Errorf("%w: %w", lease.ErrUnavailable, cause)
}
