package bucket

import (
	"math"
	"math/bits"
	"time"
)

// MaxTokens is the largest limit, burst or count of tokens of a rate: 2^53, the largest range in which
// every integer survives a detour through JSON.
const MaxTokens int64 = 1 << 53

// Forever is the wait that no waiting ends, and what longer waits saturate at: about 292 years.
const Forever = time.Duration(math.MaxInt64)

// Scale returns tokens·num/den rounded down, for shares, floors and bursts given as a factor. It saturates at
// MaxTokens. A negative argument or a den of 0 gives 0: a share that cannot be computed denies.
func Scale(tokens, num, den int64) int64 {
	if tokens <= 0 || num <= 0 || den <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(tokens), uint64(num))
	if hi >= uint64(den) {
		return MaxTokens
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	return int64(min(q, uint64(MaxTokens)))
}

// sub returns a-b, saturated to the range of T.
func sub[T ~int64](a, b T) T {
	d := a - b
	if (a < b) == (d < 0) {
		return d
	}
	if a < b {
		return math.MinInt64
	}
	return math.MaxInt64
}

// floorDiv returns a/b rounded down; b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
