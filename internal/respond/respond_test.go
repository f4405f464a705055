package respond

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/policy"
)

const head = "apiVersion: leasehold/v1\ndomain: api\n"

// quota returns the quota api/NAME with a limit.
func quota(t *testing.T, name, limit string) *policy.Quota {
	t.Helper()
	set, err := policy.Parse("p", []byte(head+"quotas: [{name: "+name+", match: {}, limit: "+limit+"}]"))
	require.NoError(t, err)
	return set.Quota("api/" + name)
}

// item is one item of a field, as a parser of structured fields reads it.
type item struct {
	name   string
	values map[string]int64
}

// parse reads a field with a parser that is not ours.
func parse(t *testing.T, h http.Header, field string) []item {
	t.Helper()
	list, err := httpsfv.UnmarshalList(h.Values(field))
	require.NoError(t, err, h.Get(field))
	var items []item
	for _, member := range list {
		i, ok := member.(httpsfv.Item)
		require.True(t, ok)
		name, ok := i.Value.(string)
		require.True(t, ok, "a String, not a Token")
		read := item{name, map[string]int64{}}
		for _, p := range i.Params.Names() {
			v, _ := i.Params.Get(p)
			read.values[p], ok = v.(int64)
			require.True(t, ok, p)
		}
		items = append(items, read)
	}
	return items
}

func TestFieldsHaveAnItemForEveryQuota(t *testing.T) {
	all := []limiter.Standing{
		{Quota: quota(t, "minute", "{tokens: 10000, per: 1m}"), Limit: 10000, Remaining: 0, Reset: time.Minute, Short: true, RetryAfter: 6 * time.Millisecond},
		{Quota: quota(t, "Day_1.x-y", "{tokens: 7, per: day, algorithm: calendar_window}"), Limit: 7, Remaining: 3, Reset: 3600*time.Second + 1},
	}
	d := limiter.Decision{Reason: limiter.Exhausted, Quota: "api/minute", Limit: 10000, Reset: time.Minute, RetryAfter: 6 * time.Millisecond}
	for _, legacy := range []bool{false, true} {
		h := http.Header{}
		f := Form{Legacy: legacy}
		f.Fields(h, "api", &d, all, time.Date(2026, 2, 10, 23, 0, 0, 0, time.UTC))
		assert.Equal(t, []item{{"minute", map[string]int64{"q": 10000, "w": 60}}, {"Day_1.x-y", map[string]int64{"q": 7, "w": 86400}}}, parse(t, h, "RateLimit-Policy"))
		assert.Equal(t, []item{{"minute", map[string]int64{"r": 0, "t": 1}}, {"Day_1.x-y", map[string]int64{"r": 3, "t": 3601}}}, parse(t, h, "RateLimit"))
		if !legacy {
			assert.Len(t, h, 2)
			continue
		}
		assert.Equal(t, []string{"10000", "0", "1"}, []string{h.Get("X-RateLimit-Limit"), h.Get("X-RateLimit-Remaining"), h.Get("X-RateLimit-Reset")})
	}
	h := http.Header{}
	(&Form{Legacy: true}).Fields(h, "api", &limiter.Decision{Allowed: true, Reason: limiter.NoQuota}, nil, time.Now())
	assert.Empty(t, h, "without a quota there is nothing to tell")
}

// TestKEY07_NoNameBreaksAField is about the names of rules, which are made of
// what others configured.
func TestKEY07_NoNameBreaksAField(t *testing.T) {
	for name, want := range map[string]string{
		`user_"x"\y`: `user_"x"\y`, "a\r\nSet-Cookie: b": "a%0D%0ASet-Cookie: b", "\u00e9\x7f": "%C3%A9%7F", "a, b;r=1": "a, b;r=1", "": "",
	} {
		q := *quota(t, "q", "{tokens: 1, per: 1s}")
		q.ID = "api/" + name
		h := http.Header{}
		(&Form{}).Fields(h, "api", &limiter.Decision{}, []limiter.Standing{{Quota: &q}}, time.Now())
		assert.Equal(t, []item{{want, map[string]int64{"q": 1, "w": 1}}}, parse(t, h, "RateLimit-Policy"))
		assert.Equal(t, []item{{want, map[string]int64{"r": 0, "t": 0}}}, parse(t, h, "RateLimit"))
	}
}

// TestIntegersFitTheirField is about limits above what a structured field can
// say: 2^53 has a digit too many.
func TestIntegersFitTheirField(t *testing.T) {
	q := quota(t, "vast", "{tokens: 9007199254740992, per: 1s}")
	h := http.Header{}
	(&Form{Legacy: true}).Fields(h, "api", &limiter.Decision{Quota: "api/vast"},
		[]limiter.Standing{{Quota: q, Limit: 1 << 53, Remaining: 1 << 53, Reset: math.MaxInt64}}, time.Now())
	assert.Equal(t, []item{{"vast", map[string]int64{"q": 999_999_999_999_999, "w": 1}}}, parse(t, h, "RateLimit-Policy"))
	assert.Equal(t, []item{{"vast", map[string]int64{"r": 999_999_999_999_999, "t": 9223372037}}}, parse(t, h, "RateLimit"))
	assert.Equal(t, "999999999999999", h.Get("X-RateLimit-Limit"))
	assert.Equal(t, "999999999999999", h.Get("X-RateLimit-Remaining"))
}

func TestAdvertisedLimits(t *testing.T) {
	now := time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	for limit, want := range map[string][2]int64{
		"{tokens: 10000, per: 1m}":                            {10000, 60},
		"{tokens: 1000, per: 1s, burst: 50}":                  {1000, 1},
		"{tokens: 100, per: 1m, burst: 500}":                  {500, 300},
		"{tokens: 10, per: 100ms}":                            {100, 1},
		"{tokens: 10, per: 1500ms}":                           {13, 2},
		"{tokens: 7, per: 1h, algorithm: fixed_window}":       {7, 3600},
		"{tokens: 7, per: month, algorithm: calendar_window}": {7, 28 * 86400},
		"{tokens: 7, per: day, algorithm: calendar_window}":   {7, 86400},
		"{tokens: 1, per: 10000s}":                            {1, 10000},
	} {
		s := limiter.Standing{Quota: quota(t, "q", limit), Reset: 12 * time.Hour}
		tokens, window := advertised(&s, now)
		assert.Equal(t, want, [2]int64{tokens, window}, limit)
		assert.GreaterOrEqual(t, tokens, s.Quota.Limit.Capacity(), "what remains is never above it")
	}
}

// TestCAL03_TheWindowAdvertisedIsTheOneThatEndsAtReset also when the clock is
// read on the other side of the boundary.
func TestCAL03_TheWindowAdvertisedIsTheOneThatEndsAtReset(t *testing.T) {
	end := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) // of February
	q := quota(t, "q", "{tokens: 7, per: month, algorithm: calendar_window}")
	for _, late := range []time.Duration{-time.Second, 0, time.Nanosecond, time.Second} {
		s := limiter.Standing{Quota: q, Reset: time.Millisecond}
		_, window := advertised(&s, end.Add(-time.Millisecond).Add(late))
		assert.Equal(t, int64(28*86400), window, "%v", late)
	}
}

func TestHDR09_RetryAfterIsSpreadUpward(t *testing.T) {
	for _, c := range []struct {
		exact       time.Duration
		random      float64
		least, most int64
	}{
		{time.Nanosecond, 0.99, 1, 1},
		{time.Millisecond, 0.99, 1, 1},
		{time.Second, 0.99, 1, 1},
		{1001 * time.Millisecond, 0, 2, 2},
		{1001 * time.Millisecond, 0.99, 3, 3},
		{9001 * time.Millisecond, 0, 10, 10},
		{9001 * time.Millisecond, 0.99, 11, 11},
		{100 * time.Second, 0.99, 110, 110},
		{100 * time.Second, 0.5, 105, 105},
		{10000 * time.Second, 0.999999, 11000, 11000},
	} {
		f := Form{Random: func() float64 { return c.random }}
		got := f.RetryAfter(c.exact)
		assert.GreaterOrEqual(t, got, c.least, c.exact)
		assert.LessOrEqual(t, got, c.most, c.exact)
		assert.GreaterOrEqual(t, time.Duration(got)*time.Second, c.exact, "never before the truth")
	}
}

// TestHDR09_TheHerdComesBackSpreadOut has a thousand clients denied over a
// window, of which each comes back when it was told: with and without jitter.
func TestHDR09_TheHerdComesBackSpreadOut(t *testing.T) {
	const window = 30 * time.Second
	peak := func(f Form) (most int) {
		random, arrivals := rand.New(rand.NewPCG(1, 2)), map[time.Duration]int{}
		for range 1000 {
			denied := time.Duration(random.Int64N(int64(window)))
			back := denied + time.Duration(f.RetryAfter(window-denied))*time.Second
			require.GreaterOrEqual(t, back, window)
			slot := back / (100 * time.Millisecond)
			arrivals[slot]++
			most = max(most, arrivals[slot])
		}
		return most
	}
	without, with := peak(Form{Random: func() float64 { return 0 }}), peak(Form{Random: rand.New(rand.NewPCG(3, 4)).Float64})
	assert.Less(t, with, without*2/3, "the most that come in a tenth of a second")
	assert.Less(t, without, 150, "the rounding alone spreads over a second")
}

func TestSecondsAreExact(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", time.Nanosecond: "0.000000001", 1500 * time.Millisecond: "1.5", time.Hour: "3600", 10*time.Second + 6*time.Millisecond: "10.006",
	} {
		assert.Equal(t, want, Seconds(d).String())
	}
}

func TestDenialsAreProblems(t *testing.T) {
	short := []limiter.Standing{
		{Quota: quota(t, "a", "{tokens: 1, per: 1s}"), Short: true},
		{Quota: quota(t, "b", "{tokens: 1, per: 1s}")},
		{Quota: quota(t, "c", "{tokens: 1, per: 1s}"), Short: true},
	}
	f := Form{Random: func() float64 { return 0 }}
	for _, c := range []struct {
		d           limiter.Decision
		kind, title string
		after       string
	}{
		{limiter.Decision{Reason: limiter.Exhausted, RetryAfter: time.Millisecond}, quotaExceeded, "Quota Exceeded", "1"},
		{limiter.Decision{Reason: limiter.Impossible, Most: 5}, quotaExceeded, "Quota Exceeded", ""},
		{limiter.Decision{Reason: limiter.NoLease, RetryAfter: time.Second}, reducedCapacity, "Temporary Reduced Capacity", "1"},
		{limiter.Decision{Reason: limiter.CutOff, RetryAfter: 90 * time.Second}, reducedCapacity, "Temporary Reduced Capacity", "90"},
		{limiter.Decision{Reason: limiter.Unmatched}, "about:blank", "Too Many Requests", ""},
	} {
		w := httptest.NewRecorder()
		all := short
		if c.d.Reason == limiter.Unmatched {
			all = nil
		}
		f.Deny(w, http.StatusTooManyRequests, "api", &c.d, all)
		var body map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		assert.Equal(t, http.StatusTooManyRequests, w.Code)
		assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		assert.Equal(t, c.kind, body["type"])
		assert.Equal(t, c.title, body["title"])
		assert.Equal(t, c.after, w.Header().Get("Retry-After"))
		assert.Equal(t, false, body["allowed"])
		if c.d.Reason == limiter.Unmatched {
			assert.NotContains(t, body, "violated-policies")
		} else {
			assert.Equal(t, []any{"a", "c"}, body["violated-policies"])
		}
	}
}

func TestProblemsSayWhy(t *testing.T) {
	for status, title := range map[int]string{400: "Bad Request", StatusClientGone: "Client Closed Request"} {
		w := httptest.NewRecorder()
		Problem(w, status, "why")
		assert.Equal(t, status, w.Code)
		assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		assert.JSONEq(t, `{"type": "about:blank", "title": "`+title+`", "status": `+strconv.Itoa(status)+`, "detail": "why"}`, w.Body.String())
	}
}
