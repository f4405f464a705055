package cli

import (
	"encoding/json"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

const modesPolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: browse
    match: {route: /browse}
    limit: {tokens: 1000, per: 1s}
    partition: {mode: local_fallback, rate: {tokens: 50, per: 1s}, burst: 100, for: 10m}
    regions: {us: {nodes: 3}, eu: {nodes: 2}, ap: {}}
  - name: login
    match: {route: /login}
    limit: {tokens: 10, per: 1m}
    partition: {mode: fail_closed}
  - name: open
    match: {route: /open}
    limit: {tokens: 10, per: 1m}
    partition: {mode: fail_open, ceiling: unbounded}
  - name: free
    match: {route: /free}
    limit: {tokens: unbounded}
---
apiVersion: leasehold/v1
domain: internal
quotas:
  - name: login
    match: {}
    limit: {tokens: 10, per: 1m}
`

// told is what a coordinator answers to a query after eu was cut off once.
func told(t *testing.T, query string) overshoot.Report {
	t.Helper()
	set, err := policy.Parse("policy.yaml", []byte(modesPolicy))
	require.NoError(t, err)
	v, err := url.ParseQuery(query)
	require.NoError(t, err)
	q, err := overshoot.ParseQuery(v)
	require.NoError(t, err)
	r := overshoot.Report{
		Source: overshoot.Coordinator, Leads: true, Since: ago(time.Hour), At: noon, PolicyRevision: 3, DriftPPM: 1000, Quotas: []overshoot.Quota{},
	}
	places := partition.Known(set, nil)
	for _, d := range set.Domains {
		for _, of := range d.Quotas {
			bound := partition.Bound(of, lease.DefaultDrift, []partition.Cut{{Region: "eu", Holders: 2, For: time.Minute}})
			seen := lease.Observed{}
			if of.ID == "api/browse" {
				seen = lease.Observed{Low: 12, High: 40, LowAt: *ago(time.Minute), HighAt: *ago(130 * time.Second)}
			}
			one := overshoot.NewQuota(of, &bound, &seen)
			if of.Limit.Unbounded {
				one = overshoot.NewQuota(of, &bound, nil)
			}
			if of.ID == "api/browse" {
				one.Overspent, one.FloorSpent = 55, 0
			}
			q.Suppose(&one, of, lease.DefaultDrift, places)
			r.Quotas = append(r.Quotas, one)
		}
	}
	return r
}

func run(t *testing.T, r overshoot.Report, args ...string) (code int, out, errs string, asked []string) {
	t.Helper()
	s := serve(t, map[string]any{"/v1/overshoot": r, "/v1/status": map[string]string{"leader": "10.0.0.8:7400"}})
	flag := "--coordinator"
	if r.Source == overshoot.Region {
		flag = "--region"
	}
	code, out, errs = leasehold(t, "", append([]string{"overshoot", flag, s.URL}, args...)...)
	return code, strings.ReplaceAll(out, s.URL, "http://127.0.0.1:7401"), errs, s.asked
}

func TestOvershootTable(t *testing.T) {
	code, out, errs, asked := run(t, told(t, ""))
	require.Equal(t, OK, code, errs)
	assert.Equal(t, []string{"/v1/overshoot"}, asked)
	golden(t, "overshoot.golden", out)
}

func TestOvershootSupposed(t *testing.T) {
	code, out, errs, asked := run(t, told(t, "cut=eu,ap&for=10m"), "--cut", "eu,ap", "--for", "10m")
	require.Equal(t, OK, code, errs)
	assert.Equal(t, []string{"/v1/overshoot?cut=eu%2Cap&for=10m0s"}, asked)
	golden(t, "overshoot-supposed.golden", out)
}

func TestOvershootOfAQuotaLineByLine(t *testing.T) {
	code, out, errs, _ := run(t, told(t, "cut=eu,ap&for=10m"), "api/browse", "--cut", "eu", "--cut", "ap", "--for", "10m")
	require.Equal(t, OK, code, errs)
	golden(t, "overshoot-quota.golden", out)

	code, out, errs, _ = run(t, told(t, ""), "open")
	require.Equal(t, OK, code, errs)
	assert.Contains(t, out, "bound     none: the policy says unbounded\n  eu: no bound\n")
	assert.Contains(t, out, "margin    -\n")
}

func TestOvershootOfARegion(t *testing.T) {
	r := told(t, "")
	r.Source, r.Region, r.Node, r.Leads = overshoot.Region, "eu", "eu-1", false
	code, out, errs, _ := run(t, r)
	require.Equal(t, OK, code, errs)
	assert.Contains(t, out, "region eu, node eu-1, at http://127.0.0.1:7401, of itself alone, since 2026-11-30 11:00:00 UTC (1h), policy revision 3\n"+
		"it has no session with a coordinator\n")
}

func TestOvershootQuotaNames(t *testing.T) {
	code, out, errs, _ := run(t, told(t, ""), "browse")
	require.Equal(t, OK, code, errs)
	assert.Contains(t, out, "api/browse: 1000 per 1s")
	code, _, errs, _ = run(t, told(t, ""), "login")
	assert.Equal(t, Usage, code)
	assert.Contains(t, errs, `"login" is the name of several quotas: api/login, internal/login`)
	code, _, errs, _ = run(t, told(t, ""), "nope")
	assert.Equal(t, Usage, code)
	assert.Contains(t, errs, `there is no quota "nope"`)
	code, _, _ = leasehold(t, "", "overshoot", "a", "b")
	assert.Equal(t, Usage, code)
}

func TestOvershootAsJSON(t *testing.T) {
	r := told(t, "for=1m")
	code, out, errs, _ := run(t, r, "--json", "--for", "1m")
	require.Equal(t, OK, code, errs)
	var back overshoot.Report
	require.NoError(t, json.Unmarshal([]byte(out), &back))
	assert.Equal(t, r, back)
	_, out, _, _ = run(t, r, "--json", "--for", "1m", "api/login")
	require.NoError(t, json.Unmarshal([]byte(out), &back))
	require.Len(t, back.Quotas, 1)
	assert.Equal(t, "api/login", back.Quotas[0].Quota)
}

func TestOvershootExitCodes(t *testing.T) {
	r := told(t, "")
	low, high := r.Quotas[0].Observed, *r.Quotas[0].Bound.Tokens+7
	*low = overshoot.Observed{Low: high - 5, High: high, LowAt: ago(0), HighAt: ago(0)}
	*r.Quotas[0].Margin = -7
	for _, args := range [][]string{nil, {"--json"}, {"api/browse"}} {
		code, out, errs, _ := run(t, r, args...)
		assert.Equal(t, CheckFailed, code)
		assert.Contains(t, out, "api/browse", "it is printed all the same")
		assert.Contains(t, errs, "api/browse was exceeded by 6208..6213 tokens, more than its bound of 6206")
	}
	code, _, errs, _ := run(t, r, "api/login")
	assert.Equal(t, OK, code, "that one was not: %s", errs)

	follows := told(t, "")
	follows.Leads, follows.Since = false, nil
	for i := range follows.Quotas {
		follows.Quotas[i].Observed, follows.Quotas[i].Margin = nil, nil
	}
	code, out, errs, asked := run(t, follows)
	assert.Equal(t, Inconclusive, code)
	assert.Equal(t, []string{"/v1/overshoot", "/v1/status"}, asked)
	assert.Contains(t, out, "does not lead: bounds are of the policy alone")
	assert.Contains(t, out, "unknown")
	assert.Contains(t, errs, "ask the one that serves gRPC on 10.0.0.8:7400")

	follows.Leads = true
	code, _, errs, _ = run(t, follows)
	assert.Equal(t, Inconclusive, code)
	assert.Contains(t, errs, "does not know yet what was observed")
}

func TestOvershootOfAPolicy(t *testing.T) {
	path := policyFile(t, modesPolicy)
	code, out, errs := leasehold(t, "", "overshoot", "--policy", path)
	require.Equal(t, OK, code, errs)
	golden(t, "overshoot-policy.golden", strings.ReplaceAll(out, path, "policy.yaml"))
	code, out, errs = leasehold(t, modesPolicy, "overshoot", "--policy", "-", "api/browse", "--cut", "ap", "--for", "1m")
	require.Equal(t, OK, code, errs)
	golden(t, "overshoot-policy-quota.golden", out)

	for want, args := range map[string][]string{
		"--cut: needs for":                    {"--cut", "eu"},
		`--for: "-1s" is not a duration`:      {"--for", "-1s"},
		`--cut: no quota lists a region "xx"`: {"--cut", "xx", "--for", "1m"},
		"--region and --policy: give one":     {"--region", "r:1"},
		"none.yaml: no such file":             {"--policy", "none.yaml"},
	} {
		code, out, errs = leasehold(t, "", append([]string{"overshoot", "--policy", path}, args...)...)
		if want == "--cut: needs for" { // with a policy there is a time by default
			assert.Equal(t, OK, code)
			assert.Contains(t, out, "cut off for 10m, ")
			code, _, errs = leasehold(t, "", "overshoot", "--cut", "eu")
		}
		assert.Equal(t, Usage, code)
		assert.Contains(t, errs, want)
	}
	code, _, errs = leasehold(t, "domain: x", "overshoot", "--policy", "-")
	assert.Equal(t, Usage, code)
	assert.Contains(t, errs, "-:1:1: ")
}

func TestFiguresForPeople(t *testing.T) {
	most := int64(math.MaxInt64)
	share := 0.01
	assert.Equal(t, "9223372036854775807 or more (<0.1%)", bound(&overshoot.Bound{Tokens: &most, Percent: &share, Saturated: true}))
	assert.Equal(t, "0", bound(&overshoot.Bound{Tokens: new(int64), Percent: new(float64)}))
	assert.Equal(t, "100.0%", percent(100))
	for d, want := range map[time.Duration]string{0: "0s", 1234 * time.Millisecond: "1.2s", -time.Minute: "-1m", 2 * time.Hour: "2h", 100 * time.Second: "1m40s", 90*time.Second + time.Millisecond: "1m30s", 70 * time.Minute: "1h10m"} {
		assert.Equal(t, want, brief(d))
	}
}
