package judge

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// million is the unit of DriftPPM.
const million = 1_000_000

// TokenBucket is the promise of a token bucket: over every interval of length T,
//
//	admitted <= Burst + (1 + DriftPPM/1,000,000) · Tokens · T/Per
type TokenBucket struct {
	Tokens   int64 // for each Per
	Per      time.Duration
	Burst    int64
	DriftPPM int64 // how far clocks may run apart, in parts per million
}

// Validate says what is wrong with the promise.
func (p TokenBucket) Validate() error {
	if p.Tokens < 0 || p.Per <= 0 || p.Burst < 0 || p.DriftPPM < 0 || p.DriftPPM > million {
		return fmt.Errorf("judge: %+v is no promise", p)
	}
	return nil
}

// Overshoot returns the interval in which most was admitted beyond the promise,
// of all intervals that there are. Without admissions it is an empty one. It
// takes O(n log n) time, and panics for a promise that Validate refuses.
//
// Why so few intervals decide: what counts in [a, b] also counts in the interval
// from the first sending among it to the last receipt, which is no longer. So
// only those matter that begin with a sending and end with a receipt. The sweep
// goes through the receipts; a tree over the sendings holds, for each of them
// that was received, what was sent there or later and was received.
func (p TokenBucket) Overshoot(all []Admission) Finding {
	s := p.scale()
	bySent := make([]int, len(all))
	byReceived := make([]int, len(all))
	for i := range all {
		bySent[i], byReceived[i] = i, i
	}
	slices.SortFunc(bySent, func(i, j int) int { return cmp.Compare(all[i].Sent, all[j].Sent) })
	slices.SortFunc(byReceived, func(i, j int) int { return cmp.Compare(all[i].Received, all[j].Received) })
	place := make([]int, len(all))
	for at, i := range bySent {
		place[i] = at
	}

	best := least()
	worst := Finding{Over: -p.Burst}
	t := newTree(len(all))
	for _, i := range byReceived {
		a := all[i]
		cost := s.token.times(a.Cost)
		t.set(place[i], cost, cost.plus(s.time(a.Sent)), a.Cost)
		top := t.top()
		if v := top.best.minus(s.time(a.Received)); v.above(best) {
			best = v
			worst = Finding{From: all[bySent[top.from]].Sent, To: a.Received, Admitted: top.admitted}
			worst.Over = p.over(worst)
		}
	}
	if worst.Over < -p.Burst { // nothing was admitted but costs of 0
		return Finding{Over: -p.Burst}
	}
	return worst
}

// over is what a finding exceeds the promise by, rounded up.
func (p TokenBucket) over(f Finding) int64 {
	n := new(big.Int).Mul(big.NewInt(p.Tokens), big.NewInt(million+p.DriftPPM))
	n.Mul(n, big.NewInt(int64(f.To-f.From)))
	n.Quo(n, new(big.Int).Mul(big.NewInt(int64(p.Per)), big.NewInt(million)))
	n.Sub(big.NewInt(f.Admitted-p.Burst), n)
	return n.Int64()
}

// scale multiplies everything by Per and a million, so that it is integers.
type scale struct {
	token wide // what a token is worth
	nano  wide // what is promised in a nanosecond
}

func (p TokenBucket) scale() scale {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	return scale{token: product(int64(p.Per), million), nano: product(p.Tokens, million+p.DriftPPM)}
}

// time is what is promised in t.
func (s scale) time(t time.Duration) wide { return s.nano.times(int64(t)) }
