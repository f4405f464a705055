package lab

import (
	"math"
	"time"
)

// Settling is how long after the demand has moved every region is admitted its
// share by max-min fairness: the least s such that over the second that begins
// s after the move, and over all that is left until the next move, each region's mean
// rate is within 5% of its share. Leases come in lumps that are taken out of the
// others' flow, so the rate ripples in shorter windows for ever: see Settled.Ripple.
//
// It is measured apart from the matrix, with evenly spaced arrivals, since the
// chance of Poisson arrivals alone is near 5% of so short a window: one
// region asks for twice the limit and the others for a tenth of it each, and every
// five seconds another region is the one.
const Settling = "time after a move of demand until every region is within 5% of its max-min share"

const (
	settleEvery   = 5 * time.Second
	settleMoves   = 4
	settleWindow  = time.Second
	rippleWindow  = 500 * time.Millisecond
	settleStep    = 20 * time.Millisecond
	settleWithin  = 0.05
	settleRegions = 5
	settleRate    = 5000
)

// Settled is how one system settles.
type Settled struct {
	Model     string
	RoundTrip time.Duration
	// Times are by move; below 0 is never before the next move.
	Times []time.Duration
	// Ripple is the most by which a region's rate over half a second differs from
	// its share once that long has passed that a system can have settled, as a part
	// of the share: in the last three seconds before a move, the mean over moves.
	Ripple float64
	// Deviation is how far a region's rate is from its share, on average over
	// regions and over the last second before each move, as a part of the share.
	Deviation float64
	// Course is the rate of the region to which demand moves, in parts of the
	// limit, by tenths of a second from one second before the second move on.
	Course []float64
}

// Median returns the middle one of the times, below 0 if that is never.
func (s *Settled) Median() time.Duration { return middle(s.Times) }

// settleTrace makes the evenly spaced requests.
func settleTrace() Trace {
	t := Trace{K: settleRegions, End: Lead + (settleMoves+1)*settleEvery}
	streams := make([][]Request, settleRegions)
	for i := range streams {
		at := Lead + time.Duration(i)*17*time.Microsecond
		for at < t.End {
			streams[i] = append(streams[i], Request{At: at, Region: i, Cost: 1})
			at += time.Duration(float64(time.Second) / (settleRate * settleDemand(i, at)))
		}
	}
	t.Requests = mergeRequests(streams)
	return t
}

// settleDemand is the demand of a region in parts of the limit.
func settleDemand(i int, at time.Duration) float64 {
	if i == int((at-Lead)/settleEvery)%settleRegions {
		return 2
	}
	return 0.1
}

// MeasureSettling has a system settle.
func MeasureSettling(m Model, net Net, seed uint64) (Settled, error) {
	t := settleTrace()
	w := newWorld(m, settleRegions, Limit{Rate: settleRate, Burst: settleRate}, net, seed, t.End)
	if err := w.Play(&t); err != nil {
		return Settled{}, err
	}
	rates := admittedRates(w.log, settleRegions, t.End)
	s := Settled{Model: m.Name, RoundTrip: net.RoundTrip}
	for move := 1; move <= settleMoves; move++ {
		at := Lead + time.Duration(move)*settleEvery
		s.Times = append(s.Times, settledAfter(rates, at))
		s.Deviation += rates.deviation(at-time.Second, at-settleStep) / settleMoves
		s.Ripple += rates.ripple(at-3*time.Second, at-settleStep) / settleMoves
	}
	second := Lead + 2*settleEvery
	for at := second - time.Second; at < second+settleEvery; at += 100 * time.Millisecond {
		s.Course = append(s.Course, rates.mean(2, at, at+100*time.Millisecond)/settleRate)
	}
	return s, nil
}

// counts are the tokens that a region was admitted by the end of each step.
type counts [][]float64

// admittedRates sums the admissions up by region and step.
func admittedRates(log []admission, k int, end time.Duration) counts {
	c := counts(table(k, int(end/settleStep)+2))
	for i := range log {
		if n := int(log[i].at/settleStep) + 1; n < len(c[0]) {
			c[log[i].region][n] += float64(log[i].cost)
		}
	}
	for _, row := range c {
		for n := 1; n < len(row); n++ {
			row[n] += row[n-1]
		}
	}
	return c
}

// mean is a region's rate between two moments, tokens a second.
func (c counts) mean(region int, from, to time.Duration) float64 {
	a, b := int(from/settleStep), int(to/settleStep)
	return (c[region][b] - c[region][a]) / (time.Duration(b-a) * settleStep).Seconds()
}

// fair are the shares by max-min at a moment, tokens a second.
func fair(at time.Duration) []float64 {
	demands := make([]float64, settleRegions)
	for i := range demands {
		demands[i] = settleRate * settleDemand(i, at)
	}
	return waterfill(demands, settleRate)
}

// deviation is the mean over all regions of how far they are from their shares.
func (c counts) deviation(from, to time.Duration) (sum float64) {
	for i, share := range fair(from) {
		sum += math.Abs(c.mean(i, from, to)/share-1) / settleRegions
	}
	return sum
}

// ripple is the most that a window between two moments differs from the shares.
func (c counts) ripple(from, to time.Duration) float64 {
	most := 0.0
	for at := from; at+rippleWindow <= to; at += settleStep {
		most = max(most, c.off(fair(from), at, at+rippleWindow))
	}
	return most
}

// off is how far the region that is farthest from its share is from it.
func (c counts) off(shares []float64, from, to time.Duration) float64 {
	most := 0.0
	for i, share := range shares {
		most = max(most, math.Abs(c.mean(i, from, to)/share-1))
	}
	return most
}

// settledAfter finds Settling after one move.
func settledAfter(c counts, move time.Duration) time.Duration {
	shares := fair(move)
	next := move + settleEvery - settleStep
	for at := move; at+settleWindow <= next; at += settleStep {
		if c.off(shares, at, at+settleWindow) <= settleWithin && c.off(shares, at, next) <= settleWithin {
			return at - move
		}
	}
	return -1
}
