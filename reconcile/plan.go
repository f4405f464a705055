package reconcile

import (
	"math"
	"math/bits"
	"time"

	"github.com/a1009580/leasehold/lease"
)

const (
	// A burst is believed within a report, an idle bucket is forgotten within
	// a few: time constants of the average of demand, up and down.
	rise = 50 * time.Millisecond
	fall = 500 * time.Millisecond
	// minHorizon is the least time that a lease should last at the measured
	// demand.
	minHorizon = time.Second
	// burst is how many of the largest requests between two reports are no burst.
	burst = 16
	// milli is the unit of demand: thousandths of a token a second.
	milli = 1000
)

// Plan is a lease.Planner. It sizes a lease in seconds of measured demand, and
// asks again when what is left would not last a round trip and two reports.
func Plan(u *lease.Usage) lease.Plan {
	demand := Demand(u.Last.Demand, u.Admitted+u.Refused, u.Largest, u.Elapsed)
	delay := u.RoundTrip + 2*u.Interval
	// Requests come unevenly: two of the largest are kept beside the average.
	reserve := 2 * u.Largest
	size := over(demand, max(minHorizon, 2*delay)) + reserve
	if u.Refused > 0 && u.Waiting == 0 {
		// Demand is seen a round trip late, and what was asked for did not do:
		// ask for more, as long as the measured demand makes it plausible.
		size = max(size, min(2*u.Last.Want, 4*size))
	}
	if demand > 0 {
		size = max(size, 1)
	}
	size += u.Waiting
	if u.Size > 0 {
		size = max(u.Size, u.Largest)
	}
	size = min(size, u.Limit)
	low := min(over(demand, delay)+reserve, size)
	p := lease.Plan{Ask: lease.Ask{Demand: demand}, Keep: size + size/2 + 1}
	if u.Ahead {
		p.Keep = max(p.Keep, 2*over(demand, farthest))
	}
	if u.Lend {
		p.Keep = max(p.Keep, size+u.Limit/lent)
	}
	if u.MaxRefused > u.Unspent && u.MaxRefused <= u.Limit {
		p.Ask.Need = u.MaxRefused
	}
	if u.Unspent <= low || p.Ask.Need > 0 {
		p.Ask.Want = size
	}
	// A quarter gone before the next report is a burst, if it is more than a few
	// requests: it is told at once.
	p.Low = max(low, u.Unspent-max(u.Unspent/4, burst*u.Largest))
	return p
}

// Demand averages the demand for tokens over time, in thousandths of a token a
// second: an exponential average with the time constants rise and fall. A
// demand that is there is never rounded to nothing.
//
// A fall that is no chance is believed at once, down to an eighth. Asked for at random in costs
// of at most largest, what comes in a time varies by the root of mean·largest, so
// that less than the mean by four times as much is next to impossible.
func Demand(last, asked, largest int64, elapsed time.Duration) int64 {
	if elapsed <= 0 {
		return last
	}
	now := mulDiv(asked, milli*int64(time.Second), int64(elapsed))
	tau := fall
	switch {
	case last == 0:
		tau = 0 // the first sign of life is all that is known
	case now > last:
		tau = rise
	case fell(over(last, elapsed)-asked, over(last, elapsed), max(largest, 1)):
		return max(now, last/8)
	}
	change := mulDiv(abs(now-last), int64(elapsed), int64(elapsed+tau))
	if now < last {
		change = -change
	}
	if d := last + change; d > 0 || asked == 0 {
		return max(d, 0)
	}
	return 1
}

// fell says that something is less than its mean by more than four standard
// deviations, of which the square is mean·unit.
func fell(by, mean, unit int64) bool {
	return by > 0 && float64(by)*float64(by) > 16*float64(mean)*float64(unit)
}

// over is what a demand uses in a time, rounded up.
func over(demand int64, d time.Duration) int64 {
	v := mulDiv(demand, int64(d), milli*int64(time.Second))
	if v < math.MaxInt64 {
		v++
	}
	if demand == 0 {
		return 0
	}
	return v
}

// mulDiv is a·b/c for numbers that are not negative, with c > 0, saturating.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
