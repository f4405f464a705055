package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/judge"
)

// TestOneBusyRegionOfThree has two regions idle, with floors of their own: what
// they do not need must not be spent twice. The use of the budget is printed.
func TestOneBusyRegionOfThree(t *testing.T) {
	c := small(t)
	l := hammer(t, "hot", 3*tokens, newGRPC(t, c.regions[0].grpc))
	l.more(t, 0, burst+5*tokens, "the burst and five seconds of the limit")
	l.judge(t, promise())
}

// windowPolicy allows 400 in each window of four seconds.
const windowPolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: key
    match: {api_key: "*"}
    limit: {tokens: 400, per: 4s, algorithm: fixed_window}
    partition: {mode: fail_closed}
`

// TestAWindowQuotaAcrossItsBoundaries has three regions ask for three times the
// limit while windows end and begin: no window admits more than its own.
func TestAWindowQuotaAcrossItsBoundaries(t *testing.T) {
	const limit = 400
	c := newCluster(t)
	require.NoError(t, os.WriteFile(c.policy, []byte(windowPolicy), 0o600))
	c.coordinator("", "--new-cluster")
	c.allRegions()
	l := hammer(t, "hot", 100, c.clients()...)
	for i := range c.regions {
		l.more(t, i, 10, "every region admits")
	}
	l.more(t, -1, 2*limit+1, "a window begins and ends, and another begins")
	l.end()

	all := make([]judge.Admission, len(l.admitted))
	wall := time.Duration(l.begin.UnixNano())
	for i, a := range l.admitted {
		a.Sent, a.Received = a.Sent+wall, a.Received+wall
		all[i] = a
	}
	p := judge.Window{Tokens: limit, Length: 4 * time.Second, Slack: 20 * time.Millisecond}
	f := p.Overshoot(all)
	t.Logf("admitted %d, denied %d, failed %d in %v; closest to the promise: %d in one window",
		len(all), l.denied, l.failed, time.Since(l.begin).Round(time.Millisecond), f.Admitted)
	require.LessOrEqual(t, f.Over, int64(0), "the promise is broken")
	p.Tokens /= 10
	require.Positive(t, p.Overshoot(all).Over, "the judge would have noticed")
}
