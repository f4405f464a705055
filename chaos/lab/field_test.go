package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// played is what ours did with a workload that is a field case.
func played(t *testing.T, k int, limit Limit, net Net, demand func(i, k int, at time.Duration) float64, length time.Duration) Result {
	t.Helper()
	load := Workload{Name: t.Name(), Demand: demand}
	s := Scenario{Name: t.Name(), K: k, Limit: limit, Net: net, Trace: func(seed uint64) Trace {
		return load.Draw(seed, k, limit.Rate, length)
	}}
	ours, ok := FindModel(Ours)
	require.True(t, ok)
	results, err := s.Run([]Model{ours}, 1)
	require.NoError(t, err)
	require.Zero(t, results[0].Overshoot.Any)
	return results[0]
}

// FAIR-05: all traffic, in bursts of a second, goes to two regions of ten, and to two
// others after 30 s.
func TestFAIR05_BudgetFollowsBurstsThatHitFewRegions(t *testing.T) {
	r := played(t, 10, Limit{Rate: 100, Burst: 200}, Net{RoundTrip: 100 * ms}, func(i, _ int, at time.Duration) float64 {
		if first := int(at/(30*time.Second)) * 3 % 10; (i != first && i != (first+5)%10) || int(at/time.Second)%2 == 1 {
			return 0
		}
		return 0.6
	}, 2*time.Minute)
	require.GreaterOrEqual(t, r.Used, 0.95)
	require.LessOrEqual(t, r.False, 0.01)
}

// FAIR-03: regions that ask for 100 and 50 in bursts, one second on and one off, of
// a limit of 160: no region is denied beyond the time that a message takes.
func TestFAIR03_NobodyIsDeniedBelowTheLimit(t *testing.T) {
	r := played(t, 2, Limit{Rate: 160, Burst: 320}, Net{RoundTrip: 100 * ms}, func(i, _ int, at time.Duration) float64 {
		if int(at/time.Second)%2 == 1 {
			return 0
		}
		return []float64{100, 50}[i] / 160
	}, time.Minute)
	require.Zero(t, r.Denied)
}

// FAIR-11: a limit that is never near, and answers that take 600 ms, or are lost.
func TestFAIR11_NobodyIsDeniedFarBelowTheLimit(t *testing.T) {
	for _, net := range []Net{{RoundTrip: 600 * ms}, {RoundTrip: 50 * ms, Loss: 0.01}} {
		r := played(t, 2, Limit{Rate: 1_000_000, Burst: 1_000_000}, net, func(int, int, time.Duration) float64 { return 100 / 1e6 }, 20*time.Second)
		require.Zero(t, r.Denied, "%+v", net)
	}
}
