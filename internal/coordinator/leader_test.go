package coordinator

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/memstore"
)

// standsBy waits until the coordinator sees another lead.
func (n *node) standsBy() *node {
	n.t.Helper()
	eventually(n.t, "it stands by", func() bool { s, code := n.get("/readyz"); return code == 200 && strings.HasPrefix(s, "standby") })
	return n
}

// steppedDown waits until a leadership has ended for a reason.
func (n *node) steppedDown(reason string) {
	n.t.Helper()
	eventually(n.t, "it stepped down", func() bool {
		return n.metric(`leasehold_coordinator_step_downs_total{reason="`+reason+`"}`) == "1"
	})
}

// claimOf is what a holder claims of a grant that it has not spent from.
func claimOf(s lease.Session, g lease.Grant) lease.Claim {
	return lease.Claim{Bucket: g.Bucket, Session: s, Account: g.Account, Unspent: g.Granted}
}

func TestAStandbyTakesOverWhenTheLeaderIsFenced(t *testing.T) {
	r := newRig(t, 500*time.Millisecond)
	first := r.start().leads()
	second := r.start().standsBy()
	h := first.join(identity("us", 1)).hello()
	g := h.want("k", 100)

	require.NoError(t, r.store.EndSession(first.rpc))
	second.leads()
	assert.Equal(t, codes.Unavailable, status.Code(h.broken()))
	first.standsBy()
	first.steppedDown("fenced")

	again := second.join(h.id)
	assert.Positive(t, again.welcome.Session.Compare(h.welcome.Session), "a later epoch")
	again.hello(claimOf(h.welcome.Session, g))
	eventually(t, "the claim is taken over", func() bool { return second.status().Quotas[0].Outstanding >= 100 })
	again.want("k", 150)
	assert.Zero(t, second.status().Quotas[0].Imbalance)
}

// TestAnOrderlyExitLetsTheStandbyLeadAtOnce has election leases that outlast the
// test: only a resignation explains the successor (LSE-07).
func TestAnOrderlyExitLetsTheStandbyLeadAtOnce(t *testing.T) {
	r := newRig(t, time.Hour)
	first := r.start().leads()
	second := r.start()
	h := first.join(identity("us", 1)).hello()
	g := h.want("k", 100)
	h.report(lease.Report{Bucket: bucket("k"), Account: g.Account, GrantSeen: g.Granted, EchoSeen: g.Echo})

	first.stop()
	require.NoError(t, first.ended())
	assert.Equal(t, codes.Unavailable, status.Code(h.broken()))
	second.leads()
	eventually(t, "what was set aside was written back, so that only the lease is inherited", func() bool {
		q := second.status().Quotas[0]
		return q.Buckets == 1 && q.Outstanding == 100
	})
	assert.Contains(t, first.log.String(), "resigned")
}

// TestAnOrderlyExitRetriesToResign has the store refuse for a while (LSE-07).
func TestAnOrderlyExitSaysWhenItCannotResign(t *testing.T) {
	r := newRig(t, time.Second)
	first := r.start(func(o *Options) { o.ResignTimeout, o.DrainTimeout = 50*time.Millisecond, 50*time.Millisecond }).leads()
	second := r.start()
	r.store.SetHooks(memstore.Hooks{BeforeResign: func(lease.LeaderKey) error { return lease.ErrUnavailable }})
	first.stop()
	require.NoError(t, first.ended())
	assert.Contains(t, first.log.String(), "could not resign: a successor waits until the election lease ends")
	second.leads()
}

func TestADrainingCoordinatorSaysSo(t *testing.T) {
	r := newRig(t, 2*time.Second)
	var block atomic.Bool
	released := make(chan struct{})
	r.store.SetHooks(memstore.Hooks{BeforeCommit: func(lease.LeaderKey, []lease.Write) error {
		if block.Load() {
			<-released
		}
		return nil
	}})
	n := r.start().leads()
	h := n.join(identity("us", 1)).hello()
	h.want("k", 100)
	block.Store(true)
	n.stop()
	eventually(t, "it is not ready", func() bool { s, code := n.get("/readyz"); return code == 503 && strings.HasPrefix(s, "draining") })
	_, err := n.dial().Recv()
	assert.Equal(t, codes.Unavailable, status.Code(err))
	close(released)
	require.NoError(t, n.ended())
}

func TestAnUnknownOutcomeStepsDown(t *testing.T) {
	r := newRig(t, time.Second)
	n := r.start().leads()
	h := n.join(identity("us", 1)).hello()
	before := n.status().Epoch
	var once atomic.Bool
	r.store.SetHooks(memstore.Hooks{AfterCommit: func(lease.LeaderKey, []lease.Write, int64) error {
		if once.CompareAndSwap(false, true) {
			return fmt.Errorf("%w: it was written all the same", lease.ErrUnknown)
		}
		return nil
	}})
	h.report(lease.Report{Bucket: bucket("k"), Ask: lease.Ask{Demand: 1, Want: 10}})
	assert.Equal(t, codes.Unavailable, status.Code(h.broken()))
	eventually(t, "a fresh ledger leads", func() bool { st := n.status(); return st.Ready && st.Epoch != before })
	n.steppedDown("unknown_outcome")
	n.join(identity("us", 1)).hello().want("k", 10)
}

// TestALeaderWhoseStoreHangsGivesUpItsPlace has a transaction that never comes
// back, while the leadership can be proved (LSE-09).
func TestALeaderWhoseStoreHangsGivesUpItsPlace(t *testing.T) {
	r := newRig(t, 500*time.Millisecond)
	first := r.start().leads()
	second := r.start().standsBy()
	key := firstKey(r, first)
	released := make(chan struct{})
	defer close(released)
	r.store.SetHooks(memstore.Hooks{BeforeCommit: func(leader lease.LeaderKey, _ []lease.Write) error {
		if leader == key {
			<-released
		}
		return nil
	}})
	h := first.join(identity("us", 1)).hello()
	h.report(lease.Report{Bucket: bucket("k"), Ask: lease.Ask{Demand: 1, Want: 10}})
	second.leads()
	first.steppedDown("stuck")
	second.join(h.id).hello().want("k", 10)
}

// firstKey returns the guard of a leader.
func firstKey(r *rig, n *node) lease.LeaderKey {
	r.t.Helper()
	term := n.server.term.Load()
	require.NotNil(r.t, term)
	return term.leadership.Key()
}

// TestALeaderThatCannotProveItselfGrantsNothing keeps the key in the store but
// no proof reaches it.
func TestALeaderThatCannotProveItselfGrantsNothing(t *testing.T) {
	r := newRig(t, 500*time.Millisecond)
	n := r.start().leads()
	h := n.join(identity("us", 1)).hello()
	h.want("k", 10)
	r.store.SetHooks(memstore.Hooks{BeforeProve: func(lease.LeaderKey) error { return lease.ErrUnavailable }})
	eventually(t, "readiness says why", func() bool {
		s, code := n.get("/readyz")
		return code == 503 && strings.Contains(s, "the election lease cannot be renewed")
	})
	assert.Equal(t, "0", n.metric("leasehold_coordinator_granting"))
	assert.Equal(t, "1", n.metric("leasehold_coordinator_leader"), "the election stands")
	assert.False(t, n.status().Granting)
	h.report(lease.Report{Bucket: bucket("other"), Ask: lease.Ask{Demand: 1, Want: 10}})
	require.Never(t, func() bool { return n.status().Quotas[0].Granted > 10 }, 200*time.Millisecond, 20*time.Millisecond)
	r.store.SetHooks(memstore.Hooks{})
	eventually(t, "it leads again", func() bool { _, code := n.get("/readyz"); return code == 200 })
}

func TestAnEmptyStoreNeedsToBeAskedFor(t *testing.T) {
	r := newRig(t, time.Second)
	n := r.start(func(o *Options) { o.NewCluster = false })
	err := n.ended()
	require.ErrorIs(t, err, lease.ErrEmptyStore)
	require.ErrorContains(t, err, "--new-cluster")
	assert.Empty(t, r.store.Standing(), "and nobody has to wait for its place")

	first := r.start().leads()
	first.stop()
	require.NoError(t, first.ended())
	second := r.start().leads()
	assert.Contains(t, second.log.String(), "so that --new-cluster means nothing")
	second.stop()
	require.NoError(t, second.ended())
	r.start(func(o *Options) { o.NewCluster = false }).leads()
}

func TestAStoreOfAnotherClusterIsRefused(t *testing.T) {
	r := newRig(t, time.Second)
	first := r.start().leads()
	first.stop()
	require.NoError(t, first.ended())
	require.ErrorIs(t, r.start(func(o *Options) { o.Cluster = "other" }).ended(), lease.ErrNotCluster)
}

func TestABucketWithoutAClusterIsNoNewCluster(t *testing.T) {
	r := newRig(t, time.Second)
	r.store.Force([]lease.Write{{Key: bucket("k").StoreKey(), Value: []byte{1}}})
	require.ErrorIs(t, r.start().ended(), errNotNew)
}

// TestLostHistoryBeginsANewOne has a holder that saw more than the store has, and
// an operator who takes the store at its word or does not (LAW 13).
func TestLostHistoryBeginsANewOne(t *testing.T) {
	for _, trust := range []bool{false, true} {
		t.Run(fmt.Sprintf("trust %v", trust), func(t *testing.T) {
			n := newRig(t, time.Second).start(func(o *Options) { o.TrustStore = trust }).leads()
			h := n.join(identity("us", 1))
			h.seen, h.rev = h.welcome.Session.Epoch, math.MaxInt32
			h.sayHello()
			require.Error(t, h.broken())
			eventually(t, "a new history leads", func() bool { return strings.HasPrefix(n.status().Epoch, "2.") && n.status().Reason != "" })
			n.steppedDown("lost_history")
			if !trust {
				eventually(t, "it is said that nothing is granted, and for how long", func() bool {
					body, code := n.get("/readyz?verbose")
					return code == 503 && strings.Contains(body, "the store lost its past: leases that it does not know of may run for another") &&
						strings.Contains(body, "granting: false")
				})
				assert.False(t, n.status().Granting)
				assert.Equal(t, "0", n.metric("leasehold_coordinator_granting"))
				assert.Equal(t, "1", n.metric("leasehold_coordinator_leader"))
			}
			n.leads()
			assert.True(t, n.status().Granting)
			assert.Equal(t, "1", n.metric("leasehold_coordinator_granting"))
			said := n.log.String()
			assert.Contains(t, said, "the store lost its past")
			assert.Equal(t, !trust, strings.Contains(said, "nothing is granted until"))
			assert.Equal(t, trust, strings.Contains(said, "its records stand and grants go on at once"))
		})
	}
}

// TestAStoreThatIsAwayAtFirst starts the coordinator before its store (FAIL-03).
func TestAStoreThatIsAwayAtFirst(t *testing.T) {
	r := newRig(t, time.Second)
	away := func() error { return fmt.Errorf("%w: no route", lease.ErrUnavailable) }
	r.store.SetHooks(memstore.Hooks{BeforeRead: away, BeforeProve: func(lease.LeaderKey) error { return away() }})
	n := r.start()
	eventually(t, "it is up and says why it is not ready", func() bool {
		s, code := n.get("/readyz")
		return code == 503 && strings.Contains(s, "no route")
	})
	_, code := n.get("/healthz")
	assert.Equal(t, 200, code)
	_, err := n.dial().Recv()
	assert.Equal(t, codes.FailedPrecondition, status.Code(err))
	r.store.SetHooks(memstore.Hooks{})
	n.leads()
}

func TestAStoreThatDiesEndsTheCoordinator(t *testing.T) {
	r := newRig(t, time.Second)
	died := make(chan error, 1)
	n := r.start(func(o *Options) { o.Backing.Died = died }).leads()
	died <- fmt.Errorf("disk on fire")
	require.ErrorContains(t, n.ended(), "store: disk on fire")
}

func TestRecordsThatCannotBeReadAtFirst(t *testing.T) {
	r := newRig(t, time.Second)
	first := r.start().leads()
	h := first.join(identity("us", 1)).hello()
	h.want("k", 100)
	first.stop()
	require.NoError(t, first.ended())

	var failures atomic.Int32
	var boots atomic.Int32
	r.store.SetHooks(memstore.Hooks{BeforeRead: func() error {
		if boots.Add(1) > 3 && failures.Add(1) <= 2 { // after the boot's own
			return lease.ErrUnavailable
		}
		return nil
	}})
	second := r.start().leads()
	second.join(identity("eu", 2)).hello().want("k", 100)
}

func TestSureFor(t *testing.T) {
	assert.Equal(t, 1956*time.Millisecond, sureFor(2*time.Second, 1000).Round(time.Millisecond))
	for _, drift := range []lease.Drift{0, 1, 1000, 100_000} {
		sure := sureFor(2*time.Second, drift)
		assert.Less(t, drift.Outlast(sure), 2*time.Second, "by any clock it ends before the lease")
		assert.Positive(t, sure)
	}
}

// TestTwoOfOneAddressAreNoticed starts a second coordinator under the address of
// the first, and a lone one that is no mistake.
func TestTwoOfOneAddressAreNoticed(t *testing.T) {
	r := newRig(t, time.Second)
	same := func(o *Options) { o.Advertise, o.namesake = "coordinator:7400", 20*time.Millisecond }
	first := r.start(same).leads()
	second := r.start(same)
	const warning = "another coordinator leads and advertises the address of this one"
	eventually(t, "the standby says so", func() bool { return strings.Contains(second.log.String(), warning) })
	body, code := second.get("/readyz")
	assert.Equal(t, 503, code)
	assert.Contains(t, body, "another with the same --advertise")
	sleep(t.Context(), 200*time.Millisecond)
	assert.Equal(t, 1, strings.Count(second.log.String(), warning), "once")
	assert.NotContains(t, first.log.String(), warning)
}

func TestTheLeaderIsNotAskedForBySwarms(t *testing.T) {
	var asked atomic.Int32
	r := newRig(t, time.Second)
	r.store.SetHooks(memstore.Hooks{BeforeRead: func() error { asked.Add(1); return nil }})
	c := leaderCache{elector: r.store}
	for range 100 {
		_, err := c.get(context.Background())
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, asked.Load(), int32(2))
}
