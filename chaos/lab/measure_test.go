package lab

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/reconcile"
)

// puppet is a system whose tokens are where a test puts them.
type puppet struct {
	w          *world
	lies, gone int64 // in the pool, and taken out of it
	has        []int64
	admit      bool
}

func (p *puppet) ask(q *Request) {
	if p.admit {
		p.w.admit(q)
		return
	}
	p.w.deny(q)
}
func (p *puppet) pool() (level, taken int64) { return p.lies, p.gone }
func (p *puppet) held(i int) int64           { return p.has[i] }

// puppetry makes a run of a puppet with two regions at a round trip of 100 ms.
func puppetry(t *testing.T) (*world, *puppet) {
	p := &puppet{has: make([]int64, 2)}
	w := newWorld(Model{Name: "puppet", build: func(w *world) system { p.w = w; return p }}, 2,
		Limit{Rate: 10, Burst: 10}, Net{RoundTrip: 100 * time.Millisecond}, 1, time.Hour)
	require.Same(t, p, w.system)
	return w, p
}

func TestADenialIsFalseWhenTokensLayIdleForARoundTrip(t *testing.T) {
	ask := func(w *world, region int, cost int64) denial {
		q := &Request{At: w.now, Region: region, Cost: cost}
		w.aged.asked(q)
		w.system.ask(q)
		return w.denials[len(w.denials)-1]
	}
	no, idle, busy := denial{}, denial{untrue: true, stranded: true}, denial{stranded: true}
	for name, test := range map[string]struct {
		do   func(w *world, p *puppet)
		cost int64
		want denial
	}{
		"nothing anywhere":              {func(*world, *puppet) {}, 1, no},
		"in the pool for long":          {func(_ *world, p *puppet) { p.lies = 5 }, 5, idle},
		"in the pool, but fewer":        {func(_ *world, p *puppet) { p.lies = 5 }, 6, no},
		"in an idle region for long":    {func(_ *world, p *puppet) { p.has[1] = 5 }, 5, idle},
		"in both together":              {func(_ *world, p *puppet) { p.lies, p.has[1] = 2, 3 }, 5, idle},
		"in a region that asks":         {func(w *world, p *puppet) { p.has[1] = 5; w.run(450 * ms); ask(w, 1, 9) }, 5, busy},
		"in one that asked before":      {func(w *world, p *puppet) { p.has[1] = 5; w.run(300 * ms); ask(w, 1, 9) }, 5, idle},
		"came to the pool just now":     {func(w *world, p *puppet) { w.run(450 * ms); p.lies = 5 }, 5, no},
		"came to a region just now":     {func(w *world, p *puppet) { w.run(450 * ms); p.has[1] = 5 }, 5, no},
		"as many were taken since":      {func(w *world, p *puppet) { p.lies = 5; w.run(450 * ms); p.gone = 5 }, 5, no},
		"some were taken since":         {func(w *world, p *puppet) { p.lies = 5; w.run(450 * ms); p.gone = 3 }, 2, idle},
		"expired since":                 {func(w *world, p *puppet) { p.has[1] = 5; w.run(450 * ms); p.has[1] = 1 }, 5, no},
		"in the region that is denied":  {func(_ *world, p *puppet) { p.has[0] = 5 }, 5, busy},
		"left the pool for the region":  {func(w *world, p *puppet) { p.lies = 5; w.run(450 * ms); p.lies, p.gone, p.has[1] = 0, 5, 5 }, 5, no},
		"were there, but only long ago": {func(w *world, p *puppet) { p.lies = 5; w.run(200 * ms); p.lies, p.gone = 0, 5 }, 5, no},
	} {
		w, p := puppetry(t)
		test.do(w, p)
		w.run(500 * ms)
		assert.Equal(t, test.want, ask(w, 0, test.cost), name)
	}
}

// Five tokens that lie idle deny five requests falsely, and not a thousand; with
// what the bucket gains meanwhile.
func TestATokenMakesOneDenialFalse(t *testing.T) {
	w, p := puppetry(t)
	p.lies = 100 // more than there can be
	w.run(500 * ms)
	for range 1000 {
		p.ask(&Request{At: w.now, Region: 0, Cost: 1})
	}
	w.run(1500 * ms)
	for range 1000 {
		p.ask(&Request{At: w.now, Region: 0, Cost: 1})
	}
	untrue := 0
	for _, d := range w.denials {
		if d.untrue {
			untrue++
		}
	}
	assert.Equal(t, 10+10, untrue, "the burst, and a second of the rate")
}

func TestSpentTokensOfARegionAreTheOldest(t *testing.T) {
	w, p := puppetry(t)
	p.has[1], p.admit = 5, true
	w.run(450 * ms)
	p.ask(&Request{At: w.now, Region: 1, Cost: 5})
	p.has[1] = 5 // new ones
	w.run(500 * ms)
	p.admit = false
	p.ask(&Request{At: w.now, Region: 0, Cost: 1})
	assert.Equal(t, denial{}, w.denials[0])
}

func TestOvershootIsThatOfEveryInterval(t *testing.T) {
	l := Limit{Rate: 100, Burst: 20}
	at := func(d time.Duration, cost int64) admission { return admission{at: d, cost: cost} }
	assert.Equal(t, overshoots{}, measureOvershoot(l, nil))
	assert.Equal(t, overshoots{}, measureOvershoot(l, []admission{at(0, 20), at(100*ms, 10), at(200*ms, 10)}))
	assert.Equal(t, overshoots{Any: 15}, measureOvershoot(l, []admission{at(0, 20), at(0, 15)}).only(false))
	assert.Equal(t, overshoots{Tenth: 5, Any: 15}, measureOvershoot(l, []admission{at(0, 20), at(0, 15)}))

	dice := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var log []admission
		now := time.Duration(0)
		for range 40 {
			now += time.Duration(dice.Int64N(int64(60 * ms)))
			log = append(log, at(now, 1+dice.Int64N(12)))
		}
		want := 0.0
		for i := range log {
			sum := 0.0
			for j := i; j < len(log); j++ {
				sum += float64(log[j].cost)
				want = max(want, sum-20-100.1*(log[j].at-log[i].at).Seconds())
			}
		}
		assert.InDelta(t, want, float64(anyOvershoot(l, log)), 1)
	}
}

// only keeps what counts over windows, or over any interval.
func (o overshoots) only(windows bool) overshoots {
	if windows {
		o.Any = 0
		return o
	}
	return overshoots{Any: o.Any}
}

func TestWaterfillAgreesWithTheSharesThatItJudges(t *testing.T) {
	assert.Equal(t, []float64{10, 45, 45}, waterfill([]float64{10, 80, 50}, 100))
	assert.Equal(t, []float64{10, 30, 0}, waterfill([]float64{10, 30, 0}, 100))
	assert.Equal(t, []float64{0, 0}, waterfill([]float64{3, 4}, 0))
	dice := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		k := 1 + dice.IntN(12)
		wishes, weights, demands := make([]int64, k), make([]int64, k), make([]float64, k)
		for i := range wishes {
			wishes[i], weights[i] = dice.Int64N(1000), 1
			demands[i] = float64(wishes[i])
		}
		total := dice.Int64N(4000)
		shares := reconcile.Shares(wishes, weights, total, 0)
		for i, v := range waterfill(demands, float64(total)) {
			assert.InDelta(t, v, float64(shares[i]), 1)
		}
	}
}

func TestJainIsOfTheFairShare(t *testing.T) {
	ask := []Request{{0, 0, 100}, {0, 1, 100}, {0, 2, 10}}
	got := func(a, b, c int64) []admission { return []admission{{0, 0, a}, {0, 1, b}, {0, 2, c}} }
	assert.InDelta(t, 1, jain(3, ask, got(45, 45, 10)), 1e-9)
	assert.InDelta(t, 1, jain(3, ask, got(5, 5, 5)), 1e-9, "waste is not unfair")
	assert.InDelta(t, 1.0/3, jain(3, []Request{{0, 0, 9}, {0, 1, 9}, {0, 2, 9}}, got(9, 0, 0)), 1e-9)
	assert.Less(t, jain(3, ask, got(90, 0, 10)), 0.75)
	assert.InDelta(t, 1, jain(3, nil, nil), 1e-9)
}

func TestSettlingOfWhatIsKnown(t *testing.T) {
	fairness := func(lag time.Duration) counts {
		c := counts(table(settleRegions, int((Lead+3*settleEvery)/settleStep)+2))
		for n := 1; n < len(c[0]); n++ {
			for i, v := range fair(time.Duration(n-1)*settleStep - lag) {
				c[i][n] = c[i][n-1] + v*settleStep.Seconds()
			}
		}
		return c
	}
	move := Lead + settleEvery
	assert.Equal(t, time.Duration(0), settledAfter(fairness(0), move))
	// With 60% of the limit where a tenth is due, a second that holds 50 ms of the old
	// time is just off by 5%: 5/6 of what is lacking, and 5 times what is due.
	assert.InDelta(t, 1, settledAfter(fairness(time.Second), move).Seconds(), 0.06)
	assert.Equal(t, time.Duration(-1), settledAfter(fairness(settleEvery), move))
	assert.InDelta(t, 0, fairness(0).deviation(move+time.Second, move+2*time.Second), 1e-9)
	assert.Greater(t, fairness(settleEvery).ripple(move+time.Second, move+2*time.Second), 0.8)
}

func TestTheMiddleOfNever(t *testing.T) {
	assert.Equal(t, time.Duration(-1), middle(nil))
	assert.Equal(t, 2*time.Second, middle([]time.Duration{3 * time.Second, -1, time.Second, 2 * time.Second, 0}))
	assert.Equal(t, time.Duration(-1), middle([]time.Duration{-1, 0, -1}))
	assert.Equal(t, "never", never(-1))
}
