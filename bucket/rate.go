package bucket

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// ErrRate is what [Rate.Validate] wraps.
var ErrRate = errors.New("invalid rate")

// Rate is Tokens for each Per. Tokens is in [0, MaxTokens], Per above 0. The methods also take a rate
// outside of these ranges: one without a positive Per, or with negative Tokens, accrues nothing.
type Rate struct {
	Tokens int64
	Per    time.Duration
}

// Validate returns nil or an error that wraps ErrRate and names the field and its value.
func (r Rate) Validate() error {
	if r.Tokens < 0 || r.Tokens > MaxTokens {
		return fmt.Errorf("%w: tokens %d: must be from 0 to %d", ErrRate, r.Tokens, MaxTokens)
	}
	if r.Per <= 0 {
		return fmt.Errorf("%w: per %v: must be above 0", ErrRate, r.Per)
	}
	return nil
}

// Accrue returns the whole tokens that accrue in elapsed, at most room, and the remainder to carry:
//
//	tokens = ⌊(Tokens·elapsed + rem) / Per⌋, newRem = what that division leaves
//
// rem is the remainder carried so far, in token-nanoseconds, less than Per; anything larger is not a
// remainder and counts as none. Time spent full is lost: once the room is filled the remainder is 0. An
// elapsed of 0 or less accrues nothing, a room of 0 or less is full.
//
// The result does not depend on how a stretch of time is cut into calls.
func (r Rate) Accrue(elapsed time.Duration, rem uint64, room int64) (tokens int64, newRem uint64) {
	var hi, lo uint64
	if elapsed > 0 {
		hi, lo = bits.Mul64(r.tokens(), uint64(elapsed))
	}
	return r.settle(hi, lo, rem, room)
}

// settle divides the token-nanoseconds hi:lo, below 2^127, with rem added, into tokens and remainder.
func (r Rate) settle(hi, lo, rem uint64, room int64) (int64, uint64) {
	per := r.per()
	if room <= 0 || per == 0 {
		return 0, 0
	}
	if rem >= per {
		rem = 0
	}
	lo, carry := bits.Add64(lo, rem, 0)
	hi += carry
	if hi >= per { // the quotient needs more than 64 bits: more than any room
		return room, 0
	}
	q, left := bits.Div64(hi, lo, per)
	if q >= uint64(room) {
		return room, 0
	}
	return int64(q), left
}

// TimeFor returns the least d for which Accrue(d, rem, room) gives n tokens if there is room for them:
//
//	d = ⌈(n·Per - rem) / Tokens⌉
//
// It is 0 for n of 0 or less, and saturates at Forever, which then means that long or longer. A rate that
// accrues nothing gives (Forever, false) for every n above 0.
func (r Rate) TimeFor(n int64, rem uint64) (time.Duration, bool) {
	if n <= 0 {
		return 0, true
	}
	tokens, per := r.tokens(), r.per()
	if tokens == 0 || per == 0 {
		return Forever, false
	}
	if rem >= per {
		rem = 0
	}
	hi, lo := bits.Mul64(uint64(n), per)
	lo, borrow := bits.Sub64(lo, rem, 0)
	hi -= borrow
	lo, carry := bits.Add64(lo, tokens-1, 0)
	hi += carry
	if hi >= tokens {
		return Forever, true
	}
	q, _ := bits.Div64(hi, lo, tokens)
	return time.Duration(min(q, math.MaxInt64)), true
}

// Carry converts a remainder that was carried under the rate from into one of r, rounded down: the
// fraction of a token stays what it was, and never grows.
func (r Rate) Carry(rem uint64, from Rate) uint64 {
	old := from.per()
	if rem >= old {
		return 0
	}
	hi, lo := bits.Mul64(rem, r.per())
	q, _ := bits.Div64(hi, lo, old) // hi < old, because rem < old
	return q
}

func (r Rate) tokens() uint64 { return uint64(max(r.Tokens, 0)) }

func (r Rate) per() uint64 { return uint64(max(r.Per, 0)) }
