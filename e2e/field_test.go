package e2e

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Faults that people met in rate limiters, over the wire.

const oneKey = `{"api_key":"k"}`

// policyOf is a policy of one quota with this limit.
func policyOf(limit string) string {
	return "apiVersion: leasehold/v1\ndomain: api\nquotas: [{name: key, match: {api_key: '*'}, limit: " + limit +
		", lease: {ttl: 1s}, partition: {mode: fail_closed}}]\n"
}

// asks asks a region so often, and returns how much it admitted.
func (n *node) asks(times int) (admitted int) {
	n.t.Helper()
	for range times {
		if n.decide(oneKey, 1).Allowed {
			admitted++
		}
	}
	return admitted
}

// TestFAIR09_ALimitIsNotMultipliedByRegions: three of four requests go to one region, four more to another.
func TestFAIR09_ALimitIsNotMultipliedByRegions(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, os.WriteFile(c.policy, []byte(policyOf("{tokens: 4, per: 24h, burst: 4}")), 0o600))
	c.coordinator("", "--new-cluster")
	for _, name := range []string{"us", "eu"} {
		c.region(name).ready()
	}
	admitted := 0
	eventually(t, "three are admitted where they are asked for", func() bool {
		admitted += c.regions[0].asks(1)
		return admitted == 3
	})
	admitted += c.regions[1].asks(4)
	eventually(t, "the fourth is admitted where it is asked for", func() bool {
		admitted += c.regions[1].asks(1)
		return admitted >= 4
	})
	assert.Equal(t, 4, admitted)
	assert.Zero(t, c.regions[0].asks(4)+c.regions[1].asks(4))
	assert.Equal(t, "exhausted", c.regions[1].decide(oneKey, 1).Reason)
	d := c.regions[1].decide(oneKey, 5)
	assert.Equal(t, "impossible", d.Reason)
	assert.EqualValues(t, 4, d.Most)
}

// TestCFG03_NothingThatStartsAgainFillsABucket: neither a policy file that is written again, nor a coordinator or a
// region that is killed.
func TestCFG03_NothingThatStartsAgainFillsABucket(t *testing.T) {
	const limit = 10
	c := newCluster(t)
	text := policyOf("{tokens: 10, per: 24h}")
	require.NoError(t, os.WriteFile(c.policy, []byte(text), 0o600))
	k := c.coordinator("", "--new-cluster")
	r := c.region("us", "--data-dir", t.TempDir())
	r.ready()
	admitted := 0
	eventually(t, "all is admitted", func() bool {
		admitted += r.asks(1)
		return admitted == limit
	})
	again := func(what string) {
		t.Helper()
		eventually(t, "a session is open "+what, func() bool { return metric(r, "leasehold_coordinator_reachable") == 1 })
		assert.Zero(t, r.asks(limit), what)
	}
	again("after all was admitted")
	for i := range 20 {
		// Another comment each time: the file changed, and means the same.
		require.NoError(t, os.WriteFile(c.policy, []byte(text+"# "+strings.Repeat("x", i)+"\n"), 0o600))
		k.signal(syscall.SIGHUP)
		assert.Zero(t, r.asks(1))
	}
	again("after the file was read again")
	for range 3 {
		k.restart()
		k.ready()
		again("after the coordinator was killed")
	}
	require.Zero(t, k.terminate())
	k.launch()
	k.ready()
	again("after the coordinator ended in good order")
	for range 3 {
		r.restart()
		r.ready()
		again("after the region was killed")
	}
	assert.EqualValues(t, 1, metric(k, "leasehold_policy_revision"), "nothing changed")
}

// TestCFG01_ARaisedLimitCountsAtOnce, and is the one that answers name.
func TestCFG01_ARaisedLimitCountsAtOnce(t *testing.T) {
	c := newCluster(t)
	year := "per: 8784h, algorithm: fixed_window}"
	require.NoError(t, os.WriteFile(c.policy, []byte(policyOf("{tokens: 1, "+year)), 0o600))
	k := c.coordinator("", "--new-cluster")
	r := c.region("us")
	r.ready()
	eventually(t, "the only one is admitted", func() bool { return r.asks(1) == 1 })
	d := r.decide(oneKey, 1)
	assert.Equal(t, "exhausted", d.Reason)
	assert.EqualValues(t, 1, d.Limit)

	require.NoError(t, os.WriteFile(c.policy, []byte(policyOf("{tokens: 100, "+year)), 0o600))
	k.signal(syscall.SIGHUP)
	began := time.Now()
	admitted := 0
	eventually(t, "one more is admitted", func() bool { return r.asks(1) == 1 })
	admitted++
	t.Logf("a request was admitted %v after the file was written", time.Since(began).Round(time.Millisecond))
	eventually(t, "the rest of the new limit is admitted", func() bool {
		d := r.decide(oneKey, 1)
		if d.Allowed {
			admitted++
		}
		assert.True(t, d.Limit == 100 || d.Limit == 1 && !d.Allowed, "%+v", d)
		return admitted == 99
	})
	t.Logf("all of it after %v", time.Since(began).Round(time.Millisecond))
	assert.Zero(t, r.asks(5))
}

// TestFAIL09_AMistypedNameIsNotJustAllowed: an unknown domain is an error, a request that no quota matches is what
// its domain says, and both are counted.
func TestFAIL09_AMistypedNameIsNotJustAllowed(t *testing.T) {
	r := limited(t, policyOf("{tokens: 5, per: 24h}")+"---\napiVersion: leasehold/v1\ndomain: closed\nunmatched: deny\nquotas: []\n")
	for path, want := range map[string]struct {
		code int
		says string
	}{
		"?domain=apo&api_key=k": {http.StatusNotFound, "unknown domain"},
		"?domain=api&apikey=k":  {http.StatusOK, `"reason":"no_quota"`},
		"?domain=closed&x=y":    {http.StatusTooManyRequests, `"reason":"unmatched"`},
	} {
		code, body := r.get("/v1/check" + path)
		assert.Equal(t, want.code, code, path)
		assert.Contains(t, body, want.says)
	}
	assert.EqualValues(t, 1, metric(r, "leasehold_unknown_domain_total"))
	assert.EqualValues(t, 2, metric(r, "leasehold_no_quota_total"))
}
