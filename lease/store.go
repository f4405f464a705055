package lease

import (
	"context"
	"errors"
	"time"
)

// Errors of a Store and of an Elector. They are compared with errors.Is; an
// implementation wraps them with what it knows of the cause.
var (
	// ErrFenced says that the guard of a transaction did not hold: the
	// leader's key is gone or belongs to another. Nothing was written, and
	// the caller is no longer the leader.
	ErrFenced = errors.New("lease: fenced: the leader's key is not ours")
	// ErrConflict says that a record was not at the revision expected of
	// it. Nothing was written.
	ErrConflict = errors.New("lease: conflict: a record has another revision")
	// ErrUnknown says that the outcome of a transaction is not known: it may
	// have been committed, now or later. A leader that sees it steps down.
	ErrUnknown = errors.New("lease: outcome of the transaction is unknown")
	// ErrUnavailable says that the store did not answer, and that nothing was
	// written.
	ErrUnavailable = errors.New("lease: store is unavailable")
	// ErrNoSpace says that the store is at its watermark of free disk space
	// and takes no further writes. Nothing was written.
	ErrNoSpace = errors.New("lease: store is short of disk space")
	// ErrTooLarge says that a transaction holds more than MaxTxnWrites writes,
	// or more bytes than the store takes at once. Nothing was written.
	ErrTooLarge = errors.New("lease: transaction has too many writes")
)

// MaxTxnWrites is the most writes that one transaction may hold. External etcd
// refuses more than 128 operations by default; one comparison of a transaction
// is the leader's guard. Every store takes so many writes of 4 KiB each, key and
// value together.
const MaxTxnWrites = 126

// Entry is one stored record.
type Entry struct {
	Key string
	// Value is the reader's own copy. It is never nil: an entry may be empty
	// and is there all the same.
	Value []byte
	// Revision is the revision of the store at which the entry was last
	// written; it is above 0, and a later write has a greater one.
	Revision int64
}

// Write is one conditional write of a transaction.
type Write struct {
	// Key is any string of bytes but the empty one.
	Key string
	// Value is the new value; nil deletes the entry, and an empty one does
	// not. To delete what must be absent anyway writes nothing and asserts
	// that it is absent.
	Value []byte
	// Expect is the revision that the entry must have: 0 says that it must be
	// absent.
	Expect int64
}

// Store keeps the durable part of a ledger: a flat map of small records, each
// with the revision of its last write.
//
// Every method is linearizable: a read sees each write whose Commit returned
// before the read began. Methods may be called concurrently; they return no
// later than ctx allows, and fail with ErrUnavailable when it had ended before
// the call. An implementation is proved by storetest.Run.
type Store interface {
	// Get reads the entries of keys, which are distinct, all as they were at
	// one moment and in no particular order; absent ones are left out. The
	// revision is the store's own at that moment: it never falls in the life
	// of a store, and it rises with every write, those of an Elector
	// included. It fails with ErrUnavailable only.
	Get(ctx context.Context, keys []string) (entries []Entry, revision int64, err error)

	// Scan reads up to limit entries whose key begins with prefix and is
	// greater than after, in ascending order of the keys' bytes. A limit below
	// 1 reads none: it never means that there is no limit. Pages are each
	// linearizable, not all of them together. It fails with ErrUnavailable
	// only.
	Scan(ctx context.Context, prefix, after string, limit int) (entries []Entry, revision int64, err error)

	// Commit applies all writes or none, if leader still leads and every
	// entry has the revision expected of it. It returns the revision that the
	// written entries now have. A nil error says that the writes are durable.
	// A transaction without writes asks whether leader still leads; the zero
	// LeaderKey never does.
	//
	// It fails with ErrFenced, ErrConflict, ErrNoSpace, ErrUnavailable or
	// ErrTooLarge, and then wrote nothing for certain; any other failure is
	// ErrUnknown. When both hold, ErrFenced goes before ErrConflict. A key
	// that is written twice is an ErrConflict. It never retries by itself, so
	// that no write is ever repeated behind the caller's back. The caller may
	// use the values again once it returned.
	Commit(ctx context.Context, leader LeaderKey, writes []Write) (revision int64, err error)
}

// LeaderKey names the key by which one leader guards its transactions.
type LeaderKey struct {
	Key string
	// Revision is the revision of the store at which the key was created. It
	// is unique in the life of a store and grows from leader to leader.
	Revision int64
}

// Elector elects one leader among the coordinators of a cluster. Its methods
// may be called concurrently. An implementation is proved by storetest.Run.
type Elector interface {
	// Campaign waits until this process leads or ctx ends, also while the
	// store does not answer. Candidates are elected in the order in which they
	// stood. One whose own lease was lost while it waited stands again with a
	// fresh one; Campaign never returns a leadership whose key did not exist
	// after the call began. When ctx ends it returns ctx's error, and the
	// candidacy stands in nobody's way for longer than its TTL.
	Campaign(ctx context.Context, candidate string) (Leadership, error)

	// Leader returns what the present leader passed as its candidate, and
	// false when nobody leads. It is linearizable, and says nothing about
	// later. It fails with ErrUnavailable only.
	Leader(ctx context.Context) (candidate string, ok bool, err error)
}

// Leadership is the time that one process leads. Its methods may be called
// concurrently.
type Leadership interface {
	// Key is the guard for Store.Commit; it does not change.
	Key() LeaderKey

	// TTL is the length of the election lease: how long after the last
	// renewal another may be elected.
	TTL() time.Duration

	// Prove renews the election lease and reads the leader's key, both after
	// the call began, so that a caller who noted the time before it may count
	// TTL from then. It fails with ErrFenced when the key is gone (another
	// leads, the lease ended, or somebody deleted it), else with
	// ErrUnavailable: the leadership may or may not stand, and nothing was
	// proved.
	Prove(ctx context.Context) error

	// Resign gives up the leadership, so that another may be elected at once.
	// It tries until ctx ends, so the caller passes one with a deadline of its
	// own and not the one whose end made it resign. When it fails, the
	// successor waits at most TTL after the last renewal; called again it
	// tries again. Once it succeeded it does nothing more, and it never touches
	// the key of a successor.
	Resign(ctx context.Context) error
}
