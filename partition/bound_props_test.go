package partition_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

// inexact draws a quota in one of the two modes, of any size, with a bucket or with windows.
func inexact(t *rapid.T) *policy.Quota {
	tokens := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, bucket.MaxTokens))
	per := rapid.OneOf(rapid.Int64Range(int64(time.Millisecond), int64(time.Minute)), rapid.Int64Range(int64(time.Millisecond), int64(8784*time.Hour)))
	q := &policy.Quota{ID: "api/q", Limit: policy.Limit{Tokens: tokens.Draw(t, "tokens"), Per: time.Duration(per.Draw(t, "per"))}}
	q.Partition = policy.Partition{
		Mode: policy.FailOpen, Burst: tokens.Draw(t, "burst"), Rate: bucket.Rate{Tokens: tokens.Draw(t, "rate"), Per: time.Duration(per.Draw(t, "rate per"))},
	}
	if rapid.Bool().Draw(t, "fallback") {
		q.Partition.Mode, q.Partition.For = policy.LocalFallback, time.Duration(rapid.Int64Range(int64(time.Second), int64(168*time.Hour)).Draw(t, "for"))
	}
	if rapid.Bool().Draw(t, "windowed") {
		q.Limit.Algorithm = policy.FixedWindow
	} else {
		q.Limit.Burst = tokens.Draw(t, "limit burst")
	}
	return q
}

func cut(t *rapid.T) partition.Cut {
	length := rapid.OneOf(rapid.Int64Range(0, int64(time.Hour)), rapid.Int64())
	return partition.Cut{
		Region: rapid.SampledFrom([]string{"us", "eu", "ap"}).Draw(t, "region"), Holders: rapid.IntRange(-1, 40).Draw(t, "holders"),
		For: time.Duration(length.Draw(t, "for")), Count: rapid.OneOf(rapid.IntRange(-1, 4), rapid.IntRange(0, math.MaxInt)).Draw(t, "count"),
	}
}

func drift(t *rapid.T) lease.Drift { return lease.Drift(rapid.Int64Range(0, 100_000).Draw(t, "drift")) }

// twin adds up the bound in rational numbers, as the design has it.
func twin(q *policy.Quota, ρ lease.Drift, cuts []partition.Cut) *big.Int {
	sum, p := new(big.Int), q.Partition
	for _, c := range cuts {
		d := max(0, c.For)
		if p.For != 0 && p.For < d {
			d = p.For
		}
		if q.Limit.Algorithm == policy.FixedWindow && q.Limit.Per < d {
			d = q.Limit.Per
		}
		one := big.NewRat(p.Rate.Tokens, int64(p.Rate.Per))
		one.Mul(one, big.NewRat(int64(d), 1)).Mul(one, big.NewRat(1_000_000+int64(ρ), 1_000_000))
		each, rest := new(big.Int).QuoRem(one.Num(), one.Denom(), new(big.Int))
		if rest.Sign() > 0 {
			each.Add(each, big.NewInt(1))
		}
		each.Add(each, big.NewInt(p.Burst))
		each.Mul(each, big.NewInt(int64(max(0, c.Holders)))).Mul(each, big.NewInt(int64(max(1, c.Count))))
		sum.Add(sum, each)
	}
	return sum
}

func TestBoundIsThatOfTheTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, ρ, cuts := inexact(t), drift(t), rapid.SliceOfN(rapid.Custom(cut), 0, 6).Draw(t, "cuts")
		r, want := partition.Bound(q, ρ, cuts), twin(q, ρ, cuts)
		most := big.NewInt(math.MaxInt64)
		if saturated := want.Cmp(most) >= 0; saturated != r.Saturated {
			t.Fatalf("saturated is %v, the sum %v", r.Saturated, want)
		} else if saturated {
			want = most
		}
		if want.Cmp(big.NewInt(r.Tokens)) != 0 || r.Unbounded || r.Exact {
			t.Fatalf("got %+v, want %v", r, want)
		}
		if r.Tokens > 0 && r.Percent() <= 0 || r.Tokens == 0 && r.Percent() != 0 {
			t.Fatalf("percent %v of %+v", r.Percent(), r)
		}
	})
}

// Whatever grows, the bound does not fall.
func TestBoundIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, ρ, cuts := inexact(t), drift(t), rapid.SliceOfN(rapid.Custom(cut), 1, 4).Draw(t, "cuts")
		before := partition.Bound(q, ρ, cuts)
		c := &cuts[rapid.IntRange(0, len(cuts)-1).Draw(t, "i")]
		more := int64(rapid.IntRange(1, 1000).Draw(t, "more"))
		switch rapid.IntRange(0, 8).Draw(t, "what") {
		case 0:
			c.Holders += int(more)
		case 1:
			c.Count = max(c.Count, c.Count+int(more)) // or it wraps
		case 2:
			c.For = max(c.For, c.For+time.Duration(more)*time.Second)
		case 3:
			ρ = min(ρ+lease.Drift(more), 100_000)
		case 4:
			q.Partition.Burst += more
		case 5:
			q.Partition.Rate.Tokens += more
		case 6:
			if q.Partition.For > 0 {
				q.Partition.For += time.Duration(more) * time.Second
			}
		case 7:
			q.Limit.Per += time.Duration(more) * time.Second // a longer window
		case 8:
			cuts = append(cuts, cut(t))
		}
		if after := partition.Bound(q, ρ, cuts); after.Tokens < before.Tokens {
			t.Fatalf("it fell from %+v to %+v", before, after)
		}
	})
}

// The bound of all cuts is the sum of those of each, in any order; it is that of its lines.
func TestBoundIsAdditive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, ρ := inexact(t), drift(t)
		a, b := rapid.SliceOfN(rapid.Custom(cut), 0, 4).Draw(t, "a"), rapid.SliceOfN(rapid.Custom(cut), 0, 4).Draw(t, "b")
		x, y := partition.Bound(q, ρ, a), partition.Bound(q, ρ, b)
		both := partition.Bound(q, ρ, append(append([]partition.Cut(nil), b...), a...))
		sum := y.Plus(x)
		require.Equal(t, []any{both.Lines, both.Tokens, both.Saturated, both.Exact}, []any{sum.Lines, sum.Tokens, sum.Saturated, sum.Exact})
		total := new(big.Int)
		for i := range both.Lines {
			total.Add(total, big.NewInt(both.Lines[i].Tokens))
			require.NotEmpty(t, both.Lines[i].Text())
		}
		if total.IsInt64() {
			require.Equal(t, total.Int64(), both.Tokens)
		}
	})
}

// In the exact modes nothing adds anything, whatever is cut and whatever the other fields say.
func TestExactModesAddNothingWhateverIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, ρ, cuts := inexact(t), drift(t), rapid.SliceOfN(rapid.Custom(cut), 0, 6).Draw(t, "cuts")
		q.Partition.Mode = rapid.SampledFrom([]policy.Mode{policy.FailClosed, policy.LocalFloor}).Draw(t, "mode")
		q.Partition.Unbounded = rapid.Bool().Draw(t, "word")
		r := partition.Bound(q, ρ, cuts)
		require.Equal(t, partition.Result{Exact: true, Allowed: q.Limit.Promise(ρ, 0)}, r)
		require.Zero(t, r.Percent())
	})
}

// The worst n regions are the ones of which no other n add more.
func TestWorstIsTheWorstChoice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, ρ := inexact(t), drift(t)
		length := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "length"))
		holders := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 6).Draw(t, "holders")
		places := make([]partition.Place, len(holders))
		for i, h := range holders {
			places[i] = partition.Place{Region: fmt.Sprintf("r%d", i), Holders: h}
		}
		best := make([]int64, len(places)+1)
		for mask := range 1 << len(places) {
			var cuts []partition.Cut
			for i, p := range places {
				if mask>>i&1 == 1 {
					cuts = append(cuts, partition.Cut{Region: p.Region, Holders: p.Holders, For: length})
				}
			}
			best[len(cuts)] = max(best[len(cuts)], partition.Bound(q, ρ, cuts).Tokens)
		}
		each := partition.WorstOfEach(q, ρ, places, length)
		require.Len(t, each, len(places))
		for n, want := range best {
			require.Equal(t, want, partition.Worst(q, ρ, places, n, length).Tokens)
			if n > 0 {
				require.Equal(t, want, each[n-1].Tokens)
			}
		}
		require.Zero(t, partition.Worst(q, ρ, places, -1, length).Tokens)
		require.Equal(t, best[len(places)], partition.Worst(q, ρ, places, 99, length).Tokens)
	})
}

// spender is a holder that spends all that it may, as early as it may, by a clock that runs fast: another
// implementation of what a cut lets through, in token-nanoseconds.
func TestNoSpenderExceedsItsLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policy.Partition{
			Mode: policy.LocalFallback, Burst: rapid.Int64Range(1, 50).Draw(t, "burst"), For: time.Duration(rapid.IntRange(1, 60).Draw(t, "for")) * time.Second,
			Rate: bucket.Rate{Tokens: rapid.Int64Range(1, 50).Draw(t, "rate"), Per: time.Duration(rapid.IntRange(1, 90).Draw(t, "per")) * time.Second},
		}
		window := time.Duration(rapid.IntRange(1, 100).Draw(t, "window")) * time.Second
		windowed := policy.Limit{Tokens: 10, Per: window, Algorithm: policy.FixedWindow}
		length := time.Duration(rapid.IntRange(0, 200_000).Draw(t, "length")) * time.Millisecond
		start := time.Duration(rapid.IntRange(0, 100_000).Draw(t, "start")) * time.Millisecond
		level, spent, inWindow := p.Burst*int64(p.Rate.Per), int64(0), make(map[time.Duration]int64)
		for at, until := time.Duration(0), min(length, p.For); at <= until; at += 10 * time.Millisecond {
			if n := level / int64(p.Rate.Per); n > 0 && rapid.IntRange(0, 3).Draw(t, "idle") > 0 {
				level -= n * int64(p.Rate.Per)
				spent += n
				inWindow[(start+at)/window] += n
			}
			level = min(level+p.Rate.Tokens*int64(10*time.Millisecond), p.Burst*int64(p.Rate.Per))
		}
		cuts := []partition.Cut{{Region: "eu", Holders: 1, For: length}}
		bound := partition.Bound(&policy.Quota{Limit: policy.Limit{Tokens: 1, Per: 1, Burst: 1}, Partition: p}, 0, cuts)
		require.LessOrEqual(t, spent, bound.Tokens)
		bound = partition.Bound(&policy.Quota{Limit: windowed, Partition: p}, 0, cuts)
		for _, n := range inWindow {
			require.LessOrEqual(t, n, bound.Tokens)
		}
	})
}
