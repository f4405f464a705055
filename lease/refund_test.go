package lease_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// spender is a rig whose one holder was granted 50 tokens and spent 40.
func spender(t *testing.T, terms lease.Terms) (*rig, *lease.Cell) {
	r := newRig(t, terms)
	r.plan = exactly
	c := r.join("us").Cell(terms.Quota, "k")
	r.lease(c, 50)
	require.Equal(t, lease.Admitted, r.ask("us", "k", 40).Outcome)
	r.step(100 * time.Millisecond)
	return r, c
}

func TestLaw3_ARefundGoesBackToThePoolOnce(t *testing.T) {
	for name, terms := range map[string]lease.Terms{"token bucket": perMinute(1, 100), "window": perWindow(t, 100, time.Hour)} {
		t.Run(name, func(t *testing.T) {
			r, c := spender(t, terms)
			before := r.quota()
			require.Equal(t, int64(15), c.Refund(15))
			require.Equal(t, before.Stock.Pool, r.quota().Stock.Pool, "nothing before it is told")
			b, ok := r.holders["us"].Tick(r.now)
			require.True(t, ok)
			for range 3 { // a report that comes again is harmless
				require.NoError(t, r.ledger.Report(r.moment(), b))
				require.NoError(t, r.ledger.Check())
			}
			after := r.quota()
			require.Equal(t, before.Stock.Pool+15, after.Stock.Pool)
			require.Equal(t, before.Stock.Outstanding, after.Stock.Outstanding, "the account stays as it is")
			require.Equal(t, int64(15), after.Books.Refunded)
			require.Equal(t, before.Books.Destroyed, after.Books.Destroyed)
			require.Equal(t, int64(100-40+15), r.hammer(5*time.Second, "k", "us"), "and is granted again")
		})
	}
}

func TestLaw8_NoMoreIsRefundedThanItsAccountAdmitted(t *testing.T) {
	r, c := spender(t, perMinute(1, 100))
	require.Zero(t, r.holders["us"].Cell("api/key", "other").Refund(1), "nothing was admitted")
	require.Zero(t, c.Refund(0))
	require.Zero(t, c.Refund(-5))
	require.Equal(t, int64(30), c.Refund(30))
	require.Equal(t, int64(10), c.Refund(30))
	require.Zero(t, c.Refund(1))
	r.step(100 * time.Millisecond)
	require.Equal(t, int64(40), r.quota().Books.Refunded)
	stats, _ := r.ledger.Snapshot()
	require.Zero(t, stats.Malformed)
}

func TestLaw3_AReportThatRefundsMoreThanWasSpentIsRefused(t *testing.T) {
	r, c := spender(t, perMinute(1, 100))
	before, v := r.quota(), c.View()
	require.NoError(t, r.ledger.Report(r.moment(), lease.ReportBatch{Session: v.Session, Sent: r.now, Reports: []lease.Report{
		{Bucket: c.ID(), Account: v.Account, Spent: 40, Refunded: 41, GrantSeen: v.Granted},
	}}))
	require.NoError(t, r.ledger.Check())
	require.Equal(t, before, r.quota())
	stats, _ := r.ledger.Snapshot()
	require.Equal(t, int64(1), stats.Malformed)
	require.ErrorIs(t, r.ledger.Report(r.moment(), lease.ReportBatch{Session: v.Session, Sent: r.now, Reports: []lease.Report{
		{Bucket: c.ID(), Account: v.Account, Spent: 40, Refunded: -1},
	}}), lease.ErrSession)
}

func TestLaw1_WhatWasFilledAgainHasNoRoomForARefund(t *testing.T) {
	r, c := spender(t, perMinute(6000, 100))
	r.step(900 * time.Millisecond) // 90 of the 40 that are missing
	require.Equal(t, int64(40), c.Refund(40))
	r.step(0)
	q := r.quota()
	require.Equal(t, int64(40), q.Books.Refunded)
	require.Equal(t, int64(40), q.Books.Destroyed)
	require.Equal(t, int64(100), q.Stock.Pool+q.Stock.Chunk+q.Stock.Outstanding)
}

func TestLaw3_ARefundThatIsMadeWhileCutOffComesWithTheClaim(t *testing.T) {
	r, c := spender(t, perMinute(1, 100))
	r.ledger.CloseSession(c.View().Session.N)
	r.holders["us"].Disconnected()
	require.Equal(t, int64(25), c.Refund(25))
	r.join("us")
	require.Equal(t, int64(25), r.quota().Books.Refunded)
	require.Zero(t, c.Refund(1), "the account in which the rest was admitted is closed")
	require.Equal(t, lease.Admitted, r.ask("us", "k", 5).Outcome)
	require.Equal(t, int64(5), c.Refund(10), "in the new one only what it admitted itself")
	r.step(100 * time.Millisecond)
	require.Equal(t, int64(30), r.quota().Books.Refunded)
}

func TestLaw4_ARefundOfAnAccountThatHasEndedIsLost(t *testing.T) {
	r, c := spender(t, perMinute(1, 100))
	r.ledger.CloseSession(c.View().Session.N)
	r.holders["us"].Disconnected()
	r.now += 20 * time.Second
	r.ledger.Tick(r.moment())
	r.settle()
	c.Refund(40)
	r.join("us")
	require.Zero(t, r.quota().Books.Refunded)
}

func TestLaw3_RefundsOfManyAtOnceNeverExceedWhatWasSpent(t *testing.T) {
	r, c := spender(t, perMinute(1, 100))
	var taken [8]int64
	var all sync.WaitGroup
	for i := range taken {
		all.Go(func() {
			for range 10 {
				taken[i] += c.Refund(1)
			}
		})
	}
	all.Wait()
	var sum int64
	for _, n := range taken {
		sum += n
	}
	require.Equal(t, int64(40), sum)
	require.Equal(t, int64(40), c.View().Refunded)
	r.step(100 * time.Millisecond)
	require.Equal(t, int64(40), r.quota().Books.Refunded)
}

func TestLaw1_WhatIsSpentAgainAfterARefundIsNotObservedAsOvershoot(t *testing.T) {
	r, _ := spender(t, perMinute(1, 100))
	for range 20 {
		c := r.holders["us"].Cell("api/key", "k")
		c.Refund(40)
		r.step(100 * time.Millisecond)
		require.NotZero(t, r.hammer(400*time.Millisecond, "k", "us"))
	}
	q := r.quota()
	require.Greater(t, q.Books.Spent, int64(200))
	require.Zero(t, q.Observed.Low)
	require.Zero(t, q.Observed.High)
}
