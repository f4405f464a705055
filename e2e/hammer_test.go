package e2e

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/judge"
)

// TestThreeRegionsShareOneKey asks three processes for three times the limit.
func TestThreeRegionsShareOneKey(t *testing.T) {
	c := small(t)
	l := c.hammerAll()
	for i := range c.regions {
		l.more(t, i, 100, "every region admits")
	}
	l.more(t, -1, 6*tokens, "six seconds of the limit")
	l.judge(t, promise())
	half := promise()
	half.Tokens, half.Burst = half.Tokens/2, half.Burst/2
	require.Positive(t, half.Overshoot(l.admitted).Over, "the judge would have noticed")
}

// TestTheCoordinatorIsKilledAgainAndAgain kills it at random moments and starts
// it on the same data.
func TestTheCoordinatorIsKilledAgainAndAgain(t *testing.T) {
	c := small(t)
	random := rand.New(rand.NewPCG(1, 2))
	l := c.hammerAll()
	l.more(t, -1, tokens, "the load is on")
	for range 3 {
		pause(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		k := c.coordinators[0]
		k.kill()
		l.more(t, -1, 1, "regions with tokens, or a floor, go on admitting while nobody leads")
		k.launch()
		// More than all leases and floors could hold: grants flow again.
		l.more(t, -1, burst+tokens, "grants flow again")
	}
	l.judge(t, promise())
}

// TestARegionIsKilledAndComesBack: its leases are lost until refill makes up for
// them, and never spent twice.
func TestARegionIsKilledAndComesBack(t *testing.T) {
	c := small(t)
	l := c.hammerAll()
	l.more(t, 1, tokens/3, "the region admits")
	for range 3 {
		c.regions[1].restart()
		l.more(t, 1, tokens/3, "the region admits after its restart")
	}
	l.judge(t, promise())
}

// slowPolicy refills one token a second, and leases most of what there is at
// once for a minute.
const slowPolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: key
    match: {api_key: "*"}
    limit: {tokens: 60, per: 1m, burst: 600}
    lease: {ttl: 1m, size: 500}
    partition: {mode: fail_closed}
`

// TestAReturnedLeaseIsSpentElsewhere: one region holds nearly all there is, ends
// in good order, and another spends it long before refill could make up for it.
func TestAReturnedLeaseIsSpentElsewhere(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, os.WriteFile(c.policy, []byte(slowPolicy), 0o600))
	k := c.coordinator("", "--new-cluster")
	c.allRegions()
	first := hammer(t, "hot", 20, newGRPC(t, c.regions[0].grpc))
	first.more(t, 0, 1, "one region admits")
	eventually(t, "it holds nearly all", func() bool { return metric(k, "leasehold_lease_outstanding_tokens") >= 400 })
	first.end()
	require.Equal(t, 0, c.regions[0].terminate())
	second := hammer(t, "hot", 300, newGRPC(t, c.regions[1].grpc))
	second.more(t, 0, 500, "the other region has it now")
	second.end()
	all := first.admitted
	shift := second.begin.Sub(first.begin) // onto one clock
	for _, a := range second.admitted {
		a.Sent, a.Received = a.Sent+shift, a.Received+shift
		all = append(all, a)
	}
	p := judge.TokenBucket{Tokens: 60, Per: time.Minute, Burst: 600, DriftPPM: 1000}
	require.LessOrEqual(t, p.Overshoot(all).Over, int64(0))
}

// TestASuspendedRegion stands still for longer than its leases, and then spends
// nothing of what it had.
func TestASuspendedRegion(t *testing.T) {
	c := small(t)
	l := c.hammerAll()
	l.more(t, 1, tokens/3, "the region admits")
	for range 2 {
		c.regions[1].signal(syscall.SIGSTOP)
		pause(ttl + ttl/2) // longer than any lease
		c.regions[1].signal(syscall.SIGCONT)
		l.more(t, 1, tokens/3, "the region admits after it was stopped")
	}
	l.judge(t, promise())
}

// TestASuspendedCoordinator stands still for longer than its election lease: what
// it grants when it goes on must not count twice.
func TestASuspendedCoordinator(t *testing.T) {
	c := small(t)
	l := c.hammerAll()
	l.more(t, -1, tokens, "the load is on")
	k := c.coordinators[0]
	k.signal(syscall.SIGSTOP)
	pause(3 * time.Second)
	k.signal(syscall.SIGCONT)
	l.more(t, -1, burst+2*tokens, "grants flow again")
	l.judge(t, promise())
}
