package overshoot

import (
	"encoding/json"
	"math"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

const text = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: browse
    match: {key: "*"}
    limit: {tokens: 1000, per: 1s}
    partition: {mode: local_fallback, rate: {tokens: 50, per: 1s}, burst: 100, for: 10m}
    regions: {us: {}, eu: {nodes: 2}}
  - name: login
    match: {user: "*"}
    limit: {tokens: 10, per: 1s}
    partition: {mode: fail_closed}
    regions: {us: {}, eu: {}, ap: {}}
  - name: open
    match: {key: x}
    limit: {tokens: unbounded}
`

func set(t *testing.T) *policy.Set {
	s, err := policy.Parse("policy.yaml", []byte(text))
	require.NoError(t, err)
	return s
}

func TestSecondsAreExact(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", time.Nanosecond: "0.000000001", 90 * time.Second: "90", 1500 * time.Millisecond: "1.5", -time.Minute: "-60",
		math.MaxInt64: "9223372036.854775807", math.MinInt64 + 1: "-9223372036.854775807",
	} {
		got, err := json.Marshal(Seconds(d))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
		var back Seconds
		require.NoError(t, json.Unmarshal(got, &back))
		assert.Equal(t, d, back.Duration())
	}
	for _, bad := range []string{`"1"`, `1e30`, `"x"`, `true`, `[]`} {
		require.ErrorIs(t, json.Unmarshal([]byte(bad), new(Seconds)), errSeconds, bad)
	}
}

func TestParseQueryNamesTheParameter(t *testing.T) {
	for query, want := range map[string]string{
		"x=1":            `"x"`,
		"for=":           `for: ""`,
		"for=-1s":        `for: "-1s"`,
		"for=10":         `for: "10"`,
		"for=1s&for=2s":  "for: is given 2 times",
		"for=900000h":    "for:",
		"cut=eu":         "cut: needs for",
		"cut=&for=1s":    "cut: the name",
		"cut=eu,&for=1s": "cut: the name",
		"quota=":         "quota: is empty",
	} {
		v, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = ParseQuery(v)
		require.ErrorIs(t, err, ErrQuery, query)
		assert.ErrorContains(t, err, want, query)
	}
	v, err := url.ParseQuery("cut=eu,+ap&cut=eu&for=10m&quota=api/a&quota=api/b")
	require.NoError(t, err)
	q, err := ParseQuery(v)
	require.NoError(t, err)
	assert.Equal(t, Query{Quotas: []string{"api/a", "api/b"}, Cut: []string{"eu", "ap"}, For: 10 * time.Minute, Asked: true}, q)
}

func TestCheckNamesWhatIsNotThere(t *testing.T) {
	s := set(t)
	places := partition.Known(s, map[string]int{"sa": 1})
	require.NoError(t, (&Query{Cut: []string{"sa", "ap"}, Quotas: []string{"api/login"}}).Check(s, places))
	require.ErrorContains(t, (&Query{Cut: []string{"xx"}}).Check(s, places), `cut: no quota lists a region "xx" and none of its processes is known; there are ap, eu, sa, us`)
	require.ErrorContains(t, (&Query{Quotas: []string{"browse"}}).Check(s, places), `quota: the policy has no "browse"`)
}

func TestSupposedCutsCountTheLargerNumberOfHolders(t *testing.T) {
	s := set(t)
	places := partition.Known(s, map[string]int{"us": 3, "eu": 1})
	assert.Equal(t, []partition.Place{{Region: "ap", Holders: 1}, {Region: "eu", Holders: 2}, {Region: "us", Holders: 3}}, places)
	q := Query{Cut: []string{"us", "ap"}, For: 10 * time.Minute, Asked: true}
	browse := s.Quota("api/browse")
	bound := partition.Bound(browse, lease.DefaultDrift, nil)
	out := NewQuota(browse, &bound, nil)
	q.Suppose(&out, browse, lease.DefaultDrift, places)
	const each = 100 + 30030 // 100 + 1.001 x 50/s x 600 s
	require.NotNil(t, out.Given)
	assert.Equal(t, []Place{{"ap", 1}, {"us", 3}}, out.Given.Cut)
	assert.EqualValues(t, 4*each, *out.Given.Bound.Tokens)
	require.Len(t, out.Worst, 3)
	for i, holders := range []int64{3, 5, 6} {
		assert.Equal(t, holders*each, *out.Worst[i].Bound.Tokens)
	}
	assert.Equal(t, "us: 3 holders x (100 + 1.001 x 50/s x 600 s) = 90390", out.Worst[0].Bound.Lines[0].Text)

	login := s.Quota("api/login")
	bound = partition.Bound(login, lease.DefaultDrift, nil)
	out = NewQuota(login, &bound, nil)
	q.Suppose(&out, login, lease.DefaultDrift, places)
	assert.True(t, out.Exact)
	assert.Zero(t, *out.Worst[2].Bound.Tokens, "the exact modes add nothing, whatever is cut")
}

func TestABodyCanBeReadBack(t *testing.T) {
	s := set(t)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := Report{Source: Coordinator, Leads: true, Since: &now, At: now, DriftPPM: 1000, Quotas: []Quota{}}
	for _, id := range []string{"api/browse", "api/login", "api/open"} {
		q := s.Quota(id)
		bound := partition.Bound(q, lease.DefaultDrift, []partition.Cut{{Region: "eu", Holders: 2, For: time.Minute}})
		r.Quotas = append(r.Quotas, NewQuota(q, &bound, &lease.Observed{High: 5, HighAt: now}))
	}
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, r, back)
	assert.EqualValues(t, 6206-5, *back.Quotas[0].Margin)
	assert.Nil(t, back.Quotas[2].Bound.Tokens)
	assert.Nil(t, back.Quotas[2].Margin)
	assert.True(t, back.Quotas[2].Bound.Unbounded)
	assert.Contains(t, string(data), `"low_at":null`)
}
