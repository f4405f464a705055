package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

func TestWhatARecallBringsBackIsCountedAsMoved(t *testing.T) {
	r := newRig(t, perMinute(600, 1000))
	greedy := func(u *lease.Usage) lease.Plan {
		return lease.Plan{Ask: lease.Ask{Want: u.Limit, Demand: 1}, Keep: u.Limit}
	}
	r.plan = greedy
	r.join("us")
	r.ask("us", "k", 1)
	r.run(time.Second)
	require.Zero(t, r.quota().Moved, "nobody else asked")
	r.join("eu")
	r.ask("eu", "k", 1)
	r.ask("us", "k", 1)
	r.run(2 * time.Second)
	m := r.quota().Moved
	require.InDelta(t, 500, m.Tokens, 60, "eu has its half by now")
	require.Positive(t, m.Recalls)
	require.Positive(t, m.Time)
	require.LessOrEqual(t, m.Time, time.Duration(m.Recalls)*time.Second)
	require.GreaterOrEqual(t, r.drain("eu", "k"), int64(450))
}
