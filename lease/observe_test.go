package lease_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// adopt has the leader bring another policy into force, which all holders hear of.
func (r *rig) adopt(terms ...lease.Terms) {
	stored, err := lease.StoredPolicy(r.store.with(lease.MetaPrefix))
	require.NoError(r.t, err)
	require.True(r.t, r.ledger.SetPolicy(stored.Replace([]byte(terms[0].Quota+r.now.String())), terms))
	r.settle()
	r.terms = terms
	for name := range r.holders {
		if !r.closed[name] {
			r.join(name)
		}
	}
}

// TestALowerLimitRaisesNoAlarm lowers a limit of which all was just spent: what is
// admitted afterwards is no excess of the new one.
func TestALowerLimitRaisesNoAlarm(t *testing.T) {
	r := newRig(t, perMinute(6000, 1000))
	r.join("us")
	r.hammer(30*time.Second, "k", "us")
	r.run(30 * time.Second)
	require.Greater(t, r.hammer(time.Second, "k", "us"), int64(900))
	require.Zero(t, r.quota().Observed.Low)
	r.adopt(perMinute(60, 10))
	r.hammer(30*time.Second, "k", "us")
	require.Zero(t, r.quota().Observed.Low)
}

// TestALeaderThatFollowsALowerLimitRaisesNoAlarm has leases of the larger limit be
// spent under a new leader, which knows of no other.
func TestALeaderThatFollowsALowerLimitRaisesNoAlarm(t *testing.T) {
	t.Run("lowered before", func(t *testing.T) {
		r := newRig(t, perMinute(6000, 1000))
		r.plan = keepAll
		r.join("us")
		r.ask("us", "k", 900)
		r.run(time.Second)
		r.adopt(perMinute(60, 10))
		r.lead()
		lowerLimitSpent(t, r)
	})
	t.Run("lowered by it", func(t *testing.T) {
		r := newRig(t, perMinute(6000, 1000))
		r.plan = keepAll
		r.join("us")
		r.ask("us", "k", 900)
		r.run(time.Second)
		r.terms = []lease.Terms{perMinute(60, 10)}
		r.leadWith("another policy")
		lowerLimitSpent(t, r)
	})
}

// keepAll asks for what was refused, and returns nothing.
func keepAll(u *lease.Usage) lease.Plan {
	return lease.Plan{Ask: lease.Ask{Want: u.MaxRefused, Need: u.MaxRefused}, Keep: math.MaxInt64}
}

// leadWith is lead with another policy.
func (r *rig) leadWith(policy string) {
	r.policy = policy
	r.lead()
}

func lowerLimitSpent(t *testing.T, r *rig) {
	r.join("us")
	r.deaf = map[string]bool{"us": true} // it is not recalled yet
	r.run(300 * time.Millisecond)
	require.Greater(t, r.drain("us", "k"), int64(800), "the lease of the larger limit is still good")
	r.run(time.Second)
	require.Zero(t, r.quota().Observed.Low)
	r.deaf = nil
	r.hammer(20*time.Second, "k", "us")
	require.Zero(t, r.quota().Observed.Low)
}

// TestALowerLimitOfAWindowRaisesNoAlarm lowers the limit of a window of which more was
// used than the new one allows.
func TestALowerLimitOfAWindowRaisesNoAlarm(t *testing.T) {
	q := windowed(t)
	r := newRig(t, longWindow(t, q, 100))
	r.join("us")
	r.hammer(5*time.Second, "k", "us")
	r.adopt(longWindow(t, q, 50))
	r.run(20 * time.Second)
	since := r.now
	r.cut("us", 1, since)
	n := r.drain("us", "k")
	require.Equal(t, int64(10), n)
	r.heal("us", 1, since)
	r.run(time.Second)
	require.Zero(t, r.quota().Observed.Low, "the larger limit counts till the window ends")
	require.Equal(t, n, r.quota().Observed.High)
}

func longWindow(t *testing.T, q lease.Terms, tokens int64) lease.Terms {
	w, err := bucket.FixedWindows(time.Hour)
	require.NoError(t, err)
	q.Windows, q.Tokens = w, tokens
	return q
}

// TestARestartedCoordinatorSeesWhatItMissed has the only coordinator's process start
// anew, its clock at 0, after regions exceeded a limit without it.
func TestARestartedCoordinatorSeesWhatItMissed(t *testing.T) {
	r := newRig(t, fallback())
	r.join("us")
	r.join("eu")
	r.hammer(20*time.Second, "k", "us", "eu")
	since := r.now
	r.cut("us", 1, since)
	r.cut("eu", 1, since)
	for r.now < since+20*time.Second {
		r.drain("us", "k")
		r.drain("eu", "k")
		r.now += 100 * time.Millisecond
	}
	r.base = r.now
	r.lead()
	r.heal("us", 1, since)
	r.heal("eu", 1, since)
	r.run(2 * time.Second)
	q := r.quota()
	require.Positive(t, q.Observed.High)
	require.Positive(t, q.Observed.Low, "2 regions spent 10 a second each beyond the 10 of the limit")
	require.LessOrEqual(t, q.Observed.Low, q.Observed.High)
}
