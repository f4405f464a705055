package lab

import (
	"math"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// Overshoot is the most by which more was admitted than the promise, in tokens:
// over every interval of length T, admitted - (B + (1+ρ)·r·T). It is taken for the
// windows of 100 ms, 1 s and 10 s that end with an admission, and over all
// intervals of any length.
const Overshoot = "admitted - (B + (1+ρ)·r·T), in tokens"

// overshoots is Overshoot by length of the interval.
type overshoots struct {
	Tenth, Second, Ten, Any int64
}

func measureOvershoot(l Limit, log []admission) overshoots {
	return overshoots{
		Tenth:  windowOvershoot(l, log, 100*time.Millisecond),
		Second: windowOvershoot(l, log, time.Second),
		Ten:    windowOvershoot(l, log, 10*time.Second),
		Any:    anyOvershoot(l, log),
	}
}

// accrual is (1+ρ)·r·T in tokens.
func (l Limit) accrual(d time.Duration) float64 {
	return (1 + float64(lease.DefaultDrift)/1e6) * float64(l.Rate) * d.Seconds()
}

// windowOvershoot slides a window of one length over the admissions.
func windowOvershoot(l Limit, log []admission, length time.Duration) int64 {
	var sum, most int64
	first := 0
	for i := range log {
		sum += log[i].cost
		for ; log[i].at-log[first].at >= length; first++ {
			sum -= log[first].cost
		}
		most = max(most, sum)
	}
	return above(float64(most) - float64(l.Burst) - l.accrual(length))
}

// anyOvershoot keeps a central bucket in debt: the most that it ever owed.
func anyOvershoot(l Limit, log []admission) int64 {
	var owed, most float64
	var at time.Duration
	for i := range log {
		owed = max(0, owed-l.accrual(log[i].at-at)) + float64(log[i].cost)
		most, at = max(most, owed), log[i].at
	}
	return above(most - float64(l.Burst))
}

// above rounds up what is above 0, and not what rounding left of a float.
func above(v float64) int64 { return max(0, int64(math.Ceil(v-1e-6))) }
