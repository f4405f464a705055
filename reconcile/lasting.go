package reconcile

import (
	"math"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// unmeasured stands for a round trip that is not known yet.
const unmeasured = 300 * time.Millisecond

// lasting is how many tokens a holder needs to get by until it can be given more: its
// demand for a round trip and two reports, and the square root of that for chance.
// Arrivals that come independently vary by so much (Poisson), as in the square-root
// rule for safety stocks.
func lasting(s *lease.Situation, a *lease.HolderAsk) int64 {
	if a.Ask.Demand == 0 {
		return 0
	}
	trip := a.RoundTrip
	if trip == 0 {
		trip = unmeasured
	}
	mean := over(a.Ask.Demand, trip+2*s.Interval)
	return mean + int64(math.Sqrt(float64(mean)))
}
