package lab

import (
	"fmt"
	"math"
	"time"
)

// Exposed is a point of the curve of exposure against messages: what regions hold
// on average, and what that costs.
type Exposed struct {
	Size int64 // of a lease in tokens; 0 is by demand
	TTL  time.Duration
	// Held is what all regions held together on average, in tokens.
	Held float64
	// Moves are grants and recalls, Reports what travels upward, by million
	// admitted tokens.
	Moves, Reports float64
	// Least is the fewest grants by million that can keep a mean of so many
	// tokens in regions: at demands λ a rate of at least (Σ√λ)²/(2·Held), since a
	// region whose lease of s tokens is used up evenly holds s/2 of it on average. It
	// means something only where nearly all demand is admitted: a region that stands
	// empty holds less.
	Least float64
	Used  float64
	False float64
}

// The sweep: sizes at the usual lease, and leases at the usual size.
var (
	exposureSizes = []int64{5, 10, 20, 40, 80, 160, 320}
	exposureTTLs  = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 20 * time.Second}
)

// MeasureExposure sweeps size and length of leases over a zipf demand of 0.9 times
// the limit from ten regions at a round trip of 100 ms.
func MeasureExposure(short bool, seed uint64) ([]Exposed, error) {
	const k, rate, load = 10, 1000, 0.9
	length := 30 * time.Second
	if short {
		length = 10 * time.Second
	}
	work := Workload{Name: "zipf", Demand: func(i, k int, _ time.Duration) float64 { return load * zipf(i, k) }}
	roots := 0.0
	for i := range k {
		roots += math.Sqrt(load * rate * zipf(i, k))
	}
	s := Scenario{
		Name: "exposure", K: k, Limit: Limit{Rate: rate, Burst: 5 * rate}, Net: Net{RoundTrip: 100 * time.Millisecond},
		Trace: func(seed uint64) Trace { return work.Draw(seed, k, rate, length) },
	}
	var list []Exposed
	add := func(size int64, ttl time.Duration) error {
		m := Model{Name: fmt.Sprintf("%s, %d tokens, %v", Ours, size, ttl), build: newOurs(Terms{Size: size, TTL: ttl})}
		r, err := s.Run([]Model{m}, seed)
		if err != nil {
			return err
		}
		x := Exposed{
			Size: size, TTL: ttl, Held: r[0].Exposed * rate, Moves: r[0].Grants + r[0].Recalls,
			Reports: r[0].Reports, Used: r[0].Used, False: r[0].False,
		}
		x.Least = roots * roots / (2 * x.Held) / (load * rate) * 1e6
		list = append(list, x)
		return nil
	}
	for _, size := range exposureSizes {
		if err := add(size, 5*time.Second); err != nil {
			return nil, err
		}
	}
	for _, ttl := range exposureTTLs {
		if err := add(0, ttl); err != nil {
			return nil, err
		}
	}
	return list, nil
}
