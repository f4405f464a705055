package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

func TestARequestWaitsForWhatThePoolHas(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	l.grant(lease.Grant{Granted: 5, TTL: 5 * time.Second, Pool: 60})
	require.Equal(t, lease.Admitted, l.take(5))
	require.Equal(t, lease.Cold, l.take(60), "the pool has it")
	require.Equal(t, lease.Exhausted, l.take(61), "and no more than that")
	l.grant(lease.Grant{Granted: 5, TTL: 5 * time.Second})
	require.Equal(t, lease.Exhausted, l.take(1), "it is empty")
	l.grant(lease.Grant{Granted: 5, TTL: 5 * time.Second, Pool: 60, Wait: time.Second})
	require.Equal(t, lease.Exhausted, l.take(1), "what is there is not enough for what was asked for")
}

// Behind a coordinator that has gone silent nobody piles up: who comes when its answer
// is overdue is denied at once.
func TestNobodyWaitsForAnAnswerThatIsOverdue(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	l.grant(lease.Grant{Granted: 5, TTL: 5 * time.Second, Pool: 60})
	require.Equal(t, lease.Admitted, l.take(5))
	require.Equal(t, lease.Cold, l.take(1))
	l.now += 800 * time.Millisecond // longer than any way there and back
	require.Equal(t, lease.Cold, l.take(1))
	l.now += time.Millisecond
	require.Equal(t, lease.Exhausted, l.take(1))
	l.grant(lease.Grant{Granted: 6, TTL: 5 * time.Second, Pool: 50})
	require.Equal(t, lease.Admitted, l.take(1))
	require.Equal(t, lease.Cold, l.take(1), "it is there again")
	l.h.Disconnected()
	require.Equal(t, lease.Exhausted, l.take(1), "nobody is")
}

// What waits is asked for whole and at once, and is one demand: not a second one when
// it is decided anew.
func TestWhatWaitsIsAskedForWhole(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	l.grant(lease.Grant{Granted: 1, TTL: 5 * time.Second, Pool: 99})
	require.Equal(t, lease.Admitted, l.take(1))
	_, _ = l.h.Tick(l.now)
	for range 30 {
		require.Equal(t, lease.Cold, l.take(1))
	}
	l.now += 100 * time.Millisecond
	batch, ok := l.h.Tick(l.now)
	require.True(t, ok)
	require.Len(t, batch.Reports, 1)
	asked := batch.Reports[0].Ask
	assert.GreaterOrEqual(t, asked.Want, int64(30))
	l.grant(lease.Grant{Granted: 41, TTL: 5 * time.Second, Pool: 59})
	for range 30 {
		require.Equal(t, lease.Admitted, l.take(1))
	}
	l.now += 100 * time.Millisecond
	batch, ok = l.h.Tick(l.now)
	require.True(t, ok)
	require.Len(t, batch.Reports, 1)
	assert.Less(t, batch.Reports[0].Ask.Demand, asked.Demand, "nobody came meanwhile")
}

// FAIR-11: a coordinator far away, plenty left, and bursts that outrun the lease: no
// request is denied, in the worst case it waits for the grant.
func TestFAIR11_NobodyIsDeniedWhilePlentyIsLeft(t *testing.T) {
	l := newLooker(t, lease.Terms{Quota: "q", Tokens: 1_000_000, Per: time.Second, Burst: 1_000_000, TTL: 5 * time.Second, FloorTTL: 10 * time.Minute})
	granted := int64(0)
	for round := range 20 {
		for range 50 << (round % 3) {
			require.NotEqual(t, lease.Exhausted, l.take(1), "round %d", round)
		}
		l.now += 100 * time.Millisecond
		batch, _ := l.h.Tick(l.now)
		for _, r := range batch.Reports {
			granted = max(granted, r.Spent+r.Returned+r.Ask.Want)
		}
		l.grant(lease.Grant{Granted: granted, TTL: 5 * time.Second, Pool: 900_000})
	}
}

// A first answer that gives nothing, and names nothing to wait for, says that what was
// asked for is on its way, also when nothing is left beside that.
func TestAnAnswerThatIsOnItsWayIsWaitedFor(t *testing.T) {
	l := newLooker(t, tenPerSecond())
	require.Equal(t, lease.Cold, l.take(3))
	l.grant(lease.Grant{TTL: 5 * time.Second})
	require.Equal(t, lease.Cold, l.take(3))
	l.grant(lease.Grant{TTL: 5 * time.Second, Wait: time.Minute})
	require.Equal(t, lease.Exhausted, l.take(3), "it would take a minute")
	l.grant(lease.Grant{Granted: 3, TTL: 5 * time.Second})
	require.Equal(t, lease.Admitted, l.take(3))
}

// What a holder gave back it knows to be in the pool, before anybody tells it.
func TestWhatWasGivenBackIsInThePool(t *testing.T) {
	r := newRig(t, perMinute(10, 100))
	r.plan = func(u *lease.Usage) lease.Plan {
		return lease.Plan{Ask: lease.Ask{Want: 20 * min(1, u.MaxRefused), Need: u.MaxRefused}, Keep: 5}
	}
	r.join("us")
	r.ask("us", "k", 1)
	r.step(100 * time.Millisecond)
	r.step(100 * time.Millisecond) // it keeps 5 of its 20
	require.Equal(t, lease.Cold, r.ask("us", "k", 100).Outcome, "the pool has 80, and what came back")
}
