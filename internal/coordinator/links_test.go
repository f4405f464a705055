package coordinator

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/lease"
)

const fallbackPolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: q
    match: {key: "*"}
    limit: {tokens: 1000, per: 1s, burst: 1000}
    partition: {mode: local_fallback, rate: {tokens: 50, per: 1s}, burst: 100, for: 10m}
    regions: {us: {}, eu: {nodes: 2}}
`

func fallBack(o *Options) { o.Policy = []byte(fallbackPolicy) }

// fast is by how much the clock of these tests runs faster, so that nobody waits for a cut.
const fast = 5

// answer reports as a holder does that heard all that was sent, with what it has to tell.
func (h *holder) answer(b lease.ReportBatch) {
	h.t.Helper()
	h.sent += time.Millisecond
	b.Session, b.Sent, b.Clock, b.Answered = h.welcome.Session, h.sent, h.made, h.made
	h.send(reportsMessage(b))
	g, err := h.next()
	require.NoError(h.t, err)
	h.made = g.Made
}

// link is what the coordinator says of a holder.
func (n *node) link(id lease.HolderID) overshoot.Link {
	for _, l := range n.links().Links {
		if l.Holder == id.String() {
			return l
		}
	}
	return overshoot.Link{}
}

func (n *node) state(id lease.HolderID, want string) {
	n.t.Helper()
	eventually(n.t, "the link is "+want, func() bool { return n.link(id).State == want })
}

// gauge returns the value of a metric.
func (n *node) gauge(name string) float64 {
	n.t.Helper()
	v, err := strconv.ParseFloat(n.metric(name), 64)
	require.NoError(n.t, err, name)
	return v
}

func TestACutIsInTheBoundFromItsFirstSilenceToItsEnd(t *testing.T) {
	n := newRigAt(t, time.Minute, fast).start(fallBack).leads()
	id := identity("us", 1)
	h := n.join(id).hello()
	h.answer(lease.ReportBatch{})
	n.state(id, "connected")
	l := n.link(id)
	assert.Equal(t, "us", l.Region)
	assert.Equal(t, h.welcome.Session.N, l.Session)
	assert.NotNil(t, l.LastProof)
	assert.InDelta(t, 1, n.gauge(`leasehold_link_state{region="us",state="connected"}`), 0)
	assert.InDelta(t, 0, n.gauge(`leasehold_link_state{region="eu",state="cut_off"}`), 0, "alerts need a 0")
	q := n.overshoot("").Quotas[0]
	assert.Zero(t, *q.Bound.Tokens)
	assert.False(t, q.Exact)

	h.cut()
	n.state(id, "cut_off")
	l = n.link(id)
	assert.True(t, l.Cut.Open)
	assert.Zero(t, l.Session)
	assert.Contains(t, l.Reason, "the stream broke: the holder ended without a goodbye")
	var line overshoot.Line
	eventually(t, "what it may spend is in the bound", func() bool {
		b := n.overshoot("").Quotas[0].Bound
		if *b.Tokens < 300 {
			return false
		}
		require.Len(t, b.Lines, 1)
		line = b.Lines[0]
		return true
	})
	assert.Equal(t, "open", line.Kind)
	assert.Equal(t, id.String(), line.Holder)
	assert.Contains(t, line.Text, "not heard for")
	assert.GreaterOrEqual(t, n.gauge(`leasehold_overshoot_bound_tokens{quota="api/q"}`), 300.0)
	assert.InDelta(t, 1, n.gauge(`leasehold_link_state{region="us",state="cut_off"}`), 0)
	eventually(t, "the log tells", func() bool {
		return strings.Contains(n.log.String(), `level=WARN msg="the link to a region changed" region=us node=node holder=us/node#01000000 from=suspect to=cut_off reason=`)
	})
	body, code := n.get("/readyz?verbose")
	assert.Equal(t, 200, code)
	assert.Contains(t, body, "links cut_off: 1\n")

	again := n.join(id).hello()
	again.answer(lease.ReportBatch{})
	again.answer(lease.ReportBatch{
		Cuts:      []lease.CutReport{{Number: 1, Count: 1, Length: 2 * time.Second, Closed: true}},
		Overspent: []lease.Overspend{{Bucket: bucket("k"), Cut: 1, Tokens: 190, Span: time.Second}},
	})
	var r overshoot.Report
	eventually(t, "what it tells takes the place of what was supposed", func() bool {
		r = n.overshoot("")
		return r.Quotas[0].Observed.High == 190
	})
	q = r.Quotas[0]
	require.NotEmpty(t, q.Bound.Lines) // another may follow, as this holder says no more
	assert.Equal(t, "us us/node#01000000: 100 + 1.001 x 50/s x 2 s = 201", q.Bound.Lines[0].Text)
	assert.Equal(t, *q.Bound.Tokens-190, *q.Margin)
	assert.GreaterOrEqual(t, *q.Margin, int64(11))
	assert.EqualValues(t, 190, q.Overspent)
	assert.NotNil(t, q.Observed.HighAt)
	assert.Nil(t, q.Observed.LowAt)
	eventually(t, "the counters know", func() bool {
		return n.metric(`leasehold_cuts_total{region="us"}`) == "1" && n.metric(`leasehold_overspent_tokens_total{quota="api/q"}`) == "190"
	})
	assert.Equal(t, "190", n.metric(`leasehold_overshoot_observed_high_tokens{quota="api/q"}`))
	assert.Equal(t, "0", n.metric(`leasehold_overshoot_observed_tokens{quota="api/q"}`))
	assert.GreaterOrEqual(t, n.gauge(`leasehold_link_transitions_total{region="us",state="cut_off"}`), 1.0)
	assert.Equal(t, int64(190), n.status().Quotas[0].Unreserved)
}

func TestAHolderThatSaysGoodbyeIsNotMissed(t *testing.T) {
	n := newRigAt(t, time.Minute, fast).start(fallBack).leads()
	id := identity("us", 1)
	h := n.join(id).hello()
	h.send(reportsMessage(lease.ReportBatch{Session: h.welcome.Session, Sent: 1, Goodbye: true}))
	require.Error(t, h.broken())
	n.state(id, "gone")
	assert.Equal(t, "it said goodbye", n.link(id).Reason)
	other := n.join(identity("eu", 2)).hello()
	other.cut()
	n.state(other.id, "cut_off") // by now the first would be, too
	assert.Equal(t, "gone", n.link(id).State)
	for _, l := range n.overshoot("").Quotas[0].Bound.Lines {
		assert.Equal(t, "eu", l.Region)
	}
}

// A leader hears of cuts that began before it was elected together with what was spent in them.
func TestASuccessorHearsOfCutsWithWhatWasSpentInThem(t *testing.T) {
	r := newRig(t, 500*time.Millisecond)
	first := r.start(fallBack).leads()
	second := r.start(fallBack).standsBy()
	standby := second.overshoot("?for=1m")
	assert.False(t, standby.Leads)
	assert.Nil(t, standby.Since)
	assert.Nil(t, standby.Quotas[0].Observed, "a standby hears no reports")
	assert.Nil(t, standby.Quotas[0].Margin)
	assert.Len(t, standby.Quotas[0].Worst, 2, "but knows the policy")
	assert.Empty(t, second.links().Links)

	first.join(identity("us", 1)).hello()
	require.NoError(t, r.store.EndSession(first.rpc))
	second.leads()
	h := second.join(identity("us", 1)).hello()
	h.answer(lease.ReportBatch{})
	h.answer(lease.ReportBatch{
		Cuts:      []lease.CutReport{{Number: 3, Count: 2, Length: 4 * time.Second, Closed: true}},
		Overspent: []lease.Overspend{{Bucket: bucket("k"), Cut: 2, Tokens: 200}, {Bucket: bucket("k"), Cut: 3, Tokens: 150}},
	})
	eventually(t, "both cuts count", func() bool {
		q := second.overshoot("").Quotas[0]
		return q.Observed.High == 350 && *q.Bound.Tokens >= 350 && *q.Margin == *q.Bound.Tokens-350
	})
	assert.Equal(t, uint64(2), second.link(identity("us", 1)).Cut.Total)
}

func TestWhatIsAskedAboutSupposedCuts(t *testing.T) {
	n := newRig(t, time.Second).start(fallBack).leads()
	for i := range byte(3) {
		n.join(identity("us", i+1)).hello()
	}
	eventually(t, "three holders are known", func() bool { return len(n.links().Links) == 3 })
	q := n.overshoot("?cut=us&for=10m").Quotas[0]
	require.NotNil(t, q.Given)
	assert.Equal(t, []overshoot.Place{{Region: "us", Holders: 3}}, q.Given.Cut, "more than the policy lists")
	assert.EqualValues(t, 3*30130, *q.Given.Bound.Tokens)
	require.Len(t, q.Worst, 2)
	assert.EqualValues(t, 3*30130, *q.Worst[0].Bound.Tokens)
	assert.EqualValues(t, 5*30130, *q.Worst[1].Bound.Tokens)
	assert.Zero(t, *q.Bound.Tokens, "nothing of it took place")

	for query, want := range map[string]string{
		"?cut=xx&for=10m": `cut: no quota lists a region \"xx\"`,
		"?cut=us":         "cut: needs for",
		"?for=soon":       `for: \"soon\"`,
		"?quota=q":        `quota: the policy has no \"q\"`,
		"?region=us":      `\"region\"`,
	} {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, n.web+"/v1/overshoot"+query, http.NoBody)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, resp.StatusCode, query)
		assert.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"), query)
		resp.Body.Close()
		body, _ := n.get("/v1/overshoot" + query)
		assert.Contains(t, body, want)
	}
	http.DefaultClient.CloseIdleConnections()
}

// The larger limit is in the report until the longest lease has passed, and no longer.
func TestALoweredLimitIsReportedUntilTheLongestLeaseHasPassed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(path, []byte(testPolicy), 0o600))
	n := newRigAt(t, time.Minute, 4).start(func(o *Options) {
		o.PolicyFile, o.PolicyName, o.PollPolicy = path, path, 5*time.Millisecond
	}).leads()
	h := n.join(identity("us", 1)).hello()
	h.want("k", 10)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(testPolicy, "1000", "400")), 0o600))
	n.revision(2)
	b := n.overshoot("").Quotas[0].Bound
	require.Len(t, b.Lines, 1)
	assert.Equal(t, "lowered", b.Lines[0].Kind)
	assert.True(t, strings.HasPrefix(b.Lines[0].Text, "limit lowered: 600 + 1.001 x 600/s x "), b.Lines[0].Text)
	assert.GreaterOrEqual(t, *b.Tokens, int64(600))
	assert.LessOrEqual(t, *b.Tokens, int64(600+5*601+40))
	assert.Equal(t, "400 per 1s, burst 400", n.overshoot("").Quotas[0].Limit)
	eventually(t, "it is over when the lease of 5 s is", func() bool { return *n.overshoot("").Quotas[0].Bound.Tokens == 0 })
}

// A session that ends for a new policy says nothing about the link.
func TestANewPolicyIsNoTroubleOfTheLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	n := watched(t, path)
	h := n.join(identity("us", 1)).hello()
	require.NoError(t, os.WriteFile(path, []byte(limited("500")), 0o600))
	require.Error(t, h.broken())
	n.revision(2)
	n.join(h.id).hello()
	n.state(h.id, "connected")
	assert.NotContains(t, n.log.String(), "to=suspect")
}

// A coordinator that starts with a lower limit than the stored one knows that the old one can still be spent.
func TestALimitLoweredByARestartIsReported(t *testing.T) {
	r := newRig(t, 500*time.Millisecond)
	first := r.start().leads()
	first.stop()
	require.NoError(t, first.ended())
	second := r.start(func(o *Options) { o.Policy = []byte(strings.ReplaceAll(testPolicy, "1000", "400")) }).leads()
	b := second.overshoot("").Quotas[0].Bound
	require.NotEmpty(t, b.Lines)
	assert.Contains(t, b.Lines[0].Text, "limit lowered: 600")
}

// Whoever names itself anything makes no label of it, and memory for holders is bounded elsewhere.
func TestRegionsThatThePolicyDoesNotNameAreNoLabels(t *testing.T) {
	n := newRigAt(t, time.Minute, fast).start(fallBack).leads()
	for i := range byte(3) {
		h := n.join(identity(fmt.Sprint("made-up-", i), i+1)).hello()
		h.cut()
		n.state(h.id, "cut_off")
	}
	body, _ := n.get("/metrics")
	assert.NotContains(t, body, "made-up")
	assert.InDelta(t, 3, n.gauge(`leasehold_link_state{region="other",state="cut_off"}`), 0)
	assert.Equal(t, 3, n.status().Links["cut_off"])
}
