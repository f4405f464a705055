package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

// event is something for the ledger, run by its owner with the time at which it
// was taken.
type event func(now lease.Moment)

// term is the time that this process leads: one ledger and what keeps it going.
type term struct {
	*Server
	leadership lease.Leadership
	clockTTL   time.Duration // of the election lease, by the clock
	since      time.Time     // when it began, by the wall clock

	// ctx ends when this leader must stop, for the cause that stop was given.
	ctx  context.Context
	stop context.CancelCauseFunc
	// done is closed when the loop has ended, over when the leadership is given
	// up: streams end with it, so that their holders find a successor.
	done, over chan struct{}
	helpers    sync.WaitGroup

	// inbox holds what streams brought, one message of each at a time, so that
	// they are served in turn. results holds everything else.
	inbox   chan event
	results chan event

	// Written by the loop or by helpers, read by both.
	sure     atomic.Int64 // Mono until which the leadership is sure
	progress atomic.Int64 // Mono of the loop's last turn
	booted   atomic.Bool
	inForce  atomic.Pointer[rules]
	view     atomic.Pointer[view]
	attempts attempts
	said     atomic.Int64  // Mono when it was last logged that writes fail; 0: they do not
	backlog  atomic.Int64  // transactions that wait for their turn
	loading  atomic.Int64  // records that are being read
	reads    chan struct{} // tokens of concurrent reads

	// Owned by the loop.
	ledger   *lease.Ledger
	board    *partition.Board // links and cuts of the holders
	talks    map[uint64]*talk // by session
	waiting  []lease.Txn
	flying   int
	wanted   *rules                      // to be brought into force
	changing *rules                      // being written
	shown    time.Duration               // when the last view was made
	news     bool                        // the next one should not wait
	counted  map[string]lease.QuotaStats // what the metrics know, by quota
	seen     lease.Stats                 // likewise
}

const (
	tickTime = 10 * time.Millisecond
	// turnTime is how long events are taken before the ledger is asked what to
	// do.
	turnTime   = 2 * time.Millisecond
	maxResults = 256
	maxCommits = 8
	maxReads   = 8
)

func newTerm(s *Server, leadership lease.Leadership, ledger *lease.Ledger, board *partition.Board, inForce *rules) *term {
	t := &term{
		Server: s, leadership: leadership, clockTTL: s.clock.Scaled(leadership.TTL()),
		done: make(chan struct{}), over: make(chan struct{}),
		inbox: make(chan event), results: make(chan event, maxResults), reads: make(chan struct{}, maxReads),
		ledger: ledger, board: board, talks: map[uint64]*talk{}, counted: map[string]lease.QuotaStats{}, since: s.clock.Wall(),
	}
	t.ctx, t.stop = context.WithCancelCause(context.Background())
	t.inForce.Store(inForce)
	t.progress.Store(int64(s.clock.Mono()))
	t.publish(s.clock.Moment())
	return t
}

// run leads until this leader must stop, or until ctx ends and the chunks are
// written back. A loop that is stuck is not waited for here.
func (t *term) run(ctx context.Context) error {
	t.helpers.Go(t.keepProving)
	t.helpers.Go(t.scan)
	t.helpers.Go(func() {
		defer close(t.done)
		t.stop(t.loop(ctx))
	})
	<-t.ctx.Done()
	select {
	case <-t.done:
	case <-time.After(t.leadership.TTL()):
		t.log.Error("the leader's loop does not end")
	}
	return context.Cause(t.ctx)
}

// wait waits for everything that the term started, but not for calls of the
// store: those are the server's.
func (t *term) wait() { t.helpers.Wait() }

// loop owns the ledger.
func (t *term) loop(ctx context.Context) error {
	ticker := time.NewTicker(max(t.clock.Real(tickTime), time.Millisecond))
	defer ticker.Stop()
	retire := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case e := <-t.inbox:
			t.take(e)
		case e := <-t.results:
			t.take(e)
		case <-ticker.C:
			t.take(t.ledger.Tick)
		case <-retire:
			retire = nil
			t.draining.Store(true)
			t.setServing(false)
			late = time.After(t.opts.DrainTimeout)
			t.log.Info("draining: nothing more is granted, what is set aside is written back")
		case <-late:
			t.log.Warn("draining took too long; what is set aside stays charged until it surely ended", "timeout", t.opts.DrainTimeout)
			return errRetired
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
		t.takeMore()
		if retire == nil && (!t.booted.Load() || t.retired()) {
			return errRetired
		}
		if err := t.carryOut(); err != nil {
			return err
		}
	}
}

// take runs one event.
func (t *term) take(e event) {
	now := t.clock.Moment()
	t.ledger.Extend(time.Duration(t.sure.Load()))
	e(now)
	t.progress.Store(int64(now.Mono))
}

// takeMore runs what is there already, so that one look at the ledger serves
// many; not for long, since all of them wait for that look.
func (t *term) takeMore() {
	for until := time.Now().Add(turnTime); time.Now().Before(until); {
		select {
		case e := <-t.inbox:
			t.take(e)
		case e := <-t.results:
			t.take(e)
		default:
			return
		}
	}
}

// retired has the chunks written back and says whether all are.
func (t *term) retired() bool {
	if !t.ledger.Idle() {
		return false
	}
	t.ledger.Retire(t.clock.Moment())
	return t.ledger.Idle()
}

// carryOut does what the ledger wants done.
func (t *term) carryOut() error {
	now := t.clock.Moment()
	t.changePolicy()
	r := t.ledger.Ready(now)
	t.load(r.Loads)
	t.waiting = append(t.waiting, r.Txns...)
	t.commitMore()
	for i := range r.Batches {
		if c := t.talks[r.Batches[i].Session.N]; c != nil && !c.out.push(r.Batches[i]) {
			c.end(errSlow)
		}
	}
	for _, n := range r.Closed {
		if c := t.talks[n]; c != nil {
			t.board.Parted(now.Mono, c.holder, c.session.N)
			c.part("a new policy is in force, for which the holder comes again")
			delete(t.talks, n)
		}
	}
	t.noteBoot()
	if t.news || now.Mono-t.shown >= viewTime {
		t.publish(now)
	}
	return r.Halt
}

// noteBoot tells everybody once that this leader serves.
func (t *term) noteBoot() {
	if t.booted.Load() || !t.ledger.Booted() {
		return
	}
	t.booted.Store(true)
	t.news = true
	if !t.draining.Load() {
		t.setServing(true)
	}
	t.log.Info("leading", "epoch", t.ledger.Epoch().String(), "policy", t.ledger.Policy().Revision)
}

// changePolicy brings a wanted policy on its way, and notes when it is in force.
func (t *term) changePolicy() {
	record := t.ledger.Policy()
	if t.changing != nil && bytes.Equal(record.Policy, t.changing.canonical) {
		t.log.Info("a new policy is in force", "revision", record.Revision, "quotas", len(t.changing.terms))
		t.inForce.Store(t.changing)
		t.board.SetPolicy(t.clock.Mono(), t.changing.set)
		t.changing, t.news = nil, true
	}
	if t.wanted == nil || t.changing != nil {
		return
	}
	if bytes.Equal(record.Policy, t.wanted.canonical) {
		t.wanted = nil
		return
	}
	if t.ledger.SetPolicy(record.Replace(t.wanted.canonical), t.wanted.terms) {
		t.changing, t.wanted = t.wanted, nil
	}
}

// post has an event run if this leader lasts; it does not wait.
func (t *term) post(e event) {
	select {
	case t.results <- e:
	case <-t.ctx.Done():
	}
}

// ask runs an event of a stream in its turn and returns its error.
func (t *term) ask(ctx context.Context, e func(now lease.Moment) error) error {
	answer := make(chan error, 1)
	select {
	case t.inbox <- func(now lease.Moment) { answer <- e(now) }:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.ctx.Done():
		return errStepDown
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-t.done:
		return errStepDown
	}
}

// keepProving renews the election lease. It stops doing so when the loop or a
// transaction is stuck: a leader that cannot work must not keep its place.
func (t *term) keepProving() {
	ticker := time.NewTicker(t.leadership.TTL() / 5)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-ticker.C:
		}
		if err := t.stuck(t.clock.Mono()); err != nil {
			t.stop(err)
			return
		}
		sure, err := t.prove(t.ctx, t.leadership)
		switch {
		case err == nil:
			t.sure.Store(int64(sure))
			failing = false
		case errors.Is(err, lease.ErrFenced):
			t.stop(err)
			return
		case t.ctx.Err() == nil && !failing:
			failing = true
			t.log.Warn("the election lease could not be renewed; granting stops when it is no longer sure", "error", err)
		}
		t.metrics.proofs.WithLabelValues(outcome(err)).Inc()
	}
}

// stuck says that nothing moved for longer than an election lease.
func (t *term) stuck(now time.Duration) error {
	if idle := now - time.Duration(t.progress.Load()); idle > t.clockTTL {
		return fmt.Errorf("%w: its loop has not turned for %v", errStuck, t.clock.Real(idle))
	}
	if oldest, ok := t.attempts.oldest(); ok && now-oldest > t.clockTTL {
		return fmt.Errorf("%w: a transaction has been on its way for %v", errStuck, t.clock.Real(now-oldest))
	}
	return nil
}
