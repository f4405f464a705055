package limiter

import (
	"sync/atomic"
	"unsafe"
)

// tally counts the decisions of one quota. Its counts are spread over stripes
// of one cache line each, so that cores which decide about the same quota at
// the same time do not take turns.
type tally struct {
	stripes [8]stripe
	falsely atomic.Int64 // denials for which the coordinator had the tokens
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
	countAdvised  // had too little, and denied nothing
	countRefunded // tokens
)

// add counts one.
func (t *tally) add(what int) { t.addN(what, 1) }

// addN counts n.
func (t *tally) addN(what int, n int64) { t.stripes[place()].counts[what].Add(n) }

// place is the stripe of whoever calls: goroutines run on stacks of their own, so
// that the address of something on the stack tells them apart. Those that share
// a stripe take turns and count as well.
func place() uintptr {
	var here byte
	return uintptr(unsafe.Pointer(&here)) >> stackBits * stackSpread >> stackShift
}

// Stacks begin at multiples of 2 KiB at least. Multiplied by 2^64 over the golden
// ratio, what tells them apart is in the highest bits, of which we take as many
// as there are stripes.
const (
	stackBits   = 11
	stackSpread = 0x9e3779b97f4a7c15
	stackShift  = 64 - 3
)

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
