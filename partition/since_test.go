package partition_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

const fallback = "partition: {mode: local_fallback, rate: {tokens: 50, per: 1s}, burst: 100, for: 10m}"

func TestSinceCountsWhatTookPlace(t *testing.T) {
	q := quota(t, "limit: {tokens: 1000, per: 1s}, "+fallback)
	past := []partition.Past{
		{Region: "eu", Holder: "eu-1", Began: time.Hour, Ended: time.Hour + 73214*ms},
		{Region: "eu", Holder: "eu-1", Began: 2 * time.Hour, Ended: 5 * time.Hour},
		{Region: "eu", Holder: "eu-2", Began: 6 * time.Hour, Open: true},
		{Region: "ap", Began: 6 * time.Hour, Ended: time.Hour}, // a clock that ran back
	}
	r := partition.Since(q, lease.DefaultDrift, past, 6*time.Hour+time.Minute)
	require.Equal(t, "eu eu-1: 100 + 1.001 x 50/s x 73.214 s = 3765\n"+
		"eu eu-1: 100 + 1.001 x 50/s x 600 s = 30130\n"+
		"eu eu-2, goes on: 100 + 1.001 x 50/s x 60 s = 3103\n"+
		"ap: 100 + 1.001 x 50/s x 0 s = 100", texts(r))
	require.Equal(t, int64(3765+30130+3103+100), r.Tokens)
	require.Equal(t, 10*time.Minute+73214*ms, r.Span, "two cuts of one holder come one after the other")
	require.Equal(t, []partition.Kind{partition.ByCut, partition.ByCut, partition.Open, partition.ByCut}, kinds(r))

	exact := quota(t, "limit: {tokens: 1000, per: 1s}")
	require.Equal(t, partition.Result{Exact: true, Allowed: 1000}, partition.Since(exact, lease.DefaultDrift, past, 7*time.Hour))
	require.Equal(t, int64(1000), partition.Since(q, lease.DefaultDrift, nil, 7*time.Hour).Allowed)
}

func kinds(r partition.Result) []partition.Kind {
	var all []partition.Kind
	for _, l := range r.Lines {
		all = append(all, l.Kind)
	}
	return all
}

// Cuts that were made one add no less than one by one, but for what each is rounded up.
func TestMergedCutsAddNoLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, ρ := inexact(t), drift(t)
		lengths := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 6).Draw(t, "lengths")
		merged := partition.Past{Region: "eu", Count: len(lengths)}
		var past []partition.Past
		for _, n := range lengths {
			past = append(past, partition.Past{Region: "eu", Began: 1, Ended: 1 + time.Duration(n)})
			merged.Ended += time.Duration(n)
		}
		one := partition.Since(q, ρ, []partition.Past{merged}, 0)
		require.GreaterOrEqual(t, one.Tokens, partition.Since(q, ρ, past, 0).Tokens-int64(len(lengths)))
		if len(lengths) == 1 || merged.Ended == 0 {
			require.Equal(t, one.Tokens, partition.Since(q, ρ, past, 0).Tokens)
		}
	})
	q := quota(t, "limit: {tokens: 1000, per: 1s}, "+fallback)
	r := partition.Since(q, 0, []partition.Past{{Region: "eu", Began: time.Minute, Ended: 2 * time.Minute, Count: 3}}, 0)
	require.Equal(t, "eu: 3 cuts x (100 + 1 x 50/s x 20 s) = 3300", texts(r))
	require.Equal(t, time.Minute, r.Span)
}

// What took place is never more than the same cuts supposed, and grows as time passes.
func TestSinceIsTheBoundOfTheSameCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, ρ := inexact(t), drift(t)
		now := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "now"))
		var past []partition.Past
		var cuts []partition.Cut
		for range rapid.IntRange(0, 5).Draw(t, "cuts") {
			began := time.Duration(rapid.Int64Range(0, int64(now)).Draw(t, "began"))
			p := partition.Past{Region: "eu", Began: began, Open: rapid.Bool().Draw(t, "open")}
			if !p.Open {
				p.Ended = time.Duration(rapid.Int64Range(int64(began), int64(now)).Draw(t, "ended"))
			}
			past = append(past, p)
			end := p.Ended
			if p.Open {
				end = now
			}
			cuts = append(cuts, partition.Cut{Region: "eu", Holders: 1, For: end - began})
		}
		r := partition.Since(q, ρ, past, now)
		require.Equal(t, partition.Bound(q, ρ, cuts).Tokens, r.Tokens)
		require.GreaterOrEqual(t, partition.Since(q, ρ, past, now+time.Minute).Tokens, r.Tokens)
	})
}

func TestWindowsCountACutInEachWindow(t *testing.T) {
	for limit, want := range map[string]int64{
		"{tokens: 1000, per: 1m, algorithm: fixed_window}":                             100 + 3003,
		"{tokens: 1000, per: 1h, algorithm: fixed_window}":                             100 + 30030, // for is less
		"{tokens: 1000, per: minute, algorithm: calendar_window, zone: Europe/Berlin}": 100 + 3003,
	} {
		q := quota(t, "limit: "+limit+", "+fallback)
		r := partition.Bound(q, lease.DefaultDrift, []partition.Cut{{Region: "eu", Holders: 1, For: time.Hour}})
		require.Equal(t, want, r.Tokens, limit)
		require.Equal(t, int64(1000), r.Allowed, "the whole window")
		require.InDelta(t, float64(want)/10, r.Percent(), 1e-9)
	}
}

func TestNoBoundAndTooMuchAreSaid(t *testing.T) {
	free := quota(t, "limit: {tokens: 10, per: 1s}, partition: {mode: fail_open, ceiling: unbounded}")
	none := partition.Bound(free, lease.DefaultDrift, nil)
	require.Equal(t, partition.Result{Allowed: 10}, none, "while nothing is cut nothing is exceeded")
	nobody := partition.Bound(free, lease.DefaultDrift, []partition.Cut{{Region: "eu"}})
	require.Equal(t, partition.Result{Allowed: 10}, nobody)
	r := partition.Bound(free, lease.DefaultDrift, []partition.Cut{{Region: "eu", Holders: 1}})
	require.True(t, r.Unbounded)
	require.False(t, r.Saturated)
	require.Equal(t, int64(math.MaxInt64), r.Tokens)
	require.Equal(t, "eu: no bound", texts(r))
	require.True(t, none.Plus(r).Unbounded)
	require.True(t, math.IsInf(none.Plus(r).Percent(), 1))

	q := quota(t, "limit: {tokens: 10, per: 1s}, partition: {mode: fail_open, ceiling: {tokens: 9007199254740992, per: 1ms}, burst: 1}")
	r = partition.Bound(q, 0, []partition.Cut{{Region: "eu", Holders: 1, For: time.Hour}})
	require.True(t, r.Saturated)
	require.False(t, r.Unbounded)
	require.Equal(t, "eu: 1 + 1 x 9007199254740992 per 1ms x 3600 s = 9223372036854775807 or more", texts(r))
	small := partition.Bound(q, 0, []partition.Cut{{Region: "eu", Holders: 1}})
	require.False(t, small.Saturated)
	require.True(t, small.Plus(r).Saturated)
}

func TestPlacesAreTheListedRegions(t *testing.T) {
	q := quota(t, "limit: {tokens: 1000, per: 1s}, "+fallback+", regions: {us: {nodes: 3}, eu: {nodes: 2}, ap: {nodes: 2}}")
	places := partition.Places(q)
	require.Equal(t, []partition.Place{{"ap", 2}, {"eu", 2}, {"us", 3}}, places)
	require.Equal(t, "us: 3 holders x (100 + 1.001 x 50/s x 60 s) = 9309\nap: 2 holders x (100 + 1.001 x 50/s x 60 s) = 6206",
		texts(partition.Worst(q, lease.DefaultDrift, places, 2, time.Minute)))
	require.Equal(t, "ap", places[0].Region, "the caller's order is left alone")
}

func TestLoweredLimit(t *testing.T) {
	const old = "{tokens: 1000, per: 1s, burst: 5000}"
	for _, c := range []struct {
		name, old, next string
		span            time.Duration
		want            string
		tokens          int64
	}{
		{"rate and burst", old, "{tokens: 400, per: 1s, burst: 2000}", 2 * time.Second, "limit lowered: 3000 + 1.001 x 600/s x 2 s = 4202", 4202},
		{"the burst alone", old, "{tokens: 1000, per: 1s, burst: 2000}", time.Minute, "limit lowered: 3000", 3000},
		{"the rate alone, by another period", old, "{tokens: 59940, per: 1m, burst: 5000}", time.Second, "limit lowered: 1.001 x 60/min x 1 s = 2", 2},
		{"at most the longest lease", "{tokens: 10, per: 1s, burst: 5}", "{tokens: 9, per: 1s, burst: 5}", time.Hour, "limit lowered: 1.001 x 1/s x 5.011 s = 6", 6},
		{"a window", "{tokens: 10, per: 1m, algorithm: fixed_window}", "{tokens: 4, per: 1m, algorithm: fixed_window}", time.Hour, "limit lowered: 6", 6},
		{"raised", "{tokens: 9, per: 1s, burst: 5}", "{tokens: 10, per: 1s, burst: 6}", time.Minute, "", 0},
		{"the same rate", "{tokens: 1, per: 1s, burst: 60}", "{tokens: 60, per: 1m, burst: 60}", time.Minute, "", 0},
		{"nothing yet of a rate", "{tokens: 10, per: 1s, burst: 5}", "{tokens: 9, per: 1s, burst: 5}", -time.Minute, "", 0},
		{"not comparable", "{tokens: 10, per: 1m, algorithm: fixed_window}", "{tokens: 4, per: 2m, algorithm: fixed_window}", 0, "", 0},
		{"another algorithm", "{tokens: 10, per: 1m, algorithm: fixed_window}", "{tokens: 4, per: 1m}", 0, "", 0},
		{"unbounded before", "{tokens: unbounded}", "{tokens: 4, per: 1m}", 0, "", 0},
		{"too large for exactness", "{tokens: 9007199254740992, per: 1ms, burst: 1}", "{tokens: 1, per: 1h, burst: 1}", 1, "limit lowered: 1.001 x 9007199254740992 per 1ms x 0.001 s = 9016206454", 9016206454},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, ok := partition.LoweredLimit(quota(t, "limit: "+c.old), quota(t, "limit: "+c.next), lease.DefaultDrift, c.span)
			require.Equal(t, c.want != "", ok)
			if !ok {
				return
			}
			require.Equal(t, c.tokens, l.Tokens)
			require.Equal(t, c.want, l.Text())
			require.Equal(t, "lowered", l.Kind.String())
		})
	}
	q := quota(t, "limit: {tokens: 10, per: 1s, burst: 5}, partition: {mode: fail_closed}, lease: {ttl: 3s}")
	require.Equal(t, lease.DefaultDrift.Outlast(3*time.Second), partition.Transition(q, lease.DefaultDrift))
	floors := quota(t, "limit: {tokens: 1000, per: 1s}, regions: {eu: {}}")
	require.Equal(t, lease.DefaultDrift.Outlast(10*time.Minute), partition.Transition(floors, lease.DefaultDrift), "floors are leased for longer")
}

// An exact quota whose limit was lowered is exact still, and says what the change adds.
func TestAResultWithALoweredLimit(t *testing.T) {
	old, next := quota(t, "limit: {tokens: 10, per: 1s, burst: 50}"), quota(t, "limit: {tokens: 10, per: 1s, burst: 20}")
	l, ok := partition.LoweredLimit(old, next, lease.DefaultDrift, time.Minute)
	require.True(t, ok)
	before := partition.Bound(next, lease.DefaultDrift, nil)
	r := before.With(l)
	require.Equal(t, int64(30), r.Tokens)
	require.True(t, r.Exact)
	require.Empty(t, before.Lines)
	require.InDelta(t, 150, r.Percent(), 1e-9)
}

// The difference of the limits is never less than what the larger one promises beyond the smaller.
func TestLoweredLimitCoversTheLargerPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() *policy.Quota {
			q := &policy.Quota{Lease: policy.Lease{TTL: time.Minute}}
			q.Limit.Tokens = rapid.Int64Range(1, 1_000_000).Draw(t, "tokens")
			q.Limit.Per = time.Duration(rapid.Int64Range(int64(ms), int64(time.Hour)).Draw(t, "per"))
			q.Limit.Burst = rapid.Int64Range(1, bucket.MaxTokens).Draw(t, "burst")
			return q
		}
		old, next := draw(), draw()
		span := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "span"))
		l, _ := partition.LoweredLimit(old, next, lease.DefaultDrift, span)
		promise := next.Limit.Promise(lease.DefaultDrift, span)
		require.GreaterOrEqual(t, promise+l.Tokens, old.Limit.Promise(lease.DefaultDrift, span))
	})
}
