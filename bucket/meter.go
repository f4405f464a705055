package bucket

import (
	"math/bits"
	"time"
)

// Meter integrates a rate that changes over time, so that any number of buckets that share it can be refilled
// late, each when it is touched, and still exactly: a bucket keeps the Mark of its last refill.
//
// It is a running sum of tokens × time in token-nanoseconds. Every int64 of tokens over every span of a
// time.Duration stays below 2^127, so the sum never wraps. A Meter is a comparable value, cheap to copy; its
// period is fixed for life. To change the period start another Meter, settle each bucket with the final Mark
// of the old one, and take its remainder along with [Rate.Carry].
type Meter struct {
	rate Rate
	at   time.Duration
	sum  Mark
}

// Mark is a reading of a Meter, 128 bits wide. Marks of one Meter and its copies are comparable, with == for the
// same reading; a Mark says nothing to another Meter. The zero Mark is the reading at the Meter's start.
type Mark struct {
	hi, lo uint64
}

// NewMeter returns a Meter that runs at r from now on, now being monotonic time.
func NewMeter(now time.Duration, r Rate) Meter {
	return Meter{rate: r, at: now}
}

// SetTokens makes the rate tokens for the same period from now on; a negative count accrues nothing. Time never
// runs back: an earlier now is taken as the latest one that SetTokens saw.
func (m *Meter) SetTokens(now time.Duration, tokens int64) {
	m.sum = m.Mark(now)
	m.at = max(m.at, now)
	m.rate.Tokens = tokens
}

// Rate returns the rate that the Meter runs at now.
func (m Meter) Rate() Rate { return m.rate }

// Mark reads the Meter at now. A now before the last change of the rate is taken as the moment of that change.
func (m Meter) Mark(now time.Duration) Mark {
	if now <= m.at {
		return m.sum
	}
	elapsed := uint64(now) - uint64(m.at) // exact also when the signed difference would not fit
	hi, lo := bits.Mul64(m.rate.tokens(), elapsed)
	lo, carry := bits.Add64(lo, m.sum.lo, 0)
	return Mark{hi: hi + m.sum.hi + carry, lo: lo}
}

// Since returns the whole tokens that accrued between two marks of this Meter, at most room, and the
// remainder to carry; remainder and room are those of [Rate.Accrue]. A from that is not before to accrues
// nothing. Only the period of the Meter matters: Since may be asked before or after a change of the rate.
func (m Meter) Since(from, to Mark, rem uint64, room int64) (tokens int64, newRem uint64) {
	lo, borrow := bits.Sub64(to.lo, from.lo, 0)
	hi, borrow := bits.Sub64(to.hi, from.hi, borrow)
	if borrow != 0 {
		hi, lo = 0, 0
	}
	return m.rate.settle(hi, lo, rem, room)
}
