package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/demo/trace"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/policy"
)

func parse(t *testing.T, text string) *policy.Set {
	t.Helper()
	set, err := policy.Parse("p.yaml", []byte(text))
	require.NoError(t, err)
	return set
}

const twoDomains = `apiVersion: leasehold/v1
domain: z
quotas:
  - name: b
    match: {plan: free, tenant: "*", user: "*"}
    limit: {tokens: 60, per: 1m, burst: 10}
  - name: a
    match: {user: "*"}
    limit: {tokens: 10, algorithm: fixed_window, per: 1m}
---
apiVersion: leasehold/v1
domain: a
quotas:
  - name: all
    match: {}
    limit: {tokens: unbounded}
`

func TestTheTraceKeyIsTheFirstWildcardOfTheFirstQuota(t *testing.T) {
	set := parse(t, twoDomains)
	g, err := aim(set, "")
	require.NoError(t, err)
	assert.Equal(t, "z/b", g.quota.ID)
	assert.Equal(t, "tenant", g.entry)
	assert.Equal(t, []policy.Pair{{Key: "tenant", Value: "x"}, {Key: "plan", Value: "free"}, {Key: "user", Value: "demo"}}, g.descriptor("x"))
	assert.InDelta(t, 1, g.rate(), 1e-9)
	n, bounded := g.bound(nil)
	assert.True(t, bounded)
	assert.Zero(t, n)

	g, err = aim(set, "user")
	require.NoError(t, err)
	assert.Equal(t, []policy.Pair{{Key: "user", Value: "x"}, {Key: "plan", Value: "free"}, {Key: "tenant", Value: "demo"}}, g.descriptor("x"))

	none := "apiVersion: leasehold/v1\ndomain: a\nquotas: []\n"
	_, err = aim(parse(t, none), "")
	require.ErrorContains(t, err, "no quota")
	_, err = aim(parse(t, twoDomains[strings.Index(twoDomains, "---\n")+4:]), "")
	require.ErrorContains(t, err, "--trace-entry")
	g, err = aim(parse(t, twoDomains[strings.Index(twoDomains, "---\n")+4:]), "k")
	require.NoError(t, err)
	assert.Zero(t, g.rate())
}

func TestRateOfACalendarWindow(t *testing.T) {
	g, err := aim(parse(t, `apiVersion: leasehold/v1
domain: a
quotas:
  - name: q
    match: {k: "*"}
    limit: {tokens: 86400, algorithm: calendar_window, per: day}
`), "")
	require.NoError(t, err)
	assert.InDelta(t, 1, g.rate(), 1e-9)
}

func TestTheSamplePolicyIsTheExample(t *testing.T) {
	example, err := os.ReadFile("../../examples/api.yaml")
	require.NoError(t, err)
	require.Equal(t, string(example), string(samplePolicy))
	g, err := aim(parse(t, string(samplePolicy)), "")
	require.NoError(t, err)
	assert.Equal(t, "api_key", g.entry)
	assert.Equal(t, "10000 per 1m0s, burst 10000", g.quota.Limit.String())
}

func TestThePeakMovesAndNothingIsLost(t *testing.T) {
	hot := appetites()[0]
	for turn, want := range []int{0, 1, 2, 0} {
		since := time.Duration(turn) * move
		sum := 0.0
		for i := range 3 {
			s := hot.share(since, i, 3)
			sum += s
			assert.Equal(t, i == want, s == hot.peak)
		}
		assert.InDelta(t, 1, sum, 1e-9)
	}
	assert.InDelta(t, 1, hot.share(0, 0, 1), 1e-9)
	assert.Greater(t, hot.times, 1.0, "the demand for the hot key is above its limit")
}

func TestSourcesAreAnOpenLoop(t *testing.T) {
	g, err := aim(parse(t, string(samplePolicy)), "")
	require.NoError(t, err)
	all := sources(&g, []string{"us", "eu", "ap"}, 1)
	require.Len(t, all, 9)
	assert.Equal(t, int64(1), all[0].request.cost)
	assert.InDelta(t, 8*10000.0/60*0.8, all[0].rate(0), 1e-6)
	assert.Greater(t, sources(&g, []string{"us"}, 60)[0].request.cost, int64(1), "few larger requests for a large demand")

	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	var asked atomic.Int64
	all[0].run(ctx, clock.New(1), func(context.Context, request) { asked.Add(1) })
	assert.Positive(t, asked.Load())
}

func TestReplayKeepsTheTimesOfATrace(t *testing.T) {
	path := t.TempDir() + "/t.csv"
	require.NoError(t, os.WriteFile(path, []byte("time_ms,region,key,cost\n5000,us,a,1\n5040,eu,b,2\n5100,us,c,3\n"), 0o600))
	g, err := aim(parse(t, string(samplePolicy)), "")
	require.NoError(t, err)
	c := clock.New(2)
	begin := c.Mono()
	var sum atomic.Int64
	behind, err := replay(t.Context(), c, path, &g, func(_ context.Context, q request) {
		sum.Add(q.cost)
		assert.Equal(t, g.descriptor(q.key), q.descriptor)
	})
	require.NoError(t, err)
	assert.Equal(t, int64(6), sum.Load())
	assert.GreaterOrEqual(t, c.Mono()-begin, 100*time.Millisecond)
	assert.GreaterOrEqual(t, behind, time.Duration(0))

	ctx, stop := context.WithCancel(t.Context())
	_, err = replay(ctx, c, path, &g, func(context.Context, request) { stop() })
	require.NoError(t, err, "to be stopped is no failure")
	_, err = replay(t.Context(), c, path+"x", &g, nil)
	require.Error(t, err)
}

// moments is a clock that a test moves.
type moments struct{ at time.Duration }

func (m *moments) now() lease.Moment {
	return lease.Moment{Mono: m.at, Wall: time.Unix(1_000_000_000, 0).Add(m.at)}
}

func TestTheScoreIsWhatClientsSaw(t *testing.T) {
	set := parse(t, twoDomains)
	m := &moments{}
	s := newScore(m.now, set.Domain("z"), 0, []string{"us", "eu"})
	g, err := aim(set, "user")
	require.NoError(t, err)
	_, some := s.over()
	require.False(t, some)
	answer := func(key string, cost int64, allowed bool, failed error) {
		q := request{region: "us", key: key, descriptor: g.descriptor(key), cost: cost}
		sent := s.send()
		m.at += time.Millisecond
		s.receive(q, sent, limiter.Decision{Allowed: allowed}, failed)
	}
	answer("a", 7, true, nil)
	answer("a", 5, false, nil)
	answer("b", 1, false, limiter.ErrNotReady)
	s.advance()
	over, some := s.over()
	require.True(t, some)
	require.Equal(t, int64(7-10), over, "the window of 10 and the bucket of 10")
	answer("a", 4, true, nil)
	s.advance()
	over, _ = s.over()
	require.Equal(t, int64(1), over, "11 in one window")

	regions, sum := s.byRegion()
	assert.Equal(t, count{Admitted: 2, Denied: 1, Failed: 1, AdmittedTokens: 11, DeniedTokens: 5}, sum)
	assert.Equal(t, sum, regions["us"])
	assert.Equal(t, count{}, regions["eu"])
	top, rest, others := s.byKey(1)
	assert.Equal(t, []keyCount{{"a", count{Admitted: 2, Denied: 1, AdmittedTokens: 11, DeniedTokens: 5}}}, top)
	assert.Equal(t, count{Failed: 1}, rest)
	assert.Equal(t, 1, others)
}

func TestRequestsUnderWayAreWaitedFor(t *testing.T) {
	set := parse(t, string(samplePolicy))
	g, err := aim(set, "")
	require.NoError(t, err)
	m := &moments{}
	s := newScore(m.now, set.Domain("api"), 0, nil)
	slow := s.send()
	for range 100 {
		m.at += time.Second
		s.advance()
	}
	require.Len(t, s.under, 101)
	s.receive(request{region: "us", key: "a", descriptor: g.descriptor("a"), cost: 10_001}, slow, limiter.Decision{Allowed: true}, nil)
	s.advance()
	require.Len(t, s.under, 1)
	m.at += time.Second
	s.advance()
	over, _ := s.over()
	require.Negative(t, over, "it may have been decided at any time in 100 seconds")
}

func TestText(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		assert.Equal(t, want, number(n))
	}
	assert.Equal(t, "1m0s", duration(60.2))
	assert.Equal(t, "1.5s", duration(1.51))
	assert.Equal(t, "abc?", cut("abc\x1b", 10))
	assert.Equal(t, "a?...", cut("a\xff345678", 5))
}

func TestScreen(t *testing.T) {
	v := snapshot{
		at: time.Second, total: count{Admitted: 1500, Denied: 2},
		regions: []placeView{{name: "us", count: count{Admitted: 1500, Denied: 2, Failed: 1}, leased: 7, connected: true}, {name: "eu"}},
		figures: figures{leased: 7, stranded: 3, bounded: true, over: -12, judged: true},
	}
	var plain bytes.Buffer
	s := newScreen(&plain, false)
	s.show(v)
	v.at, v.regions[0].count.Admitted = 2*time.Second, 1600
	s.show(v)
	s.restore()
	assert.Equal(t, `t=1s  us admitted=1500 denied=2 failed=1  eu admitted=0 denied=0 cut-off  leased=7 stranded=3 bound=0 observed=0 margin=12
t=2s  us admitted=100 denied=0  eu admitted=0 denied=0 cut-off  leased=7 stranded=3 bound=0 observed=0 margin=12
`, plain.String())

	var drawn bytes.Buffer
	s = newScreen(&drawn, true)
	s.show(v)
	lines := strings.Count(drawn.String(), "\n")
	s.show(v)
	s.restore()
	text := drawn.String()
	assert.True(t, strings.HasPrefix(text, hideCursor))
	assert.True(t, strings.HasSuffix(text, showCursor))
	assert.Contains(t, text, "\x1b["+number(int64(lines))+"A\r", "the second table is drawn over the first")
	assert.Contains(t, text, "bound 0, observed 0, margin 12")
	assert.Contains(t, text, "cut off")
	assert.Equal(t, "none", (&figures{}).boundText())
	assert.Equal(t, "-", (&figures{bounded: true}).marginText())
}

func TestReportOfAnythingIsReadable(t *testing.T) {
	r := Report{Total: Counts{Failed: 1}, OtherKeys: OtherKeys{Keys: 3}, BehindSeconds: 2, Keys: []KeyReport{{Key: "k\n"}}}
	var out bytes.Buffer
	r.Text(&out)
	assert.Contains(t, out.String(), "bound none")
	assert.Contains(t, out.String(), "3 other keys")
	assert.Contains(t, out.String(), "too slow")
	out.Reset()
	require.NoError(t, r.JSON(&out))
	var back map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	assert.Contains(t, back, "promise_kept")
	assert.Nil(t, back["bound_tokens"])
}

func TestTheLogDoesNotRepeatItself(t *testing.T) {
	var out bytes.Buffer
	h := sparing{slog.NewTextHandler(&out, nil), &said{}}
	log := slog.New(h).With("region", "us").WithGroup("g")
	for range 100 {
		log.Warn("lost")
	}
	log.Warn("other")
	assert.Equal(t, sparingCount, strings.Count(out.String(), "msg=lost"))
	assert.Equal(t, 1, strings.Count(out.String(), "not_repeated_for=10s"))
	assert.Equal(t, 1, strings.Count(out.String(), "msg=other"))
	later := slog.NewRecord(time.Now().Add(time.Minute), slog.LevelWarn, "lost", 0)
	require.NoError(t, h.Handle(t.Context(), later))
	assert.Equal(t, sparingCount+1, strings.Count(out.String(), "msg=lost"))
}

func TestTheExamplesAreUnderstood(t *testing.T) {
	policies, err := filepath.Glob("../../examples/*.yaml")
	require.NoError(t, err)
	require.Len(t, policies, 3)
	for _, path := range policies {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = policy.Parse(path, data)
		require.NoError(t, err)
	}
	traces, err := filepath.Glob("../../examples/traces/*.csv")
	require.NoError(t, err)
	require.Len(t, traces, 2)
	for _, path := range traces {
		s, err := trace.Summarize(path)
		require.NoError(t, err)
		assert.Equal(t, []string{"ap", "eu", "us"}, s.Regions)
	}
}
