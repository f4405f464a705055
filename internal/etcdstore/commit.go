package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/a1009580/leasehold/lease"
)

// MaxTxnBytes is the most bytes of keys and values that Commit takes. etcd
// refuses requests above 1.5 MiB by default, every key of ours travels three
// times, and what is refused here was surely not sent.
const MaxTxnBytes = 1 << 20

// Commit implements lease.Store.
func (s *Store) Commit(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, unavailable(err)
	}
	if err := s.admissible(leader, writes); err != nil {
		return 0, err
	}
	guard, apply, look := s.transaction(leader, writes)
	call, sent := withSent(ctx)
	resp, err := s.client.etcd.Txn(call).If(guard...).Then(apply...).Else(look...).Commit()
	switch {
	case err != nil && !sent.Load():
		return 0, unavailable(err)
	case errors.Is(err, rpctypes.ErrNoSpace):
		return 0, s.noSpace(ctx, leader, writes, err)
	case err != nil && mutated("no fence at the store"):
		return 0, unavailable(err)
	case err != nil:
		return 0, commitError(err)
	case !resp.Succeeded:
		return 0, refusal(leader, writes, resp)
	}
	return resp.Header.GetRevision(), nil
}

// admissible refuses what etcd would not understand as it is meant: it compares
// the revision of a key that does not exist as 0.
func (s *Store) admissible(leader lease.LeaderKey, writes []lease.Write) error {
	if leader.Key == "" || leader.Revision <= 0 {
		return fmt.Errorf("%w: %q of revision %d is no key", lease.ErrFenced, leader.Key, leader.Revision)
	}
	if len(writes) > lease.MaxTxnWrites {
		return fmt.Errorf("%w: %d", lease.ErrTooLarge, len(writes))
	}
	size := 0
	for _, w := range writes {
		size += 3*len(s.prefix+w.Key) + len(w.Value)
	}
	if size > MaxTxnBytes {
		return fmt.Errorf("%w: %d bytes", lease.ErrTooLarge, size)
	}
	return nil
}

// transaction is what Commit asks, what it does if all holds, and what it reads
// in the same moment if not.
func (s *Store) transaction(leader lease.LeaderKey, writes []lease.Write) (guard []clientv3.Cmp, apply, look []clientv3.Op) {
	guard = append(guard, clientv3.Compare(clientv3.CreateRevision(leader.Key), "=", leader.Revision))
	look = append(look, clientv3.OpGet(leader.Key, clientv3.WithKeysOnly()))
	seen := make(map[string]struct{}, len(writes))
	for _, w := range writes {
		key := s.prefix + w.Key
		guard = append(guard, clientv3.Compare(clientv3.ModRevision(key), "=", w.Expect))
		if _, ok := seen[key]; ok {
			// etcd refuses a key that is put twice without looking at the
			// leader's. A comparison that never holds gives the right answer.
			guard = append(guard[:len(guard)-1], clientv3.Compare(clientv3.ModRevision(key), "<", 0))
			look = append(look, clientv3.OpGet(key, clientv3.WithKeysOnly()))
			continue
		}
		seen[key] = struct{}{}
		look = append(look, clientv3.OpGet(key, clientv3.WithKeysOnly()))
		if w.Value == nil {
			apply = append(apply, clientv3.OpDelete(key))
		} else {
			apply = append(apply, clientv3.OpPut(key, string(w.Value)))
		}
	}
	if mutated("no fence at the store") {
		guard = nil
	}
	return guard, apply, look
}

// refusal says why a transaction did not hold, by what it read.
func refusal(leader lease.LeaderKey, writes []lease.Write, resp *clientv3.TxnResponse) error {
	if have := found(resp, 0).GetCreateRevision(); have != leader.Revision {
		return fmt.Errorf("%w: %q has revision %d, ours was %d", lease.ErrFenced, leader.Key, have, leader.Revision)
	}
	for i, w := range writes {
		if have := found(resp, i+1).GetModRevision(); have != w.Expect {
			return fmt.Errorf("%w: %q has %d, expected %d", lease.ErrConflict, told(w.Key), have, w.Expect)
		}
	}
	return fmt.Errorf("%w: a key is written twice", lease.ErrConflict)
}

// told is what an error may say of a record's key: errors are logged and shown,
// and what follows the name of a quota is a key of a user's, which may be a
// credential.
func told(key string) string {
	name, _, _ := strings.Cut(key, "\x00")
	return name
}

// found returns what one read of a transaction found; its revisions are 0 when
// that was nothing.
func found(resp *clientv3.TxnResponse, read int) *mvccpb.KeyValue {
	if kvs := resp.Responses[read].GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// certain are the answers that etcd gives before it lets a transaction into its
// log, or in the place of applying it: nothing was written. All that are not
// listed leave it in doubt, a timeout and a stopped server among them.
var certain = []error{
	rpctypes.ErrTooManyRequests,
	rpctypes.ErrNotCapable,
	rpctypes.ErrUserEmpty,
	rpctypes.ErrPermissionDenied,
	rpctypes.ErrInvalidAuthToken,
	rpctypes.ErrAuthOldRevision,
}

// commitError names an error of a transaction that was sent.
func commitError(err error) error {
	if errors.Is(err, rpctypes.ErrRequestTooLarge) || errors.Is(err, rpctypes.ErrTooManyOps) {
		return fmt.Errorf("%w: %w", lease.ErrTooLarge, err)
	}
	for _, c := range certain {
		if errors.Is(err, c) {
			return unavailable(err)
		}
	}
	return fmt.Errorf("%w: %w", lease.ErrUnknown, err)
}

// noSpace finds out what etcd's "no space" means. Mostly nothing was written,
// but the transaction that is the first to exceed the quota after it was let in
// is applied, and reported as if it were not. The answer came after that, so a
// read tells: what was written has another revision than the one expected.
func (s *Store) noSpace(ctx context.Context, leader lease.LeaderKey, writes []lease.Write, cause error) error {
	_, _, look := s.transaction(leader, writes)
	resp, err := s.client.etcd.Txn(ctx).Then(look...).Commit()
	if err != nil {
		return fmt.Errorf("%w: %w, and then %w", lease.ErrUnknown, cause, err)
	}
	for i, w := range writes {
		if have := found(resp, i+1).GetModRevision(); have != w.Expect {
			return fmt.Errorf("%w: %w, although %q has revision %d", lease.ErrUnknown, cause, told(w.Key), have)
		}
	}
	return fmt.Errorf("%w: %w", lease.ErrNoSpace, cause)
}
