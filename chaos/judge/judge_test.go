package judge_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/chaos/judge"
)

// dumb is the definition, word by word: every interval from a sending to a
// receipt, in fractions.
func dumb(p judge.TokenBucket, all []judge.Admission) int64 {
	worst := new(big.Rat).SetInt64(-p.Burst)
	rate := big.NewRat(p.Tokens, int64(p.Per))
	rate.Mul(rate, big.NewRat(1_000_000+p.DriftPPM, 1_000_000))
	for _, from := range all {
		for _, to := range all {
			if to.Received < from.Sent {
				continue
			}
			over := new(big.Rat).SetInt64(-p.Burst)
			for _, a := range all {
				if a.Sent >= from.Sent && a.Received <= to.Received {
					over.Add(over, new(big.Rat).SetInt64(a.Cost))
				}
			}
			t := new(big.Rat).SetInt64(int64(to.Received - from.Sent))
			if over.Sub(over, t.Mul(t, rate)); over.Cmp(worst) > 0 {
				worst = over
			}
		}
	}
	up := new(big.Int).Add(worst.Num(), new(big.Int).Sub(worst.Denom(), big.NewInt(1)))
	return up.Div(up, worst.Denom()).Int64() // rounded up, as Div rounds down
}

// history draws admissions that overlap in every way.
func history(t *rapid.T) (judge.TokenBucket, []judge.Admission) {
	p := judge.TokenBucket{
		Tokens:   rapid.Int64Range(0, 50).Draw(t, "tokens"),
		Per:      time.Duration(rapid.Int64Range(1, 40).Draw(t, "per")),
		Burst:    rapid.Int64Range(0, 30).Draw(t, "burst"),
		DriftPPM: rapid.SampledFrom([]int64{0, 1000, 333_333, 1_000_000}).Draw(t, "drift"),
	}
	all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) judge.Admission {
		sent := rapid.Int64Range(-20, 60).Draw(t, "sent")
		return judge.Admission{
			Sent:     time.Duration(sent),
			Received: time.Duration(sent + rapid.Int64Range(0, 25).Draw(t, "took")),
			Cost:     rapid.Int64Range(0, 12).Draw(t, "cost"),
		}
	}), 0, 25).Draw(t, "admissions")
	return p, all
}

// holds checks that a finding says what is true of its own interval.
func holds(t require.TestingT, p judge.TokenBucket, all []judge.Admission, f judge.Finding) {
	var sum int64
	for _, a := range all {
		if a.Sent >= f.From && a.Received <= f.To {
			sum += a.Cost
		}
	}
	if f.Admitted > 0 {
		require.Equal(t, sum, f.Admitted)
	}
}

func TestOvershootIsThatOfTheDumbTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, all := history(t)
		f := p.Overshoot(all)
		require.Equal(t, dumb(p, all), f.Over)
		holds(t, p, all, f)
	})
}

func TestStreamIsThatOfTheDumbTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, all := history(t)
		s := judge.NewStream(p)
		step := time.Duration(rapid.Int64Range(1, 30).Draw(t, "step"))
		added := make([]bool, len(all))
		for now := time.Duration(-20); now < 100+step; now += step {
			for i, a := range all {
				// Whoever promises has added all that was sent before; some of
				// what follows may come as well.
				if !added[i] && (a.Sent < now || rapid.Bool().Draw(t, "early")) {
					s.Add(a)
					added[i] = true
				}
			}
			s.Advance(now)
			if rapid.Bool().Draw(t, "twice") {
				s.Advance(now)
			}
		}
		require.Equal(t, dumb(p, all), s.Worst().Over)
		holds(t, p, all, s.Worst())
		require.LessOrEqual(t, s.Kept(), 1)
	})
}

func TestWhatWasPromisedIsNoOvershoot(t *testing.T) {
	p := judge.TokenBucket{Tokens: 60, Per: time.Minute, Burst: 10}
	var all []judge.Admission
	add := func(at time.Duration, cost int64) {
		all = append(all, judge.Admission{Sent: at, Received: at, Cost: cost})
	}
	require.Equal(t, int64(-10), p.Overshoot(nil).Over)
	add(0, 10)
	require.Equal(t, judge.Finding{Admitted: 10}, p.Overshoot(all))
	for i := range 100 {
		add(time.Duration(i+1)*time.Second, 1)
	}
	require.Zero(t, p.Overshoot(all).Over)
	add(100*time.Second+500*time.Millisecond, 1)
	require.Equal(t, int64(1), p.Overshoot(all).Over, "half a token too much is rounded up")
	require.Zero(t, judge.TokenBucket{Tokens: 60, Per: time.Minute, Burst: 10, DriftPPM: 5000}.Overshoot(all).Over)
}

func TestDelayIsNeverTakenForAnOvershoot(t *testing.T) {
	p := judge.TokenBucket{Tokens: 1, Per: time.Hour, Burst: 5}
	all := []judge.Admission{
		{Sent: 0, Received: 0, Cost: 5},
		{Sent: 0, Received: 5 * time.Hour, Cost: 5}, // decided at any time until then
	}
	require.Zero(t, p.Overshoot(all).Over)
	all[1].Received -= time.Minute
	require.Equal(t, int64(1), p.Overshoot(all).Over)
}

func TestTheLargestNumbersAreExact(t *testing.T) {
	p := judge.TokenBucket{Tokens: 1 << 53, Per: 366 * 24 * time.Hour, Burst: 1 << 53, DriftPPM: 1000}
	all := []judge.Admission{
		{Sent: math.MinInt64 / 4, Received: math.MinInt64/4 + 1, Cost: 1 << 53},
		{Sent: 0, Received: 0, Cost: 1 << 53},
		{Sent: 0, Received: 3, Cost: 1},
		{Sent: math.MaxInt64 / 4, Received: math.MaxInt64 / 4, Cost: 1},
	}
	require.Equal(t, dumb(p, all), p.Overshoot(all).Over)
	p = judge.TokenBucket{Tokens: 1, Per: 1, Burst: 0}
	require.Equal(t, dumb(p, all), p.Overshoot(all).Over)
}

func TestStreamKeepsOnlyWhatIsUnderWay(t *testing.T) {
	p := judge.TokenBucket{Tokens: 100, Per: time.Second, Burst: 100}
	s := judge.NewStream(p)
	most := 0
	var all []judge.Admission
	for i := range 20_000 {
		at := time.Duration(i) * time.Millisecond
		a := judge.Admission{Sent: at - time.Duration(i%7)*time.Millisecond, Received: at, Cost: int64(i % 3)}
		s.Add(a)
		all = append(all, a)
		if i%20 == 19 {
			s.Advance(at - 7*time.Millisecond)
		}
		most = max(most, s.Kept())
	}
	s.Advance(time.Hour)
	assert.Equal(t, p.Overshoot(all).Over, s.Worst().Over)
	assert.Less(t, most, 60)
}

func TestALateAdmissionHidesAndNeverMakesUp(t *testing.T) {
	s := judge.NewStream(judge.TokenBucket{Tokens: 1, Per: time.Hour, Burst: 5})
	s.Advance(time.Hour)
	s.Add(judge.Admission{Sent: 0, Received: 0, Cost: 5})
	s.Advance(2 * time.Hour)
	require.Zero(t, s.Worst().Over)
}

func TestPromisesThatAreRefused(t *testing.T) {
	for _, p := range []judge.TokenBucket{
		{}, {Tokens: -1, Per: 1}, {Per: 1, Burst: -1}, {Per: 1, DriftPPM: -1}, {Per: 1, DriftPPM: 2_000_000}, {Per: -1},
	} {
		require.Error(t, p.Validate())
		require.Panics(t, func() { p.Overshoot(nil) })
		require.Panics(t, func() { judge.NewStream(p) })
	}
	for _, w := range []judge.Window{{}, {Tokens: -1, Length: 1}, {Length: 1, Slack: -1}} {
		require.Panics(t, func() { w.Overshoot(nil) })
	}
}

func TestWindow(t *testing.T) {
	w := judge.Window{Tokens: 10, Length: time.Minute}
	in := func(sent, received time.Duration, cost int64) judge.Admission {
		return judge.Admission{Sent: sent, Received: received, Cost: cost}
	}
	require.Equal(t, judge.Finding{Over: -10}, w.Overshoot(nil))
	all := []judge.Admission{in(0, time.Second, 4), in(59*time.Second, 59*time.Second, 6)}
	require.Equal(t, judge.Finding{To: time.Minute, Admitted: 10}, w.Overshoot(all))
	all = append(all, in(59*time.Second, time.Minute, 7))
	require.Zero(t, w.Overshoot(all).Over, "it may be of the next window")
	all = append(all, in(-time.Second, -1, 11))
	require.Equal(t, judge.Finding{From: -time.Minute, Admitted: 11, Over: 1}, w.Overshoot(all))
	w.Slack = time.Second
	require.Equal(t, int64(-10), w.Overshoot(all).Over, "all are too close to an edge to be sure")
}

func BenchmarkOvershoot(b *testing.B) {
	p := judge.TokenBucket{Tokens: 1000, Per: time.Second, Burst: 1000, DriftPPM: 1000}
	all := make([]judge.Admission, 100_000)
	for i := range all {
		at := time.Duration(i) * time.Millisecond
		all[i] = judge.Admission{Sent: at, Received: at + time.Duration(i%500)*time.Millisecond, Cost: 1}
	}
	for b.Loop() {
		p.Overshoot(all)
	}
}
