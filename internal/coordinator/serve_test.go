package coordinator

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/lease"
)

func TestAHolderIsServedFromHelloToGoodbye(t *testing.T) {
	n := newRig(t, time.Second).start().leads()
	h := n.join(identity("us", 1))
	assert.Equal(t, DefaultCluster, h.welcome.Cluster)
	assert.Equal(t, lease.DefaultDrift, h.welcome.Drift)
	assert.Equal(t, DefaultReportInterval, h.welcome.ReportInterval)
	assert.Equal(t, uint64(1), h.welcome.PolicyRevision)
	assert.Contains(t, string(h.welcome.Policy), "fail_closed")

	h.hello()
	g := h.want("secret-credential", 100)
	assert.Equal(t, int64(100), g.Granted)
	assert.Equal(t, 5*time.Second, g.TTL)

	eventually(t, "the books are shown", func() bool { return n.status().Quotas[0].Granted == 100 })
	st := n.status()
	assert.Equal(t, int64(100), st.Quotas[0].Outstanding)
	assert.Zero(t, st.Quotas[0].Imbalance)
	require.Len(t, st.Sessions, 1)
	assert.Equal(t, "us", st.Sessions[0].Region)
	assert.True(t, st.Sessions[0].Greeted)
	assert.Equal(t, "100", n.metric(`leasehold_lease_granted_tokens_total{quota="api/q"}`))
	assert.Equal(t, "100", n.metric(`leasehold_lease_outstanding_tokens{quota="api/q"}`))
	assert.Equal(t, "0", n.metric(`leasehold_ledger_imbalance_tokens{quota="api/q"}`))
	assert.Equal(t, "0", n.metric(`leasehold_overshoot_bound_tokens{quota="api/q"}`))
	assert.Equal(t, "0", n.metric(`leasehold_overshoot_observed_tokens{quota="api/q"}`))
	assert.Equal(t, "1", n.metric(`leasehold_coordinator_sessions{region="us"}`))
	assert.Equal(t, "1", n.metric("leasehold_coordinator_leader"))

	h.sent += time.Millisecond
	h.send(reportsMessage(lease.ReportBatch{Session: h.welcome.Session, Sent: h.sent, Goodbye: true, Reports: []lease.Report{
		{Bucket: bucket("secret-credential"), Account: g.Account, Spent: 30, Returned: 70, GrantSeen: 100, Close: true},
	}}))
	require.ErrorIs(t, h.broken(), io.EOF, "a goodbye that was taken ends the stream in good order")
	eventually(t, "the holder is gone", func() bool { st := n.status(); return len(st.Sessions) == 0 && st.Quotas[0].Outstanding == 0 })
	assert.Equal(t, int64(30), n.status().Quotas[0].Spent)

	metrics, _ := n.get("/metrics")
	status, _ := n.get("/v1/status")
	for _, text := range []string{metrics, status, n.log.String()} {
		assert.NotContains(t, text, "secret-credential", "a key may be a credential")
	}
}

// TestTheEndOfAHolderIsLogged has holders leave in every way; whoever looks for a
// region that was killed finds its name.
func TestTheEndOfAHolderIsLogged(t *testing.T) {
	n := newRig(t, time.Second).start().leads()
	ended := func(region, reason string) {
		t.Helper()
		eventually(t, reason, func() bool {
			for line := range strings.Lines(n.log.String()) {
				if strings.Contains(line, "a holder's stream ended") && strings.Contains(line, "region="+region+" node=node") && strings.Contains(line, reason) {
					return strings.Contains(line, "level=INFO")
				}
			}
			return false
		})
	}
	killed := n.join(identity("us", 1)).hello()
	killed.cut()
	ended("us", "without a goodbye, or was cut off")

	parted := n.join(identity("eu", 2)).hello()
	require.NoError(t, parted.stream.CloseSend())
	ended("eu", "the holder ended it without a goodbye")

	polite := n.join(identity("ap", 3)).hello()
	polite.send(reportsMessage(lease.ReportBatch{Session: polite.welcome.Session, Sent: 1, Goodbye: true}))
	ended("ap", "the holder said goodbye")
}

func TestStrandedTokensAreThoseOfTheUnconnected(t *testing.T) {
	n := newRig(t, time.Second).start().leads()
	h := n.join(identity("us", 1)).hello()
	h.want("k", 50)
	require.NoError(t, h.stream.CloseSend())
	require.ErrorIs(t, h.broken(), io.EOF)
	eventually(t, "what nobody connected holds is shown", func() bool {
		return n.metric(`leasehold_stranded_tokens{quota="api/q"}`) == "50"
	})
}

func TestOvershootSaysBoundObservedAndMargin(t *testing.T) {
	n := newRig(t, time.Second).start(func(o *Options) {
		o.Policy = []byte(testPolicy + `  - name: floored
    match: {key: "*"}
    limit: {tokens: 1000, per: 1s}
    partition: {mode: local_floor, floor: 10%}
    regions: {us: {}, eu: {}}
  - name: open
    match: {key: x}
    limit: {tokens: unbounded}
`)
	}).leads()
	r := n.overshoot("")
	assert.Equal(t, overshoot.Coordinator, r.Source)
	assert.True(t, r.Leads)
	assert.WithinDuration(t, time.Now(), *r.Since, time.Minute)
	assert.EqualValues(t, 1, r.PolicyRevision)
	assert.EqualValues(t, 1000, r.DriftPPM)
	require.Len(t, r.Quotas, 3)
	for i, id := range []string{"api/floored", "api/open", "api/q"} {
		q := r.Quotas[i]
		assert.Equal(t, id, q.Quota)
		if id == "api/open" {
			assert.Nil(t, q.Bound.Tokens, "law 15: no bound is said as such")
			assert.True(t, q.Bound.Unbounded)
			continue
		}
		assert.True(t, q.Exact)
		assert.Zero(t, *q.Bound.Tokens)
		assert.Zero(t, *q.Margin)
		assert.Equal(t, overshoot.Observed{}, *q.Observed)
	}
	assert.Equal(t, "1000 per 1s, burst 1000", r.Quotas[2].Limit)
	assert.Len(t, n.overshoot("?quota=api/q").Quotas, 1)
}

func TestHealthAndPages(t *testing.T) {
	n := newRig(t, time.Second).start().leads()
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": "leader: leading in epoch 1.", "/readyz?verbose": "policy revision: 1",
		"/debug/pprof/cmdline": "coordinator", "/metrics": "leasehold_build_info",
	} {
		body, code := n.get(path)
		assert.Equal(t, 200, code, path)
		assert.Contains(t, body, want, path)
	}
	_, code := n.get("/nothing")
	assert.Equal(t, 404, code)
	assert.Equal(t, "0", n.metric(`leasehold_coordinator_step_downs_total{reason="lost_history"}`), "an increase can be seen only from there")

	conn, err := grpc.NewClient(n.rpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	health := grpc_health_v1.NewHealthClient(conn)
	for _, service := range []string{"", "leasehold.v1.Coordinator"} {
		r, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		require.NoError(t, err)
		assert.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, r.Status, service)
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	r := newRig(t, time.Second)
	sound := Options{Listener: listen(t), HTTPListener: listen(t), Backing: Backing{Store: r.store, Elector: r.store}, Clock: r.clock, Policy: []byte(testPolicy)}
	defer sound.Listener.Close()
	defer sound.HTTPListener.Close()
	for _, c := range []struct {
		want string
		do   func(*Options)
	}{
		{"cluster", func(o *Options) { o.Cluster = "a/b" }},
		{"cluster", func(o *Options) { o.Cluster = strings.Repeat("x", 65) }},
		{"listener", func(o *Options) { o.HTTPListener = nil }},
		{"store", func(o *Options) { o.Backing = Backing{} }},
		{"clock", func(o *Options) { o.Clock = nil }},
		{"report interval 1µs", func(o *Options) { o.ReportInterval = time.Microsecond }},
		{"drift -1", func(o *Options) { o.Drift = -1 }},
		{"drift 100001", func(o *Options) { o.Drift = 100_001 }},
		{"bucket maximum -1", func(o *Options) { o.MaxBuckets = -1 }},
		{"stream maximum -1", func(o *Options) { o.MaxStreams = -1 }},
		{"negative", func(o *Options) { o.DrainTimeout = -1 }},
		{"policy:1:1", func(o *Options) { o.Policy = nil }},
	} {
		o := sound
		o.Registry = nil
		c.do(&o)
		_, err := New(o)
		require.ErrorContains(t, err, c.want)
	}
}
