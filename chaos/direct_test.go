package chaos

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// direct checks look at one law where no schedule of messages leads: each
// returns what is wrong, and each has a mutant that it must notice.
var direct = map[string]func() error{
	"a second Hello resets":                    secondHello,
	"a claim clamped in silence":               clampedClaim,
	"a deaf holder renewed":                    deafHolder,
	"a share of 0 means unlimited":             zeroShare,
	"now read before the take":                 takeFirst,
	"a hold reported as spent":                 heldIsUnspent,
	"the clock compared with a newer deadline": newerDeadline,
}

func TestDirectChecks(t *testing.T) {
	for name, check := range direct {
		t.Run(name, func(t *testing.T) { require.NoError(t, check()) })
	}
}

// desk is a ledger with a store that obeys at once and one holder that a test
// plays by hand.
type desk struct {
	ledger  *lease.Ledger
	now     time.Duration
	session lease.Session
	grants  []lease.Grant
	key     int64
}

var me = lease.HolderID{Region: "us", Node: "1"}

func newDesk(allocate lease.Allocator) *desk {
	terms := scene(newRNG(1, "desk")).Policies[0]
	d := &desk{now: time.Hour, key: 2}
	policy, _ := lease.PolicyRecord{}.Next([]byte("0"))
	l, err := lease.NewLedger(lease.Config{
		Cluster: "sim", Drift: 1000, ElectionTTL: time.Second, ReportInterval: 100 * time.Millisecond,
		MaxBuckets: 10, Allocate: allocate, NewCluster: true,
	}, lease.Begin{Now: d.moment(), Leader: d.key, Revision: d.key, Policy: policy, Terms: terms})
	if err != nil {
		panic(err)
	}
	d.ledger = l
	l.Extend(1000 * time.Hour)
	d.settle()
	d.join()
	return d
}

func (d *desk) moment() lease.Moment { return lease.Moment{Mono: d.now, Wall: epochStart.Add(d.now)} }

func (d *desk) join(claims ...lease.Claim) {
	w, _ := d.ledger.OpenSession()
	d.session = w.Session
	if err := d.ledger.Hello(d.moment(), d.hello(claims...)); err != nil {
		panic(err)
	}
	d.settle()
}

func (d *desk) hello(claims ...lease.Claim) lease.Hello {
	return lease.Hello{Session: d.session, Holder: me, PolicyRevision: 1, Last: true, Claims: claims}
}

var deskBucket = lease.BucketID{Quota: "quota 1", Key: "k"}

func (d *desk) report(account uint64, ask int64) {
	d.now += 100 * time.Millisecond
	_ = d.ledger.Report(d.moment(), lease.ReportBatch{Session: d.session, Sent: d.now, Reports: []lease.Report{
		{Bucket: deskBucket, Account: account, Ask: lease.Ask{Demand: 1000, Want: ask}},
	}})
	d.ledger.Tick(d.moment())
	d.settle()
}

func (d *desk) settle() {
	for range 10 {
		r := d.ledger.Ready(d.moment())
		d.ledger.Loaded(d.moment(), r.Loads, nil)
		for _, t := range r.Txns {
			d.key++
			d.ledger.Committed(d.moment(), t.ID, d.key)
		}
		for _, b := range r.Batches {
			d.grants = append(d.grants, b.Grants...)
		}
	}
}

// want gives everybody what they want.
func want(s *lease.Situation, targets []lease.Target) {
	for i := range targets {
		targets[i].Hold = max(s.Asks[i].Ask.Want, s.Asks[i].Outstanding)
	}
}

func secondHello() error {
	d := newDesk(want)
	if d.ledger.Hello(d.moment(), d.hello()) == nil {
		return errors.New("law 9: a second Hello was taken")
	}
	return nil
}

func clampedClaim() error {
	d := newDesk(want)
	d.report(0, 10)
	d.report(0, 10)
	had := d.grants[len(d.grants)-1]
	old := d.session
	d.grants = nil
	d.join(lease.Claim{Bucket: deskBucket, Session: old, Account: had.Account, Unspent: had.Granted + 5})
	for _, g := range d.grants {
		if g.Closed && g.Account > had.Account-1<<31 {
			return nil
		}
	}
	return fmt.Errorf("law 3: a claim of %d was not refused, of which %d were granted", had.Granted+5, had.Granted)
}

func deafHolder() error {
	d := newDesk(want)
	d.report(0, 10)
	d.report(0, 10)
	for range 100 { // it reports, and never says that it saw a grant
		d.report(0, 10)
	}
	if first, last := d.grants[0], d.grants[len(d.grants)-1]; first.Account == last.Account {
		return fmt.Errorf("section 4: the account of a deaf holder was renewed for %v", last.Echo-first.Echo)
	}
	return nil
}

func zeroShare() error {
	d := newDesk(func(*lease.Situation, []lease.Target) {})
	for range 5 {
		d.report(0, 10)
	}
	for _, g := range d.grants {
		if g.Granted > 0 {
			return fmt.Errorf("law 15: a share of 0 was given %d tokens", g.Granted)
		}
	}
	return nil
}

// leasedCell returns a holder with a lease of 10 tokens until two minutes.
func leasedCell() (*lease.Holder, *lease.Cell, lease.Session) {
	h := lease.NewHolder(lease.HolderConfig{ID: me, Plan: func(*lease.Usage) lease.Plan { return lease.Plan{Keep: 100} }}, lease.State{})
	h.Adopt(1, []lease.QuotaLimits{{Terms: scene(newRNG(1, "desk")).Policies[0][0], MaxKeys: 10}})
	s := lease.Session{Epoch: lease.Epoch{History: 1, Revision: 2}, N: 1}
	if _, err := h.Welcome(time.Minute, lease.Welcome{Cluster: "sim", Session: s, StoreRevision: 3, Drift: 1000}); err != nil {
		panic(err)
	}
	c := h.Cell(deskBucket.Quota, deskBucket.Key)
	_ = h.Grants(time.Minute, lease.GrantBatch{Session: s, Grants: []lease.Grant{
		{Bucket: deskBucket, Account: 7, Granted: 10, TTL: time.Minute, Echo: time.Minute},
	}})
	return h, c, s
}

func takeFirst() error {
	_, c, _ := leasedCell()
	left := int64(-1)
	lease.Decide(func() time.Duration {
		if left < 0 {
			left = c.View().Available
		}
		return time.Minute + time.Second
	}, []*lease.Cell{c}, 4)
	if left != 6 {
		return fmt.Errorf("law 8: the clock was read before the tokens were taken: %d were there", left)
	}
	return nil
}

func heldIsUnspent() error {
	h, c, _ := leasedCell()
	spent := int64(0)
	lease.Decide(func() time.Duration {
		spent = c.View().Spent // what a report would say now
		return time.Minute + time.Second
	}, []*lease.Cell{c, h.Cell(deskBucket.Quota, "another")}, 4)
	if spent > 0 {
		return fmt.Errorf("law 8: %d tokens that are held for a request were reported as spent", spent)
	}
	return nil
}

func newerDeadline() error {
	h, c, s := leasedCell()
	swapped := false
	v := lease.Decide(func() time.Duration {
		if !swapped { // while the request pauses, its account ends and another opens
			swapped = true
			_ = h.Grants(3*time.Minute, lease.GrantBatch{Session: s, Grants: []lease.Grant{
				{Bucket: deskBucket, Account: 8, TTL: 5 * time.Minute, Echo: 3 * time.Minute},
			}})
		}
		return 3 * time.Minute
	}, []*lease.Cell{c}, 4)
	if v.Outcome == lease.Admitted {
		return errors.New("law 8: tokens were spent after the deadline that stood when they were taken")
	}
	return nil
}
