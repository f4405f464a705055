package regional

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

const twoModes = head + `quotas:
- name: browse
  match: {api_key: "*"}
  limit: {tokens: 100, per: 1h, burst: 10}
  partition: {mode: local_fallback, rate: {tokens: 2, per: 1s}, burst: 5, for: 10s}
- name: login
  match: {user: "*"}
  limit: {tokens: 100, per: 1h, burst: 100}
  partition: {mode: local_floor, floor: 10%}
  regions: {eu: {}, us: {}}
`

func (r *rig) overshoot(query string) (out overshoot.Report) {
	r.t.Helper()
	a := r.get("/v1/overshoot" + query)
	require.Equal(r.t, http.StatusOK, a.code, a.text)
	require.NoError(r.t, json.Unmarshal([]byte(a.text), &out))
	return out
}

func (r *rig) links() overshoot.Link {
	r.t.Helper()
	var out overshoot.Links
	a := r.get("/v1/links")
	require.Equal(r.t, http.StatusOK, a.code, a.text)
	require.NoError(r.t, json.Unmarshal([]byte(a.text), &out))
	require.Equal(r.t, overshoot.Region, out.Source)
	require.Len(r.t, out.Links, 1)
	return out.Links[0]
}

// spendAll asks as long as anything is admitted.
func (r *rig) spendAll(key string) (n int64) {
	for r.check(key).code == http.StatusOK {
		n++
	}
	return n
}

func TestARegionTellsItsLinkAndItsOvershoot(t *testing.T) {
	run(t, twoModes, func(t *testing.T, r *rig) {
		r.spendAll("k") // by and by all that can be leased
		time.Sleep(time.Second)
		r.spendAll("k")
		time.Sleep(time.Second)
		l := r.links()
		assert.Equal(t, "connected", l.State)
		assert.Equal(t, "reports are answered", l.Reason)
		assert.NotNil(t, l.LastProof)
		assert.Zero(t, l.Cut)
		q := r.overshoot("").Quotas[0]
		assert.Zero(t, *q.Bound.Tokens)
		assert.Zero(t, *q.Margin)

		since := time.Now()
		r.c.SetFaults(limitertest.Faults{Refusing: true})
		r.c.Break()
		time.Sleep(time.Second)
		assert.Equal(t, "suspect", r.links().State)
		var spent int64
		for range 40 {
			time.Sleep(500 * time.Millisecond)
			spent += r.spendAll("k")
		}
		l = r.links()
		assert.Equal(t, "cut_off", l.State)
		assert.True(t, l.Cut.Open)
		assert.EqualValues(t, 1, l.Cut.Number)
		assert.Greater(t, l.Cut.Length.Duration(), 18*time.Second)
		assert.Contains(t, l.Reason, "the stream broke")
		require.NotNil(t, l.Held)
		assert.True(t, l.Held.Unreserved)
		require.Len(t, l.Held.Quotas, 2)
		assert.Positive(t, l.Held.Quotas[0].Overspent)
		assert.True(t, l.Held.Quotas[1].FloorOwned)

		q = r.overshoot("").Quotas[0]
		require.Len(t, q.Bound.Lines, 1)
		assert.Equal(t, "open", q.Bound.Lines[0].Kind)
		assert.Contains(t, q.Bound.Lines[0].Text, "goes on: 5 + 1.001 x 2/s x 10 s = 26")
		over := q.Observed.High
		require.NotNil(t, q.Observed.HighAt, "somebody asks when")
		assert.WithinRange(t, *q.Observed.HighAt, since, time.Now())
		assert.GreaterOrEqual(t, over, int64(22), "5, and 2 a second for 10 s, but for what accrued after the last try")
		assert.LessOrEqual(t, over, int64(25))
		assert.GreaterOrEqual(t, spent, q.Observed.High)
		assert.Equal(t, 26-over, *q.Margin)
		assert.Equal(t, over, q.Overspent)

		a := r.get("/readyz?verbose")
		assert.Equal(t, http.StatusOK, a.code, "its load balancer keeps it")
		assert.Regexp(t, `^degraded\n`, a.text)
		assert.Regexp(t, `\[-\]link cut_off for \d+\.\ds: the stream broke: `, a.text)
		assert.Contains(t, a.text, "floor api/login")
		assert.Contains(t, a.text, "[-]lease nothing unspent\n")
		assert.Contains(t, a.text, fmt.Sprint("[-]unreserved api/browse ", over, " tokens spent"))
		assert.NotContains(t, a.text, "floor api/browse", "it has none")
		lines := strings.Split(r.get("/metrics").text, "\n")
		for _, want := range []string{
			`leasehold_link_state{state="cut_off"} 1`, `leasehold_link_state{state="connected"} 0`, "leasehold_cuts_total 1",
			fmt.Sprint(`leasehold_overspent_tokens_total{quota="api/browse"} `, over), `leasehold_overshoot_bound_tokens{quota="api/browse"} 26`,
			fmt.Sprint(`leasehold_overshoot_observed_high_tokens{quota="api/browse"} `, over), `leasehold_overshoot_bound_tokens{quota="api/login"} 0`,
		} {
			assert.Contains(t, lines, want)
		}

		r.c.SetFaults(limitertest.Faults{})
		time.Sleep(8 * time.Second)
		l = r.links()
		assert.Equal(t, "connected", l.State)
		assert.False(t, l.Cut.Open)
		assert.InDelta(t, 19, l.Cut.Length.Duration().Seconds(), 1, "as long as nothing answered")
		assert.NotContains(t, r.get("/readyz?verbose").text, "[-]", "all is well again")
		assert.Contains(t, r.get("/metrics").text, "leasehold_cut_off_seconds 0\n")
		q = r.overshoot("").Quotas[0]
		require.Len(t, q.Bound.Lines, 1)
		assert.Equal(t, "cut", q.Bound.Lines[0].Kind, "it is over, and stays in the sum")
		assert.EqualValues(t, 26, *q.Bound.Tokens)
		assert.Equal(t, "ready\n", r.get("/readyz").text)
	})
}

func TestARegionAnswersWhatIsAskedAboutSupposedCuts(t *testing.T) {
	run(t, twoModes, func(t *testing.T, r *rig) {
		rep := r.overshoot("?cut=eu,us&for=5s&quota=api/browse")
		require.Len(t, rep.Quotas, 1)
		assert.EqualValues(t, 2*(5+11), *rep.Quotas[0].Given.Bound.Tokens, "5 + 1.001 x 2/s x 5 s each, rounded up")
		assert.Len(t, rep.Quotas[0].Worst, 2)
		for _, bad := range []string{"?cut=eu", "?for=x", "?quota=nothing", "?cut=xx&for=1s"} {
			a := r.get("/v1/overshoot" + bad)
			assert.Equal(t, http.StatusBadRequest, a.code, bad)
			assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
		}
	})
}

// A process that is cut off under one policy and comes back to another counts what it spent by the one that it had.
func TestARegionCountsACutByThePolicyThatItHad(t *testing.T) {
	run(t, twoModes, func(t *testing.T, r *rig) {
		r.c.SetFaults(limitertest.Faults{Refusing: true})
		r.c.Break()
		time.Sleep(15 * time.Second)
		r.c.SetPolicy(head + `quotas:
- name: browse
  match: {api_key: "*"}
  limit: {tokens: 100, per: 1h, burst: 10}
  partition: {mode: fail_closed}
- name: login
  match: {user: "*"}
  limit: {tokens: 100, per: 1h, burst: 100}
`)
		r.c.SetFaults(limitertest.Faults{})
		time.Sleep(10 * time.Second)
		q := r.overshoot("").Quotas[0]
		assert.Equal(t, "fail_closed", q.Mode)
		assert.True(t, q.Exact)
		assert.EqualValues(t, 26, *q.Bound.Tokens)
	})
}
