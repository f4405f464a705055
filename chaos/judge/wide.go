package judge

import "math/bits"

// wide is a signed integer of 192 bits, in two's complement, lowest word first:
// a count of tokens below 2^63 times 2^75 (a period in nanoseconds, in parts per
// million), or 2^73 (tokens in parts per million) times a time below 2^63, fit
// with room for their sums.
type wide [3]uint64

// least is below everything that is added up here, and adding to it does not
// make it wrap around.
func least() wide { return wide{0, 0, 1<<63 | 1<<62} }

func (a wide) plus(b wide) wide {
	var c uint64
	a[0], c = bits.Add64(a[0], b[0], 0)
	a[1], c = bits.Add64(a[1], b[1], c)
	a[2], _ = bits.Add64(a[2], b[2], c)
	return a
}

func (a wide) minus(b wide) wide {
	var c uint64
	a[0], c = bits.Sub64(a[0], b[0], 0)
	a[1], c = bits.Sub64(a[1], b[1], c)
	a[2], _ = bits.Sub64(a[2], b[2], c)
	return a
}

func (a wide) above(b wide) bool {
	if a[2] != b[2] {
		return int64(a[2]) > int64(b[2])
	}
	if a[1] != b[1] {
		return a[1] > b[1]
	}
	return a[0] > b[0]
}

// times returns a·n for a of 0 or more and below 2^128. n may be negative.
func (a wide) times(n int64) wide {
	m := uint64(n)
	if n < 0 {
		m = -m
	}
	hi0, lo0 := bits.Mul64(a[0], m)
	hi1, lo1 := bits.Mul64(a[1], m)
	mid, c := bits.Add64(lo1, hi0, 0)
	p := wide{lo0, mid, hi1 + c}
	if n < 0 {
		return wide{}.minus(p)
	}
	return p
}

// product returns a·b for numbers of 0 or more.
func product(a, b int64) wide {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return wide{lo, hi, 0}
}
