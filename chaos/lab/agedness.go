package lab

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// sampling is how often it is noted where tokens are.
const sampling = 5 * time.Millisecond

// agedness tells false denials from true ones. Agedness is documented at
// [Agedness].
type agedness struct {
	w       *world
	samples []sample // a ring
	n       int      // samples ever taken
	spent   []int64  // by region
	lastAsk []time.Duration
	// What an ideal bucket had left after the admissions and false, or stranded,
	// denials.
	untrue, stranded bucket.TokenBucket
	exposed          float64 // sum over the samples of what regions held
}

// sample is where tokens were at a moment, and what each region had spent by then.
type sample struct {
	at    time.Duration
	pool  int64
	taken int64
	held  []int64
	spent []int64
}

// Agedness is how a denial is found to be false: tokens existed, for longer than a
// round trip of the region that was denied, where nobody used them.
//
// Of the tokens in a place, the oldest are taken to go first. So of what lay in the
// pool at the last sample before that time, there is still what was not taken
// out of the pool since; of what a region held then, what it did not spend since;
// and never more than lies there now. What is on its way does not count. Samples
// are 5 ms apart, by which a round trip counts longer than it is.
//
// A denial is false if what lay so long in the pool and in idle regions, which
// asked for nothing meanwhile, covers its cost. It is stranded if what lay so long
// anywhere does: also in regions that ask, and keep some for what comes next. But
// one token can make only one denial false: also an ideal bucket that is charged
// with all that was admitted, and with all earlier false denials, has to have the
// cost. So no more can be denied falsely than a system admits less than the ideal.
const Agedness = "denied although its tokens lay unused in the pool or in idle regions for longer than a round trip"

func newAgedness(w *world) agedness {
	a := agedness{
		w: w, spent: make([]int64, w.K), lastAsk: make([]time.Duration, w.K),
		untrue: w.Limit.bucket(), stranded: w.Limit.bucket(),
	}
	a.samples = make([]sample, int(w.Net.longest()/sampling)+3)
	for i := range a.samples {
		a.samples[i].held, a.samples[i].spent = make([]int64, w.K), make([]int64, w.K)
	}
	return a
}

// sample notes where tokens are now.
func (a *agedness) sample() {
	s := &a.samples[a.n%len(a.samples)]
	a.n++
	s.at = a.w.now
	s.pool, s.taken = a.w.system.pool()
	copy(s.spent, a.spent)
	for i := range s.held {
		s.held[i] = a.w.system.held(i)
		a.exposed += float64(s.held[i])
	}
}

// existed says whether a request that is denied now is so falsely, and whether
// its tokens are stranded.
func (a *agedness) existed(q *Request) (untrue, stranded bool) {
	s := a.before(a.w.now - a.w.Net.roundTrip(q.Region, a.w.K))
	if s == nil {
		return false, false
	}
	var idle, busy int64
	if s.pool > 0 {
		pool, taken := a.w.system.pool()
		idle = max(0, min(pool, s.pool-(taken-s.taken)))
	}
	for i := 0; i < a.w.K && idle < q.Cost; i++ {
		left := s.held[i] - (a.spent[i] - s.spent[i])
		if left <= 0 {
			continue
		}
		left = max(0, min(left, a.w.system.held(i)))
		if a.lastAsk[i] < s.at {
			idle += left
		} else {
			busy += left
		}
	}
	untrue = idle >= q.Cost && a.untrue.Take(a.w.now, q.Cost).OK
	stranded = idle+busy >= q.Cost && a.stranded.Take(a.w.now, q.Cost).OK
	return untrue, stranded
}

// admitted notes what a region spent.
func (a *agedness) admitted(q *Request) {
	a.spent[q.Region] += q.Cost
	a.untrue.Debit(a.w.now, q.Cost)
	a.stranded.Debit(a.w.now, q.Cost)
}

// asked notes that a region asks.
func (a *agedness) asked(q *Request) { a.lastAsk[q.Region] = a.w.now }

// before returns the newest sample at or before a moment.
func (a *agedness) before(at time.Duration) *sample {
	for i := a.n - 1; i >= 0 && i > a.n-1-len(a.samples); i-- {
		if s := &a.samples[i%len(a.samples)]; s.at <= at {
			return s
		}
	}
	return nil
}

// exposure is the mean of what all regions held together.
func (a *agedness) exposure() float64 {
	if a.n == 0 {
		return 0
	}
	return a.exposed / float64(a.n)
}
