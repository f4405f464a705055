package bucket

import (
	"math"
	"time"
)

// lowest is where debt saturates: far below any sum of real costs, and still so far from the end of the range
// that the room of a valid bucket fits an int64.
const lowest = math.MinInt64 / 2

// TokenBucket is one bucket with a level: it holds up to Burst tokens and gains Rate while it is not full. Over
// every interval of length T it admits at most Burst + Rate·T (the meter of Turner, "New directions in communications",
// IEEE Communications Magazine 24(10), 1986), and all of its whole tokens if the caller keeps asking.
//
// The zero TokenBucket denies everything. A TokenBucket is a comparable value and not safe for concurrent use.
// Every method first brings it up to now; a now before At is taken as At, so time never runs back and waits
// in a Result count from At.
type TokenBucket struct {
	Rate  Rate
	Burst int64         // capacity in tokens
	Level int64         // whole tokens there at At; below 0 is debt
	Rem   uint64        // fraction of the next token, in token-nanoseconds, less than Rate.Per
	At    time.Duration // monotonic time that Level and Rem are of
}

// Full returns a bucket born with its whole burst at now. A negative burst is 0.
func Full(now time.Duration, rate Rate, burst int64) TokenBucket {
	b := Empty(now, rate, burst)
	b.Level = b.Burst
	return b
}

// Empty returns a bucket born without a token at now. A negative burst is 0.
func Empty(now time.Duration, rate Rate, burst int64) TokenBucket {
	return TokenBucket{Rate: rate, Burst: max(burst, 0), At: now}
}

// Advance brings the bucket up to now.
func (b *TokenBucket) Advance(now time.Duration) {
	b.Level = min(b.Level, b.Burst)
	if now <= b.At {
		return
	}
	gained, rem := b.Rate.Accrue(sub(now, b.At), b.Rem, sub(b.Burst, b.Level))
	b.Level += gained
	b.Rem, b.At = rem, now
}

// Take spends n tokens if they are all there, and else none. A denial consumes nothing. A cost of 0 asks: it is
// OK if at least one token is there, waits as a cost of 1 would, and never consumes.
func (b *TokenBucket) Take(now time.Duration, n int64) Result {
	b.Advance(now)
	ok := n >= 0 && need(n) <= b.Level
	if ok {
		b.Level -= n
	}
	r := answer(ok, n, b.Burst, b.Level)
	r.Reset, _ = b.Rate.TimeFor(sub(b.Burst, b.Level), b.Rem)
	if r.waits() {
		r.RetryAfter, _ = b.Rate.TimeFor(sub(need(n), b.Level), b.Rem)
	}
	return r
}

// TakeUpTo spends as many tokens as are there, at most n, and returns how many: never below 0, also in debt.
func (b *TokenBucket) TakeUpTo(now time.Duration, n int64) int64 {
	b.Advance(now)
	taken := max(min(n, b.Level), 0)
	b.Level -= taken
	return taken
}

// Debit takes n tokens whether they are there or not; what is missing becomes debt, which accrual pays off
// first. It saturates at 2^62 tokens of debt. A negative n changes nothing: a debit cannot mint.
func (b *TokenBucket) Debit(now time.Duration, n int64) {
	b.Advance(now)
	b.Level = max(sub(b.Level, max(n, 0)), lowest)
}

// Refund puts back n tokens that were taken and not used, as far as there is room, and returns how many fitted.
// A negative n changes nothing. A bucket that becomes full drops its remainder as in [Rate.Accrue].
func (b *TokenBucket) Refund(now time.Duration, n int64) int64 {
	b.Advance(now)
	given := max(min(n, sub(b.Burst, b.Level)), 0)
	b.Level += given
	b.dropIfFull()
	return given
}

// Reconfigure changes rate and burst from now on; until now the old ones count. A raise adds room, not tokens: waits
// are by the new rate at once, the level is what it was. A cut takes what is above the new burst, and debt
// stays. The carried fraction of a token is kept, rounded down. A negative burst is 0.
func (b *TokenBucket) Reconfigure(now time.Duration, rate Rate, burst int64) {
	b.Advance(now)
	b.Rem = rate.Carry(b.Rem, b.Rate)
	b.Rate, b.Burst = rate, max(burst, 0)
	b.Level = min(b.Level, b.Burst)
	b.dropIfFull()
}

func (b *TokenBucket) dropIfFull() {
	if b.Level >= b.Burst {
		b.Rem = 0
	}
}
