package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

func TestLaw14_PartsOfDifferentCostAreAdmittedTogetherOrNotAtAll(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[0], 20)
	r.lease(cells[1], 5)
	parts := []lease.Part{{Cell: cells[0], Cost: 7}, {Cell: cells[1], Cost: 2}}
	v := lease.DecideParts(r.clock, parts)
	require.Equal(t, lease.Admitted, v.Outcome)
	require.Equal(t, [2]int64{13, 3}, [2]int64{parts[0].Remaining, parts[1].Remaining})

	parts[0].Cost, parts[1].Cost = 13, 4
	v = lease.DecideParts(r.clock, parts)
	require.Equal(t, lease.Cold, v.Outcome)
	require.Equal(t, 1, v.Cell)
	require.Equal(t, lease.Admitted, parts[0].Outcome, "this one could have given it")
	require.Equal(t, lease.Cold, parts[1].Outcome)
	require.Equal(t, int64(3), parts[1].Remaining)

	parts[1].Cost = 3
	require.Equal(t, lease.Admitted, lease.DecideParts(r.clock, parts).Outcome, "the refused request took nothing")
	r.step(100 * time.Millisecond)
	_, quotas := r.ledger.Snapshot()
	require.Equal(t, int64(5), quotas[0].Books.Spent)
	require.Equal(t, int64(20), quotas[1].Books.Spent)
}

func TestLaw14_AnAdvisoryPartGivesAllOrNothingAndDeniesNothing(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[0], 20)
	r.lease(cells[1], 5)
	parts := []lease.Part{{Cell: cells[0], Cost: 1}, {Cell: cells[1], Cost: 4, Advisory: true}}
	require.Equal(t, lease.Admitted, lease.DecideParts(r.clock, parts).Outcome)
	require.Equal(t, int64(1), parts[1].Remaining)
	require.Equal(t, lease.Admitted, lease.DecideParts(r.clock, parts).Outcome, "it has too little, and does not matter")
	require.Equal(t, lease.Cold, parts[1].Outcome)
	require.Equal(t, int64(1), parts[1].Remaining)
	parts[0].Cost = 100
	parts[1].Cost = 1
	require.Equal(t, lease.Cold, lease.DecideParts(r.clock, parts).Outcome)
	r.step(100 * time.Millisecond)
	_, quotas := r.ledger.Snapshot()
	require.Equal(t, int64(4), quotas[0].Books.Spent, "a denied request charges no advisory part either")
	require.Equal(t, int64(2), quotas[1].Books.Spent)
}

func TestCOST07_APeekAmongPartsTakesNothing(t *testing.T) {
	r, cells := twoQuotas(t)
	r.lease(cells[0], 20)
	r.lease(cells[1], 1)
	parts := []lease.Part{{Cell: cells[0], Cost: 5}, {Cell: cells[1]}}
	for left := int64(15); left >= 0; left -= 5 {
		require.Equal(t, lease.Admitted, lease.DecideParts(r.clock, parts).Outcome)
		require.Equal(t, [2]int64{left, 1}, [2]int64{parts[0].Remaining, parts[1].Remaining})
	}
	require.Equal(t, lease.Admitted, r.decide(cells[1], 1))
	parts[0].Cost = 0
	v := lease.DecideParts(r.clock, parts)
	require.Equal(t, lease.Cold, v.Outcome)
}

func (r *rig) decide(c *lease.Cell, cost int64) lease.Outcome {
	return lease.Decide(r.clock, []*lease.Cell{c}, cost).Outcome
}

func TestAllColdPartsAskAtOnce(t *testing.T) {
	r, cells := twoQuotas(t)
	parts := []lease.Part{{Cell: cells[0], Cost: 3}, {Cell: cells[1], Cost: 2}}
	require.Equal(t, lease.Cold, lease.DecideParts(r.clock, parts).Outcome)
	r.step(0)
	require.Equal(t, lease.Admitted, lease.DecideParts(r.clock, parts).Outcome, "one round trip for both")
}

func TestPartsOutOfRangeAreInvalid(t *testing.T) {
	r, cells := twoQuotas(t)
	require.Equal(t, lease.Invalid, lease.DecideParts(r.clock, nil).Outcome)
	require.Equal(t, lease.Invalid, lease.DecideParts(r.clock, make([]lease.Part, 17)).Outcome)
	require.Equal(t, lease.Invalid, lease.DecideParts(r.clock, []lease.Part{{Cell: cells[0], Cost: -1}}).Outcome)
}
