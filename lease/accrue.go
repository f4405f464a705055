package lease

import (
	"math"
	"math/big"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// AtMost returns the most tokens that accrue at rate r in a true time d by a clock that may run fast:
// (1+ρ)·r·d, rounded up. It saturates at the largest int64, which then means that many or more. A rate that
// accrues nothing, or a d of 0 or less, gives 0.
func (ρ Drift) AtMost(r bucket.Rate, d time.Duration) int64 {
	if r.Tokens <= 0 || r.Per <= 0 || d <= 0 {
		return 0
	}
	n := big.NewInt(r.Tokens) // a product of three, of up to 137 bits
	n.Mul(n, big.NewInt(int64(d))).Mul(n, big.NewInt(int64(million+ρ)))
	den := big.NewInt(int64(r.Per))
	den.Mul(den, big.NewInt(million))
	n.Add(n, den).Sub(n, big.NewInt(1)).Quo(n, den)
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}
