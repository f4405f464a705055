package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/proxy"
	"github.com/a1009580/leasehold/chaos/judge"
	"github.com/a1009580/leasehold/internal/overshoot"
)

// modesPolicy has quotas of one domain that choose differently.
const modesPolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: browse
    match: {kind: browse}
    limit: {tokens: 20, per: 1s}
    lease: {ttl: 1s}
    partition: {mode: fail_open, ceiling: {tokens: 40, per: 1s}, burst: 20}
    regions: {us: {}, eu: {}}
  - name: login
    match: {kind: login}
    limit: {tokens: 20, per: 1s}
    lease: {ttl: 1s}
    partition: {mode: fail_closed}
  - name: read
    match: {kind: read}
    limit: {tokens: 40, per: 1s}
    lease: {ttl: 1s}
    partition: {mode: local_floor, floor: 25%}
    regions: {us: {}, eu: {}}
  - name: write
    match: {kind: write}
    limit: {tokens: 20, per: 1s}
    lease: {ttl: 1s}
    partition: {mode: local_fallback, rate: {tokens: 40, per: 1s}, burst: 20, for: 2s}
    regions: {us: {}, eu: {}}
  - name: window
    match: {kind: window}
    limit: {tokens: 10, per: 6s, algorithm: fixed_window}
    partition: {mode: fail_open, ceiling: {tokens: 10, per: 1s}, burst: 10}
    regions: {us: {}, eu: {}}
`

const windowLength = 6 * time.Second

// cuttable starts a coordinator, the region us beside it, and eu behind a way that can be cut.
func cuttable(t *testing.T, policy string) (c *cluster, w *way, eu *node) {
	t.Helper()
	c = newCluster(t)
	require.NoError(t, os.WriteFile(c.policy, []byte(policy), 0o600))
	k := c.coordinator("", "--new-cluster")
	w = newWay(t, k.grpc)
	c.region("us")
	eu = c.regionVia([]string{w.address}, "eu")
	for _, r := range c.regions {
		r.ready()
	}
	return c, w, eu
}

// TestQuotasOfOneDomainChooseWhatACutOffRegionDoes cuts a region off while it and another ask for more than all
// limits, and has every quota do as its mode says, with the reason; the bound that was told before holds for what
// clients saw, and the coordinator shows both when the region is back.
func TestQuotasOfOneDomainChooseWhatACutOffRegionDoes(t *testing.T) {
	c, w, eu := cuttable(t, modesPolicy)
	k := c.coordinators[0]
	before := map[string]int64{}
	for _, quota := range []string{"api/browse", "api/write", "api/window"} {
		var r overshoot.Report
		asked(t, &r, "overshoot", quota, "--policy", c.policy, "--cut", "eu", "--for", "2m")
		before[quota] = *r.Quotas[0].Given.Bound.Tokens
	}
	all := askAll(t, c.regions, "browse", "login", "read", "write")
	here := all[1]
	// FAIL-05: the fallback is for a cut, not for a denial.
	for _, kind := range []string{"browse", "login", "read", "write"} {
		here.more(t, kind, "exhausted", 20)
		require.Zero(t, here.of(kind, "unreserved"))
	}

	heal := w.cut()
	isCutOff(t, k, eu)
	here.more(t, "browse", "unreserved", 60)
	here.more(t, "login", "cut_off", 20)
	login := here.of("login", "within_quota")
	here.more(t, "read", "within_quota", 10) // of its floor
	here.more(t, "read", "cut_off", 10)
	write := here.last(t, "write", "unreserved") // FAIL-07: the fallback ends
	require.Positive(t, write)
	here.more(t, "write", "cut_off", 20)
	spent := overspendWindows(t, eu)
	assert.Equal(t, write, here.of("write", "unreserved"), "and begins no more")
	assert.Equal(t, login, here.of("login", "within_quota"), "nothing is admitted without a lease")
	for _, kind := range []string{"login", "read"} {
		assert.Zero(t, here.of(kind, "unreserved"), kind)
	}
	isToldInTheRegion(t, eu, here)

	pause(windowLength - time.Duration(time.Now().UnixNano())%windowLength)
	heal()
	backInTheWindow(t, eu)
	here.more(t, "browse", "exhausted", 20)
	isToldByTheCoordinator(t, k, here, spent)
	for quota, p := range map[string]judge.TokenBucket{
		"browse": {Tokens: 20, Per: time.Second, Burst: 20, DriftPPM: 1000}, "login": {Tokens: 20, Per: time.Second, Burst: 20, DriftPPM: 1000},
		"write": {Tokens: 20, Per: time.Second, Burst: 20, DriftPPM: 1000}, "read": {Tokens: 40, Per: time.Second, Burst: 40, DriftPPM: 1000},
	} {
		over := exceeded(all, quota, p)
		t.Logf("%s: clients saw the limit exceeded by %d, %d was the bound: %v", quota, over, before["api/"+quota], here.said(quota))
		assert.LessOrEqual(t, over, before["api/"+quota], "what was told before the cut")
		assert.LessOrEqual(t, over, *k.overshoot("api/" + quota).Bound.Tokens, "what is told after it")
		assert.Equal(t, before["api/"+quota] > 0, over > 0, "the mode adds what it says, and the judge would have noticed")
	}
}

// isCutOff waits until both sides know of the cut, and looks at what they say.
func isCutOff(t *testing.T, k, eu *node) {
	t.Helper()
	eventually(t, "the region knows that it is cut off", func() bool { return eu.link("eu").State == "cut_off" })
	eventually(t, "the coordinator knows too", func() bool { return k.link("eu").State == "cut_off" })
	var own overshoot.Links
	asked(t, &own, "links", "--region", eu.http)
	require.Len(t, own.Links, 1)
	l := own.Links[0]
	assert.Equal(t, "cut_off", l.State)
	require.NotNil(t, l.Held)
	assert.True(t, l.Held.Unreserved)
	assert.True(t, l.Cut.Open)
	assert.NotEmpty(t, l.Reason)
	code, out, errs := leasehold(t, "links", "--coordinator", k.http)
	require.Zero(t, code, errs)
	assert.Regexp(t, `(?m)^eu +eu +cut_off .+\n^us +us +(connected|suspect) `, out)
	status, body := eu.get("/readyz?verbose")
	assert.Equal(t, http.StatusOK, status, "its load balancer keeps it")
	assert.True(t, strings.HasPrefix(body, "degraded\n"), body)
	assert.Contains(t, body, "cut_off")
	eventually(t, "its log says so", func() bool { return strings.Contains(eu.log.String(), "to=cut_off") })
}

// overspendWindows spends a window quota beyond its limit, and ends before a window does. It returns how much was
// spent unreserved.
func overspendWindows(t *testing.T, eu *node) (spent int64) {
	t.Helper()
	if left := windowLength - time.Duration(time.Now().UnixNano())%windowLength; left < time.Second {
		pause(left)
	}
	for range 10 {
		if d := eu.decide(`{"kind":"window"}`, 1); d.Reason == "unreserved" {
			spent++
		}
	}
	require.Positive(t, spent)
	return spent
}

// isToldInTheRegion looks at what the region says of what it spent.
func isToldInTheRegion(t *testing.T, eu *node, here *reasons) {
	t.Helper()
	for kind, quota := range map[string]string{"browse": "api/browse", "write": "api/write"} {
		least := here.of(kind, "unreserved")
		eventually(t, "the region tells what it spent of "+quota, func() bool { return eu.overshoot(quota).Overspent >= least })
		q := eu.overshoot(quota)
		assert.GreaterOrEqual(t, *q.Margin, int64(0))
		assert.GreaterOrEqual(t, *q.Bound.Tokens, q.Observed.High)
		assert.NotEmpty(t, q.Bound.Lines, quota)
	}
	q := eu.overshoot("api/read")
	assert.Positive(t, q.FloorSpent)
	assert.Zero(t, *q.Bound.Tokens)
	var r overshoot.Report
	asked(t, &r, "overshoot", "--region", eu.http)
	assert.False(t, r.Leads)
	assert.Len(t, r.Quotas, 5)
}

// backInTheWindow waits until the region leases in a window that has just begun, and expects nothing of what was
// spent in those before to be charged to it (SYNC-05).
func backInTheWindow(t *testing.T, eu *node) {
	t.Helper()
	eventually(t, "the region is connected again", func() bool {
		return metric(eu, "leasehold_coordinator_reachable") == 1 && eu.link("eu").State != "cut_off"
	})
	admitted := 0
	eventually(t, "five are admitted", func() bool {
		d := eu.decide(`{"kind":"window"}`, 1)
		if d.Allowed {
			admitted++
			require.Equal(t, "within_quota", d.Reason)
		} else {
			require.Equal(t, "no_lease", d.Reason, "nothing of this window is used")
		}
		return admitted == 5
	})
}

// isToldByTheCoordinator waits until all that was spent unreserved is in the coordinator's report, below the bound.
func isToldByTheCoordinator(t *testing.T, k *node, here *reasons, window int64) {
	t.Helper()
	for quota, spent := range map[string]int64{
		"api/browse": here.of("browse", "unreserved"), "api/write": here.of("write", "unreserved"), "api/window": window,
	} {
		var q overshoot.Quota
		eventually(t, "the coordinator hears what was spent of "+quota, func() bool {
			q = k.overshoot(quota)
			return q.Overspent >= spent
		})
		assert.Equal(t, spent, q.Overspent, quota)
		assert.Positive(t, q.Observed.High, quota)
		assert.LessOrEqual(t, q.Observed.High, *q.Bound.Tokens, quota)
		assert.NotEmpty(t, q.Bound.Lines, quota)
	}
	for _, quota := range []string{"api/login", "api/read"} {
		q := k.overshoot(quota)
		assert.True(t, q.Exact)
		assert.Zero(t, *q.Bound.Tokens)
		assert.Zero(t, q.Observed.High)
	}
	assert.Positive(t, metric(k, "leasehold_overspent_tokens_total"))
	code, out, errs := leasehold(t, "overshoot", "--coordinator", k.http)
	require.Zero(t, code, errs)
	assert.Regexp(t, `(?m)^api/browse +fail_open +\d+ \(\d+\.\d%\) +\d+(\.\.\d+)? +\S+ ago +\d+$`, out)
}

// TestAWayThatIsCutInOneDirection in each of them in turn, before the link has settled in between: both sides
// notice, and take all of it for one cut.
func TestAWayThatIsCutInOneDirection(t *testing.T) {
	c, w, eu := cuttable(t, thePolicy)
	k := c.coordinators[0]
	state := func(told *node, want string) (l overshoot.Link) {
		t.Helper()
		eventually(t, "the link is "+want, func() bool {
			l = told.link("eu")
			return l.State == want
		})
		return l
	}
	for _, one := range []struct {
		direction proxy.Direction
		deaf      *node // it hears nothing, and says so
	}{{proxy.Forth, k}, {proxy.Back, eu}} {
		heal := w.Cut(one.direction)
		there, here := state(k, "cut_off"), state(eu, "cut_off")
		t.Logf("direction %d: the region: %s; the coordinator: %s", one.direction, here.Reason, there.Reason)
		assert.Contains(t, one.deaf.link("eu").Reason, "nothing came for ")
		assert.EqualValues(t, 1, here.Cut.Number)
		heal()
		state(eu, "healing")
		state(k, "healing")
	}
	settled := state(eu, "connected")
	assert.EqualValues(t, 1, settled.Cut.Number)
	assert.False(t, settled.Cut.Open)
	state(k, "connected")
	eventually(t, "the coordinator hears of one cut, and that it is over", func() bool {
		told := k.link("eu").Cut
		return told.Total == 1 && !told.Open
	})
}
