package lease

import (
	"math"
	"math/bits"
	"time"
)

// Drift is the most by which a clock runs too fast or too slow, in parts per
// million of true time. Its range is 0 to 100,000.
type Drift int64

// DefaultDrift is a factor of 1 ± 0.001.
const DefaultDrift Drift = 1000

const million = 1_000_000

// Outlast returns how long to wait by one's own clock until a duration d has
// surely passed by another's: d·(1+ρ)/(1-ρ), rounded up (law 6).
func (ρ Drift) Outlast(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(d), uint64(million+ρ))
	den := uint64(million - ρ)
	if hi >= den {
		return math.MaxInt64
	}
	q, r := bits.Div64(hi, lo, den)
	if r > 0 {
		q++
	}
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(q)
}
