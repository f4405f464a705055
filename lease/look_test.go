package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// looker is a holder that is told by hand what it has.
type looker struct {
	t    *testing.T
	h    *lease.Holder
	now  time.Duration
	cell *lease.Cell
	w    lease.Welcome
}

func newLooker(t *testing.T, terms lease.Terms) *looker {
	l := &looker{t: t, now: time.Hour, w: lease.Welcome{
		Cluster: "test", Session: lease.Session{Epoch: lease.Epoch{History: 1, Revision: 2}, N: 1}, StoreRevision: 2,
		Drift: lease.DefaultDrift, ReportInterval: 100 * time.Millisecond, PolicyRevision: 1,
	}}
	l.h = lease.NewHolder(lease.HolderConfig{ID: lease.HolderID{Region: "eu", Node: "1"}, Plan: reconcile.Plan}, lease.State{})
	l.h.Adopt(1, []lease.QuotaLimits{{Terms: terms, MaxKeys: 10}})
	_, err := l.h.Welcome(l.now, l.w)
	require.NoError(t, err)
	l.cell = l.h.Cell(terms.Quota, "k")
	return l
}

func (l *looker) grant(g lease.Grant, floors ...lease.FloorGrant) {
	g.Bucket, g.Account, g.Echo = l.cell.ID(), 1<<32+1, l.now
	require.NoError(l.t, l.h.Grants(l.now, lease.GrantBatch{Session: l.w.Session, StoreRevision: 2, Grants: []lease.Grant{g}, Floors: floors}))
}

func (l *looker) take(n int64) lease.Outcome {
	return lease.Decide(func() time.Duration { return l.now }, []*lease.Cell{l.cell}, n).Outcome
}

func tenPerSecond() lease.Terms {
	return lease.Terms{Quota: "q", Tokens: 100, Per: 10 * time.Second, Burst: 100, TTL: 5 * time.Second, FloorTTL: 10 * time.Minute}
}

func TestOutlookOfWhatIsNotKnown(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	o := l.cell.Outlook(l.now, 5, false, 30*time.Millisecond)
	assert.Equal(t, lease.Outlook{Limit: 100, Most: 100, Reset: 10 * time.Second, Retry: 500 * time.Millisecond}, o, "when 5 accrued")
	o = l.cell.Outlook(l.now, 1, false, 300*time.Millisecond)
	assert.Equal(t, 300*time.Millisecond, o.Retry, "no answer can come sooner")
	o = l.cell.Outlook(l.now, 101, false, 0)
	assert.Zero(t, o.Retry, "never")
}

func TestOutlookOfALease(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	l.grant(lease.Grant{Granted: 40, TTL: 5 * time.Second, Pool: 60})
	require.Equal(t, lease.Admitted, l.take(10))
	o := l.cell.Outlook(l.now, 1, false, 0)
	assert.Equal(t, lease.Outlook{Remaining: 30, Limit: 100, Most: 100, Reset: 7 * time.Second, Known: true}, o)
	assert.Equal(t, time.Millisecond, l.cell.Outlook(l.now, 35, false, 0).Retry, "the coordinator has it: an answer away")
	assert.Equal(t, 20*time.Millisecond, l.cell.Outlook(l.now, 90, false, 20*time.Millisecond).Retry)
	assert.Equal(t, 6500*time.Millisecond, l.cell.Outlook(l.now, 95, false, 0).Retry, "so much is nowhere: 65 accrue")
	assert.Equal(t, lease.Outlook{Remaining: 90, Limit: 100, Most: 100, Reset: time.Second, Known: true}, l.cell.Outlook(l.now, 1, true, 0),
		"with what the coordinator has left")
	l.now += 5 * time.Second
	assert.Zero(t, l.cell.Outlook(l.now, 1, false, 0).Remaining, "it ran out")
}

// TestOutlookOfANewHistory has a store lose its past: what its coordinator said
// of the bucket before is no news of what it is now (law 13).
func TestOutlookOfANewHistory(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	remaining := func(revision int64, history uint64) int64 {
		l.w.Session = lease.Session{Epoch: lease.Epoch{History: history, Revision: revision}, N: 1}
		_, err := l.h.Welcome(l.now, l.w)
		require.NoError(t, err)
		return l.cell.Outlook(l.now, 1, true, 0).Remaining
	}
	l.grant(lease.Grant{Granted: 40, TTL: 5 * time.Second, Pool: 60})
	assert.Equal(t, int64(100), remaining(3, 1), "another leader of the same history")
	assert.Equal(t, int64(40), remaining(4, 2), "what is held, and no word of the pool")
}

func TestOutlookByTheCoordinatorsWord(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	l.grant(lease.Grant{TTL: 5 * time.Second, Wait: 3 * time.Second})
	at := func(cost int64) time.Duration { return l.cell.Outlook(l.now, cost, false, 0).Retry }
	assert.Equal(t, 3*time.Second, at(30))
	assert.Equal(t, 100*time.Millisecond, at(1), "one accrues sooner than what was asked")
	assert.Equal(t, 4*time.Second, at(40), "more than what was asked")
	l.now += 2 * time.Second
	assert.Equal(t, time.Second, at(30), "it comes closer")
	l.now += 2 * time.Second
	assert.Equal(t, 3*time.Second, at(30), "and was not so")
}

func TestOutlookByTheFloor(t *testing.T) {
	terms := tenPerSecond()
	terms.Floors = []lease.FloorTerms{{Region: "eu", Tokens: 10, Burst: 10}}
	l := newLooker(t, terms)
	l.grant(lease.Grant{TTL: 5 * time.Second, Wait: 10 * time.Second},
		lease.FloorGrant{Quota: "q", Grant: 1, Tokens: 10, Burst: 10, TTL: 10 * time.Minute, Echo: l.now})
	l.now += 4500 * time.Millisecond
	o := l.cell.Outlook(l.now, 1, false, 0)
	assert.Equal(t, int64(4), o.Remaining, "one a second")
	require.Equal(t, lease.Admitted, l.take(4))
	assert.Equal(t, 100*time.Millisecond, l.cell.Outlook(l.now, 1, false, 0).Retry, "the whole rate could come here")
	assert.Zero(t, l.cell.Outlook(l.now, 1, true, 0).Remaining)
	l.h.Disconnected()
	assert.Equal(t, 500*time.Millisecond, l.cell.Outlook(l.now, 1, false, 0).Retry, "the floor's alone")
	assert.Equal(t, 2500*time.Millisecond, l.cell.Outlook(l.now, 3, false, 0).Retry)
}

func TestOutlookOfAWindow(t *testing.T) {
	windows, err := bucket.FixedWindows(time.Minute)
	require.NoError(t, err)
	l := newLooker(t, lease.Terms{Quota: "q", Tokens: 20, Windowed: true, Windows: windows, TTL: 5 * time.Second})
	assert.Equal(t, lease.Outlook{Limit: 20, Most: 20, Windowed: true}, l.cell.Outlook(l.now, 1, false, 0), "its end is not known")
	l.grant(lease.Grant{Granted: 1, TTL: 40 * time.Second})
	assert.Equal(t, lease.Outlook{Remaining: 1, Limit: 20, Most: 20, Windowed: true, Reset: 40 * time.Second, Known: true}, l.cell.Outlook(l.now, 1, false, 0))
	require.Equal(t, lease.Admitted, l.take(1))
	l.now += 10 * time.Second
	o := l.cell.Outlook(l.now, 1, false, 0)
	assert.Equal(t, 30*time.Second, o.Reset)
	assert.Equal(t, 30*time.Second, o.Retry)
	assert.Equal(t, lease.Exhausted, l.take(1))
	l.now += 30 * time.Second
	assert.Equal(t, lease.Cold, l.take(1), "nothing is known of the next window")
}

func TestSumsTellWhatWasCredited(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	l.grant(lease.Grant{Granted: 40, TTL: 5 * time.Second, Pool: 60})
	l.grant(lease.Grant{Granted: 40, TTL: 5 * time.Second, Pool: 60})
	l.grant(lease.Grant{Granted: 50, TTL: 5 * time.Second, Pool: 60})
	require.Equal(t, lease.Admitted, l.take(10))
	assert.Equal(t, []lease.Sum{{Quota: "q", Cells: 1, Credited: 50, Unspent: 40, Ends: l.now + 5*time.Second}}, l.h.Sums(l.now), "a grant that is told twice is credited once")
	l.h.Drain(l.now)
	assert.Equal(t, []lease.Sum{{Quota: "q", Cells: 1, Credited: 50, Returned: 40}}, l.h.Sums(l.now))
}

func TestAnEmptyAnswerIsNoAnswerWhileThePoolHasTokens(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	require.Equal(t, lease.Cold, l.take(1))
	l.grant(lease.Grant{TTL: 5 * time.Second, Pool: 100})
	assert.Equal(t, lease.Cold, l.take(1), "they are being set aside")
	l.grant(lease.Grant{TTL: 5 * time.Second, Granted: 1, Pool: 99})
	assert.Equal(t, lease.Admitted, l.take(1))
	assert.Equal(t, lease.Cold, l.take(1), "there are more where that came from")
	l.grant(lease.Grant{TTL: 5 * time.Second, Granted: 1})
	assert.Equal(t, lease.Exhausted, l.take(1))
	l.grant(lease.Grant{TTL: 5 * time.Second, Granted: 1, Closed: true, Pool: 99})
	assert.Equal(t, lease.Cold, l.take(1), "an account that was closed in order is worth asking anew")
}

func TestAPeekAtAColdCellAsks(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	require.Equal(t, lease.Cold, l.take(0))
	batch, ok := l.h.Tick(l.now)
	require.True(t, ok)
	require.Len(t, batch.Reports, 1)
	assert.Equal(t, int64(1), batch.Reports[0].Ask.Need)
}

func TestACellWhoseLeaseGoesBackIsCold(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	l.grant(lease.Grant{Granted: 40, TTL: 5 * time.Second, Pool: 60})
	require.Equal(t, lease.Admitted, l.take(1))
	for end := l.now + 6*time.Second; l.now < end; l.now += 100 * time.Millisecond {
		batch, _ := l.h.Tick(l.now)
		for _, r := range batch.Reports {
			if r.Close {
				assert.Equal(t, lease.Cold, l.take(1), "it is not used up, it is on its way back")
				return
			}
			if r.Account > 0 {
				l.grant(lease.Grant{Granted: 40, TTL: 5 * time.Second, Pool: 60})
			}
		}
	}
	t.Fatal("the idle lease is never returned")
}
