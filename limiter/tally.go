package limiter

import (
	"math/rand/v2"
	"sync/atomic"
)

// tally counts the decisions of one quota. Its counts are spread over stripes
// of one cache line each, so that cores which decide about the same quota at
// the same time do not take turns.
type tally struct {
	stripes [8]stripe
}

// stripe is as long as a cache line.
type stripe struct {
	counts [8]atomic.Int64
}

// What is counted, as an index into a stripe.
const (
	countAllowed = iota
	countExhausted
	countNoLease
	countCutOff
	countImpossible
	countOverflow
)

// add counts one.
func (t *tally) add(what int) {
	t.stripes[rand.Uint32()%uint32(len(t.stripes))].counts[what].Add(1)
}

// sum returns a count over all stripes.
func (t *tally) sum(what int) int64 {
	var n int64
	for i := range t.stripes {
		n += t.stripes[i].counts[what].Load()
	}
	return n
}

// countOf is where a decision for this reason is counted.
func countOf(r Reason) int {
	switch r {
	case Exhausted:
		return countExhausted
	case NoLease:
		return countNoLease
	case CutOff:
		return countCutOff
	case Impossible:
		return countImpossible
	default:
		return countAllowed
	}
}
