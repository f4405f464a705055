// Package ledger measures a coordinator: how many grants it makes, what it
// writes for them, and what buckets and regions cost.
package ledger

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// Quota is the one quota of a Desk.
const Quota = "bench/per-key"

// Tick is how often every holder reports.
const Tick = 100 * time.Millisecond

// Store is where a Desk's transactions go, and who guards them. The zero Store
// takes everything and keeps nothing.
type Store struct {
	lease.Store
	Key lease.LeaderKey
	// Callers is how many transactions are on their way at once.
	Callers int
}

// Desk is a ledger with sessions of holders that exist only as far as the
// ledger can see: each spends what it is granted and asks for more. Time is what
// it is told. What it counts is for whoever reads it.
type Desk struct {
	Ledger *lease.Ledger
	Now    time.Duration
	Grants int64 // that gave tokens
	Tokens int64
	Txns   int64
	Writes int64
	Bytes  int64 // keys and values of what was written

	store   Store
	ask     lease.Ask
	spend   int64 // of each account at each tick, as far as it has as much
	keys    []string
	holders []holder
}

// holder is one session, and its account of each bucket.
type holder struct {
	session  lease.Session
	accounts []account
	reports  []lease.Report
}

type account struct {
	n       uint64
	spent   int64
	granted int64
	echo    time.Duration
}

// Options say what a Desk is.
type Options struct {
	Buckets, Holders int
	// Rate is what each bucket has, in tokens a second, all of which its holders
	// spend.
	Rate  int64
	Store Store
}

// ahead is for how many ticks a holder asks.
const ahead = 10

// New opens the books of a new cluster, and a session for every holder.
func New(o Options) (*Desk, error) {
	d := &Desk{
		Now: time.Hour, store: o.Store,
		spend: max(1, o.Rate*int64(Tick)/int64(time.Second)/int64(o.Holders)),
	}
	d.ask = lease.Ask{Demand: d.spend * 10_000, Want: ahead * d.spend}
	var err error
	d.Ledger, err = open(o, d.moment(), max(1, o.Store.Key.Revision), nil)
	if err != nil {
		return nil, err
	}
	d.Ledger.Extend(1 << 60)
	if err := d.Settle(); err != nil {
		return nil, err
	}
	d.Ledger.Scanned(d.moment(), nil, true)
	for i := range o.Buckets {
		d.keys = append(d.keys, fmt.Sprintf("key-%012d", i))
	}
	for i := range o.Holders {
		if err := d.join(i); err != nil {
			return nil, err
		}
	}
	if err := d.Settle(); err != nil {
		return nil, err
	}
	return d, nil
}

// open opens the books on what a store holds of the cluster.
func open(o Options, now lease.Moment, revision int64, meta []lease.Entry) (*lease.Ledger, error) {
	stored, err := lease.StoredPolicy(meta)
	if err != nil {
		return nil, err
	}
	record, _ := stored.Next([]byte("policy"))
	return lease.NewLedger(lease.Config{
		Cluster: "bench", Drift: lease.DefaultDrift, ElectionTTL: time.Second, ReportInterval: Tick,
		MaxBuckets: o.Buckets, Allocate: reconcile.Allocate, NewCluster: true,
	}, lease.Begin{
		Now: now, Leader: revision, Revision: revision, Meta: meta, Policy: record,
		Terms: []lease.Terms{{
			Quota: Quota, Tokens: o.Rate, Per: time.Second, Burst: 16 * o.Rate, TTL: 5 * time.Second, FloorTTL: 10 * time.Minute,
		}},
	})
}

func (d *Desk) moment() lease.Moment {
	return lease.Moment{Mono: d.Now, Wall: time.Unix(1_700_000_000, 0).Add(d.Now)}
}

// join opens a session, each of another region.
func (d *Desk) join(i int) error {
	w, ok := d.Ledger.OpenSession()
	if !ok {
		return fmt.Errorf("ledger: no session for holder %d", i)
	}
	id := lease.HolderID{Region: "region-" + strconv.Itoa(i), Node: "1"}
	copy(id.Incarnation[:], id.Region)
	h := holder{session: w.Session, accounts: make([]account, len(d.keys)), reports: make([]lease.Report, 0, batch)}
	d.holders = append(d.holders, h)
	return d.Ledger.Hello(d.moment(), lease.Hello{
		Session: w.Session, Cluster: w.Cluster, Holder: id, PolicyRevision: w.PolicyRevision, Last: true,
	})
}

// batch is how many reports one message holds.
const batch = 10_000

// Report has every holder spend and report all buckets, once.
func (d *Desk) Report() error {
	d.Now += Tick
	for i := range d.holders {
		h := &d.holders[i]
		for from := 0; from < len(d.keys); from += batch {
			h.reports = h.reports[:0]
			for k := from; k < min(from+batch, len(d.keys)); k++ {
				h.reports = append(h.reports, d.say(&h.accounts[k], d.keys[k]))
			}
			if err := d.Ledger.Report(d.moment(), lease.ReportBatch{Session: h.session, Sent: d.Now, Reports: h.reports}); err != nil {
				return err
			}
		}
	}
	return nil
}

// say spends from an account and reports it.
func (d *Desk) say(a *account, key string) lease.Report {
	a.spent += min(d.spend, a.granted-a.spent)
	return lease.Report{
		Bucket: lease.BucketID{Quota: Quota, Key: key}, Account: a.n, Spent: a.spent,
		GrantSeen: a.granted, EchoSeen: a.echo, Ask: d.ask,
	}
}

// Settle carries out all that the ledger wants, and hears its grants.
func (d *Desk) Settle() error {
	for {
		r := d.Ledger.Ready(d.moment())
		if r.Halt != nil {
			return r.Halt
		}
		if len(r.Loads)+len(r.Txns)+len(r.Batches) == 0 {
			return nil
		}
		if len(r.Loads) > 0 {
			if err := d.load(r.Loads); err != nil {
				return err
			}
		}
		if err := d.commit(r.Txns); err != nil {
			return err
		}
		for i := range r.Batches {
			d.hear(&r.Batches[i])
		}
	}
}

// load reads records. A store that keeps nothing has none.
func (d *Desk) load(ids []lease.BucketID) error {
	if d.store.Store == nil {
		d.Ledger.Loaded(d.moment(), ids, nil)
		return nil
	}
	const most = 128
	for len(ids) > 0 {
		part := ids[:min(most, len(ids))]
		ids = ids[len(part):]
		names := make([]string, len(part))
		for i, id := range part {
			names[i] = id.StoreKey()
		}
		entries, _, err := d.store.Get(context.Background(), names)
		if err != nil {
			return err
		}
		d.Ledger.Loaded(d.moment(), part, entries)
	}
	return nil
}

// commit carries transactions out, some at once, and tells the ledger.
func (d *Desk) commit(txns []lease.Txn) error {
	revisions, errs := make([]int64, len(txns)), make([]error, len(txns))
	turn := make(chan struct{}, max(1, d.store.Callers))
	var writing sync.WaitGroup
	for i, t := range txns {
		d.Txns++
		d.Writes += int64(len(t.Writes))
		for _, w := range t.Writes {
			d.Bytes += int64(len(w.Key) + len(w.Value))
		}
		revisions[i] = d.Txns + 1
		if d.store.Store == nil {
			continue
		}
		turn <- struct{}{}
		writing.Go(func() {
			revisions[i], errs[i] = d.store.Commit(context.Background(), d.store.Key, t.Writes)
			<-turn
		})
	}
	writing.Wait()
	for i, t := range txns {
		if errs[i] != nil {
			return errs[i]
		}
		d.Ledger.Committed(d.moment(), t.ID, revisions[i])
	}
	return nil
}

// hear takes a batch of grants.
func (d *Desk) hear(b *lease.GrantBatch) {
	for i := range d.holders {
		if h := &d.holders[i]; h.session == b.Session {
			for j := range b.Grants {
				d.grant(h, &b.Grants[j])
			}
			return
		}
	}
}

func (d *Desk) grant(h *holder, g *lease.Grant) {
	k, err := strconv.Atoi(g.Bucket.Key[len("key-"):])
	if err != nil || g.Closed {
		return
	}
	a := &h.accounts[k]
	if g.Account != a.n {
		*a = account{n: g.Account}
	}
	if more := g.Granted - a.granted; more > 0 {
		d.Grants++
		d.Tokens += more
		a.granted = g.Granted
	}
	a.echo = max(a.echo, g.Echo)
}
