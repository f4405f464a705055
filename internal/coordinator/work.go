package coordinator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/a1009580/leasehold/lease"
)

// load reads records in the background.
func (t *term) load(ids []lease.BucketID) {
	for len(ids) > 0 {
		n := min(len(ids), loadBatch)
		batch := ids[:n:n]
		ids = ids[n:]
		t.loading.Add(int64(n))
		t.workers.Go(func() {
			defer t.loading.Add(-int64(n))
			t.read(batch)
		})
	}
}

// loadBatch is how many records one read asks for: what etcd takes in one
// transaction.
const loadBatch = 128

// read reads some records. When it cannot, the ledger asks again.
func (t *term) read(ids []lease.BucketID) {
	select {
	case t.reads <- struct{}{}:
	case <-t.ctx.Done():
		return
	}
	defer func() { <-t.reads }()
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = id.StoreKey()
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.callTimeout())
	defer cancel()
	began := time.Now()
	entries, _, err := t.opts.Backing.Store.Get(ctx, keys)
	t.metrics.call("get", began, err)
	if err != nil {
		sleep(t.ctx, retryPause)
		t.post(func(lease.Moment) { t.ledger.Unloaded(ids) })
		return
	}
	t.post(func(now lease.Moment) { t.ledger.Loaded(now, ids, entries) })
}

// retryPause is how long a read that failed waits before it is tried again.
const retryPause = 200 * time.Millisecond

// callTimeout is how long one call of the store may take: less than an election
// lease, so that a leader whose store hangs steps down by itself.
func (t *term) callTimeout() time.Duration { return t.leadership.TTL() * 3 / 4 }

// scan gives the ledger all stored buckets, page by page.
func (t *term) scan() {
	pause := newPause()
	limit := scanPage
	for after := ""; ; {
		ctx, cancel := context.WithTimeout(t.ctx, t.callTimeout())
		began := time.Now()
		page, _, err := t.opts.Backing.Store.Scan(ctx, lease.BucketPrefix, after, limit)
		cancel()
		t.metrics.call("scan", began, err)
		if t.ctx.Err() != nil {
			return
		}
		if err != nil {
			sleep(t.ctx, pause.NextBackOff())
			continue
		}
		pause.Reset()
		last := len(page) < limit
		t.post(func(now lease.Moment) { t.ledger.Scanned(now, page, last) })
		if last {
			return
		}
		after = page[len(page)-1].Key
		limit = nextPage(page)
	}
}

const (
	// pageBytes and mostPage bound a page: what a store sends at once, and what
	// the ledger takes in without anybody waiting noticeably.
	pageBytes = 1 << 20
	mostPage  = 8000
)

// nextPage is how many entries to read after a page, as far as its own tell how
// long they are. A store pays for each page as for all that is left: etcd counts
// it, which takes half a second when a million are. So pages are few and large.
func nextPage(page []lease.Entry) int {
	bytes := 0
	for i := range page {
		bytes += len(page[i].Key) + len(page[i].Value)
	}
	return max(scanPage, min(mostPage, pageBytes*len(page)/max(1, bytes)))
}

// commitMore starts what may be on its way at once: while the store takes
// nothing, one transaction tries it for all.
func (t *term) commitMore() {
	most := maxCommits
	if t.said.Load() != 0 {
		most = 1
	}
	for t.flying < most && len(t.waiting) > 0 {
		txn := t.waiting[0]
		t.waiting[0] = lease.Txn{}
		t.waiting = t.waiting[1:]
		t.flying++
		t.workers.Go(func() { t.commit(txn) })
	}
	t.backlog.Store(int64(len(t.waiting)))
}

// commit makes one transaction and tells the ledger what came of it.
func (t *term) commit(txn lease.Txn) {
	pause := newPause()
	for {
		revision, err := t.tryCommit(txn)
		switch {
		case err == nil:
			t.post(func(now lease.Moment) {
				t.flying--
				t.written()
				t.ledger.Committed(now, txn.ID, revision)
			})
			return
		case harmless(err) && !bucketsOnly(txn):
			// Nothing was written and nothing else waits for these records:
			// the same transaction is as right later. Buckets are decided
			// anew, for time goes on for them.
			t.unwritten(err)
			sleep(t.ctx, pause.NextBackOff())
			if t.ctx.Err() == nil {
				continue
			}
		case harmless(err):
			// The ledger decides them again as soon as it hears of it.
			t.unwritten(err)
			sleep(t.ctx, decideAgain)
		}
		t.post(func(lease.Moment) {
			t.flying--
			t.ledger.Failed(txn.ID, err)
		})
		return
	}
}

// decideAgain is how long debits that were not written wait before they are
// decided anew: a store that is short of space or away is tried ten times a
// second.
const decideAgain = 100 * time.Millisecond

func (t *term) tryCommit(txn lease.Txn) (int64, error) {
	t.attempts.begin(txn.ID, t.clock.Mono())
	defer t.attempts.end(txn.ID)
	ctx, cancel := context.WithTimeout(t.ctx, t.callTimeout())
	defer cancel()
	began := time.Now()
	revision, err := t.opts.Backing.Store.Commit(ctx, t.leadership.Key(), txn.Writes)
	t.metrics.call("commit", began, err)
	return revision, err
}

// harmless says that a transaction surely wrote nothing, and that the leader
// still stands.
func harmless(err error) bool {
	return errors.Is(err, lease.ErrNoSpace) || errors.Is(err, lease.ErrUnavailable)
}

func bucketsOnly(txn lease.Txn) bool {
	for _, w := range txn.Writes {
		if !strings.HasPrefix(w.Key, lease.BucketPrefix) {
			return false
		}
	}
	return true
}

// unwritten says why nothing is written, when that begins and now and then
// while it lasts.
func (t *term) unwritten(err error) {
	text := err.Error()
	t.trouble.Store(&text)
	now := t.clock.Mono()
	if last := time.Duration(t.said.Load()); last > 0 && t.clock.Real(now-last) < sayAgain {
		return
	}
	t.said.Store(int64(max(now, 1)))
	if errors.Is(err, lease.ErrNoSpace) {
		t.log.Error("grants stop: the store's disk is short of space; nothing is forgotten", "error", err)
		return
	}
	t.log.Warn("the store does not take writes", "error", err)
}

// sayAgain is how often the same trouble is logged.
const sayAgain = 30 * time.Second

// written says that the store takes writes again.
func (t *term) written() {
	if t.said.Swap(0) != 0 {
		t.log.Info("the store takes writes again")
	}
	t.trouble.Store(nil)
}

func newPause() *backoff.ExponentialBackOff {
	b := &backoff.ExponentialBackOff{
		InitialInterval: 100 * time.Millisecond, Multiplier: 2, RandomizationFactor: 0.5, MaxInterval: time.Second,
	}
	b.Reset()
	return b
}

// attempts knows since when transactions are on their way.
type attempts struct {
	mu    sync.Mutex
	since map[uint64]time.Duration
}

func (a *attempts) begin(id uint64, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since == nil {
		a.since = map[uint64]time.Duration{}
	}
	a.since[id] = now
}

func (a *attempts) end(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, id)
}

// oldest returns when the oldest one began, and false if there is none.
func (a *attempts) oldest() (at time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, began := range a.since {
		if !ok || began < at {
			at, ok = began, true
		}
	}
	return at, ok
}
