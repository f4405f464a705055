package lease

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Config is what a Ledger is told by its coordinator's configuration.
type Config struct {
	Cluster        string
	Drift          Drift
	ElectionTTL    time.Duration
	ReportInterval time.Duration
	// MaxBuckets bounds the buckets in memory; reports of further ones are
	// refused until some are forgotten.
	MaxBuckets int
	Allocate   Allocator
	// NewCluster allows an empty store: every bucket is born full in it.
	NewCluster bool
	// TrustStore takes a store that lost its past at its word (law 13): a new
	// history begins all the same, but its records stand. It is for an operator
	// who knows that nothing was granted since the copy was made.
	TrustStore bool
}

// Begin is what a new leader finds.
type Begin struct {
	Now Moment
	// Leader is the revision of the leader's key, Revision the store's own.
	Leader   int64
	Revision int64
	// Meta holds all entries below MetaPrefix, Policy the policy to enforce
	// (PolicyRecord.Next), Terms what it says.
	Meta   []Entry
	Policy PolicyRecord
	Terms  []Terms
}

// Errors of NewLedger.
var (
	ErrEmptyStore = errors.New("lease: the store is empty: a new cluster must be asked for explicitly")
	ErrNotCluster = errors.New("lease: the store belongs to another cluster")
)

// Ledger owns the balances of all buckets while its coordinator leads. It
// follows decide, commit, apply, reply: a debit is decided without changing
// what may be granted, committed by the store, applied, and only then granted
// and told. A Ledger makes no I/O: its owner calls Ready and does what it says.
//
// One goroutine owns a Ledger.
type Ledger struct {
	cfg     Config
	epoch   Epoch
	cluster clusterRecord
	clusRev int64
	policy  PolicyRecord
	polRev  int64

	began    time.Duration
	election time.Duration         // the longest election lease that may still run
	settles  time.Duration         // when what older leaders left is surely dead
	awake    bool                  // newborns grow again after a lost past
	until    time.Duration         // the leadership is sure until then
	revision int64                 // the highest of the store that was seen
	booted   bool                  // the first transaction is committed
	complete bool                  // every stored bucket is in memory
	buried   map[BucketID]struct{} // records that were deleted before that
	partial  bool                  // and not all of those that were scanned
	retiring bool
	halted   error

	quotas   []*quota // by name, removed ones too
	books    map[BucketID]*book
	order    []*book // all of books
	cursor   int     // of the sweep
	holders  holderTable
	sessions map[uint64]*session
	lastN    uint64

	queue   []*book // to be looked at by the next Ready
	hungry  []*book // with unmet wishes, looked at again by Tick
	loads   []BucketID
	absent  []*book          // known to have no record
	orphans []Write          // deletions of records of quotas that are gone
	lapsed  map[string]int64 // when the last window of such a quota ends
	writes  []*book          // whose records are to be written
	txns    []Txn
	flying  []flight
	lastID  uint64
	next    *policyChange
	// overs is what was spent unreserved, counters how many counters of it are
	// remembered of all holders.
	overs    map[overOf]int64
	counters int
	// shrinkAt is when a longest lease that became shorter may be lowered.
	shrinkAt time.Duration

	ready     Ready
	stats     Stats
	situation Situation // scratch of allocate
	targets   []Target
}

// Allocator says how much of a bucket each holder should have. It writes one
// target of unspent tokens for each of s.Asks into targets; what a holder has
// above its target is recalled when that is less than Keep allows. A Ledger
// keeps all laws whatever it answers.
type Allocator func(s *Situation, targets []Target)

// Situation is one bucket as an Allocator sees it.
type Situation struct {
	// Free is what the coordinator can grant; Limit is the most that the
	// bucket may hold.
	Free  int64
	Limit int64
	// Lend says that holders may be given more than they ask for.
	Lend bool
	// Ahead says that they may be given what they will need later: it lasts until a
	// window ends.
	Ahead bool
	// Turn grows with every look at the bucket, so that what rounding leaves
	// can go to each in turn.
	Turn uint64
	// Interval is how often holders report.
	Interval time.Duration
	Asks     []HolderAsk
}

// HolderAsk is one holder's part of a Situation.
type HolderAsk struct {
	Region      RegionTerms
	Outstanding int64
	Ask         Ask
	// Later says that it was given some a moment ago: what is added waits a little.
	Later bool
	// RoundTrip is the measured way to the holder and back; 0 is not known.
	RoundTrip time.Duration
}

// Target is an Allocator's answer for one holder.
type Target struct {
	// Hold is how much the holder should have unspent: it is granted the
	// difference when Hold is above what it has.
	Hold int64
	// Recall asks the holder to return what it has above Hold.
	Recall bool
}

// NewLedger opens the books of a new leader. It fails with ErrEmptyStore,
// ErrNotCluster, or for a malformed record; then nothing may be granted.
func NewLedger(cfg Config, b Begin) (*Ledger, error) {
	l := &Ledger{
		cfg: cfg, policy: b.Policy, began: b.Now.Mono, revision: b.Revision,
		books: map[BucketID]*book{}, sessions: map[uint64]*session{}, buried: map[BucketID]struct{}{},
		lapsed: map[string]int64{},
	}
	l.holders.index = map[HolderID]int32{}
	if err := l.readCluster(b.Meta); err != nil {
		return nil, err
	}
	l.epoch = Epoch{History: l.cluster.History, Revision: b.Leader}
	for i := range b.Terms {
		l.quotas = append(l.quotas, newQuota(b.Terms[i], b.Now.Mono))
	}
	sortQuotas(l.quotas)
	if err := l.readMeta(b.Meta); err != nil {
		return nil, err
	}
	longest := l.cluster.Longest
	l.election = max(cfg.ElectionTTL, l.cluster.Election)
	l.settles = b.Now.Mono + cfg.Drift.Outlast(l.election+max(longest, l.longestTerms()))
	if mutated("a drop after the lease alone") {
		l.settles -= cfg.Drift.Outlast(cfg.ElectionTTL)
	}
	for _, q := range l.quotas {
		if l.cluster.Changed {
			q.doubt(l.settles)
		}
		l.openQuota(q, b.Now)
	}
	l.boot()
	return l, nil
}

// readCluster finds the cluster's record, or makes one for a new cluster.
func (l *Ledger) readCluster(meta []Entry) error {
	i := slices.IndexFunc(meta, func(e Entry) bool { return e.Key == clusterKey })
	if i < 0 {
		if !l.cfg.NewCluster {
			return ErrEmptyStore
		}
		l.cluster = clusterRecord{Cluster: l.cfg.Cluster, History: 1, Since: 1}
		return nil
	}
	r, err := decodeCluster(meta[i].Value)
	if err != nil {
		return fmt.Errorf("lease: %s: %w", clusterKey, err)
	}
	if r.Cluster != l.cfg.Cluster {
		return fmt.Errorf("%w: it is of %q, not %q", ErrNotCluster, r.Cluster, l.cfg.Cluster)
	}
	l.cluster, l.clusRev = r, meta[i].Revision
	return nil
}

// readMeta applies the other entries below MetaPrefix.
func (l *Ledger) readMeta(meta []Entry) error {
	for _, e := range meta {
		var err error
		switch {
		case e.Key == policyKey:
			err = l.readPolicy(e)
		case strings.HasPrefix(e.Key, windowPrefix):
			err = l.readWindow(e)
		case strings.HasPrefix(e.Key, floorPrefix):
			err = l.readFloor(e)
		}
		if err != nil {
			return fmt.Errorf("lease: %q: %w", e.Key, err)
		}
	}
	return nil
}

// readPolicy finds out whether this leader brings another policy than the last one.
func (l *Ledger) readPolicy(e Entry) error {
	r, err := decodePolicy(e.Value)
	l.polRev = e.Revision
	l.cluster.Changed = l.cluster.Changed || r.Revision != l.policy.Revision
	return err
}

// doubt has nothing judged until a time, and in the windows up to the one that is
// open: what was granted under another limit may be spent till then.
func (q *quota) doubt(until time.Duration) {
	q.unsure, q.unsureWindow = max(q.unsure, until), max(q.unsureWindow, q.window.High)
}

func (l *Ledger) readWindow(e Entry) error {
	r, err := decodeWindow(e.Value)
	name := strings.TrimPrefix(e.Key, windowPrefix)
	if q := l.quota(name); q != nil && err == nil {
		q.window, q.windowRev = r, e.Revision
	} else if err == nil {
		l.lapsed[name] = r.Ends
	}
	return err
}

// longestTerms returns the longest lease of the policy in force.
func (l *Ledger) longestTerms() time.Duration {
	var longest time.Duration
	for _, q := range l.quotas {
		if !q.removed {
			longest = max(longest, q.terms.TTL)
		}
	}
	return longest
}

// quota finds a quota by name.
func (l *Ledger) quota(name string) *quota {
	i, ok := slices.BinarySearchFunc(l.quotas, name, func(q *quota, n string) int {
		return strings.Compare(q.terms.Quota, n)
	})
	if !ok {
		return nil
	}
	return l.quotas[i]
}

// Epoch returns the epoch of this leader.
func (l *Ledger) Epoch() Epoch { return l.epoch }

// Policy returns the policy in force.
func (l *Ledger) Policy() PolicyRecord { return l.policy }

// Booted says that the first transaction is committed: sessions may be opened.
func (l *Ledger) Booted() bool { return l.booted }

// Extend says that the leadership is sure until then, by the clock of
// Moment.Mono. It never moves back.
func (l *Ledger) Extend(until time.Duration) { l.until = max(l.until, until) }

// granting says whether anything may be granted, renewed or promised now: the
// leadership stands (checked after the report that is answered was received),
// the policy in force is durable, and no lease of a lost past can still run.
func (l *Ledger) granting(now Moment) bool {
	return l.booted && !l.retiring && l.halted == nil && now.Mono < l.until &&
		(!l.cluster.Distrust || now.Mono >= l.settles)
}

// Granting is granting with the reason when nothing is granted, for operators. It
// changes nothing.
func (l *Ledger) Granting(now Moment) (ok bool, why string) {
	switch {
	case l.granting(now):
		return true, ""
	case l.retiring || l.halted != nil:
		return false, "this leader is stepping down"
	case !l.booted:
		return false, "its first transaction is not committed yet"
	case now.Mono >= l.until:
		return false, "the election lease is no longer sure"
	default:
		return false, fmt.Sprintf("the store lost its past: leases that it does not know of may run for another %v",
			(l.settles - now.Mono).Round(100*time.Millisecond))
	}
}

// quota is the state of one quota in a ledger.
type quota struct {
	terms   Terms
	removed bool // from the policy at removedAt
	// removedAt is when its last lease can have been granted.
	removedAt time.Duration
	meter     bucket.Meter // what flows into each bucket's pool
	window    windowRecord
	windowRev int64 // 0: no window is stored, so none is open
	rolling   bool  // a transaction that opens a window is in flight
	slots     []slot
	reserve   reserve // of a window, for the floors
	capacity  int64
	newborn   newborn
	books     Books
	stock     Stock
	buckets   int
	granted   int64 // tokens, since the ledger opened
	// stranded is what holders without a session had at the last whole sweep,
	// strands what the sweep under way has found.
	stranded, strands int64
	moved             Moved
	// What was spent from floors and unreserved, as reported, and how far the
	// promise was exceeded. Until unsure, and in windows up to unsureWindow, two
	// limits count: nothing is judged.
	floorSpent, overspent int64
	observed              Observed
	unsure                time.Duration
	unsureWindow          int64
}

func newQuota(t Terms, now time.Duration) *quota {
	q := &quota{terms: t, unsure: math.MinInt64, unsureWindow: math.MinInt64}
	if !t.Windowed {
		q.meter = bucket.NewMeter(now, bucket.Rate{Per: t.Per})
	}
	return q
}

func sortQuotas(q []*quota) {
	slices.SortFunc(q, func(a, b *quota) int { return strings.Compare(a.terms.Quota, b.terms.Quota) })
}

// lookup returns the book of a bucket, making one that still needs its record.
func (l *Ledger) lookup(id BucketID) *book {
	if b, ok := l.books[id]; ok {
		return b
	}
	q := l.quota(id.Quota)
	if q == nil || q.removed || len(l.order) >= l.cfg.MaxBuckets {
		return nil
	}
	b := &book{key: id.Key, quota: q, place: len(l.order)}
	l.books[b.id()] = b // with the quota's own string, not the message's
	l.order = append(l.order, b)
	q.buckets++
	return b
}

func (b *book) id() BucketID { return BucketID{Quota: b.quota.terms.Quota, Key: b.key} }

// forget drops a book that is in its birth state, or of a removed quota; the
// accounts of one for windows may be open still.
func (l *Ledger) forget(b *book) {
	for i := range b.accounts {
		l.holders.list[b.accounts[i].holder].accounts--
	}
	last := len(l.order) - 1
	l.order[b.place] = l.order[last]
	l.order[b.place].place = b.place
	l.order[last] = nil
	l.order = l.order[:last]
	delete(l.books, b.id())
	b.quota.buckets--
	before := b.stock()
	b.quota.books.Initial -= before.sum()
	b.state = bookAbsent
	b.publish(before)
}

// enqueue has the next Ready look at b.
func (l *Ledger) enqueue(b *book) {
	if !b.queued {
		b.queued = true
		l.queue = append(l.queue, b)
	}
}
