package lab

import (
	"fmt"
	"math"
	"time"
)

// Exhaust is what it costs to use a window quota of M tokens up from k regions:
// grants and recalls until the last token is spent, in relation to k·log2(M/k),
// which is the order of what any (M,W)-controller with W = 0 needs (Afek, Awerbuch,
// Plotkin and Saks, "Local management of a global resource in a communication
// network", JACM 43(1), 1996). The quota would be used up in 20 s by an ideal bucket.
const Exhaust = "grants and recalls to use up M tokens, in relation to k·log2(M/k)"

// Exhausted is how a quota was used up.
type Exhausted struct {
	Load      string
	K         int
	Tokens    int64
	RoundTrip time.Duration
	Grants    int64
	Recalls   int64
	// Ratio is grants and recalls in relation to k·log2(M/k).
	Ratio float64
	// Goal is what the ratio may be.
	Goal float64
	// Used is the part of the quota that was used, and Late how long after
	// the ideal bucket the last token was; it is 0 if some are left.
	Used float64
	Late time.Duration
}

const exhaustTime = 20 * time.Second

// exhaustLoads are the demands under which a quota is used up.
var exhaustLoads = []struct {
	k      int
	tokens int64
	moving bool
}{
	{3, 50_000, false},
	{5, 50_000, false},
	{10, 100_000, false},
	{20, 100_000, false},
	{490, 490_000, false},
	{5, 50_000, true},
	{20, 100_000, true},
}

// MeasureExhaust uses quotas up by ours. The short slice leaves the largest out.
func MeasureExhaust(short bool, seed uint64) ([]Exhausted, error) {
	var list []Exhausted
	for _, x := range exhaustLoads {
		if short && x.k > 10 {
			continue
		}
		load := Workload{Name: "uniform", Demand: func(_, k int, _ time.Duration) float64 { return 1 / float64(k) }}
		goal := 1.75
		if x.moving {
			load, goal = Workload{Name: "moving hotspot", Demand: func(i, k int, t time.Duration) float64 {
				return hot(i, int(t/(5*time.Second))%k, k, 1, 0.9)
			}}, 2.5
		}
		e, err := exhaust(load, x.k, x.tokens, seed)
		if err != nil {
			return nil, fmt.Errorf("exhausting %d tokens over %d regions: %w", x.tokens, x.k, err)
		}
		e.Goal = goal
		list = append(list, e)
	}
	return list, nil
}

func exhaust(load Workload, k int, tokens int64, seed uint64) (Exhausted, error) {
	rate := int64(float64(tokens) / exhaustTime.Seconds())
	t := load.Draw(seed, k, rate, exhaustTime+5*time.Second)
	net := Net{RoundTrip: 100 * time.Millisecond}
	model := Model{Name: Ours, build: newOurs(Terms{Window: tokens})}
	w := newWorld(model, k, Limit{Rate: rate, Burst: tokens}, net, seed, t.End)
	if err := w.Play(&t); err != nil {
		return Exhausted{}, err
	}
	e := Exhausted{
		Load: load.Name, K: k, Tokens: tokens, RoundTrip: net.RoundTrip,
		Grants: w.traffic.Grants, Recalls: w.traffic.Recalls, Used: float64(w.admitted()) / float64(tokens),
	}
	e.Ratio = float64(e.Grants+e.Recalls) / (float64(k) * math.Log2(float64(tokens)/float64(k)))
	if w.admitted() == tokens && int64(len(t.Requests)) >= tokens {
		e.Late = w.log[len(w.log)-1].at - t.Requests[tokens-1].At
	}
	return e, nil
}
