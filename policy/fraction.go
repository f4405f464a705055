package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/a1009580/leasehold/bucket"
)

// Fraction is an exact part of a whole, in lowest terms with Den above 0. The zero Fraction is no part.
type Fraction struct{ Num, Den int64 }

// Of returns that part of n tokens, rounded down. n is 0 to 2^53.
func (f Fraction) Of(n int64) int64 { return bucket.Scale(n, f.Num, f.Den) }

// String returns the percentage, as a decimal if it has one of at most 6 places: "2.5%", else "50%/11".
func (f Fraction) String() string {
	if f.Num == 0 {
		return "0%"
	}
	if micro := int64(100 * percentUnit); micro*f.Num%f.Den == 0 {
		n := micro * f.Num / f.Den
		s := fmt.Sprintf("%d.%06d", n/percentUnit, n%percentUnit)
		return strings.TrimRight(strings.TrimRight(s, "0"), ".") + "%"
	}
	p := reduce(100*f.Num, f.Den)
	return fmt.Sprintf("%d%%/%d", p.Num, p.Den)
}

// times returns k times f.
func (f Fraction) times(k int64) Fraction { return reduce(k*f.Num, f.Den) }

// defaultFloor is 5%, or 50%/k if that is less; nothing without regions.
func defaultFloor(k int64) Fraction {
	if k == 0 {
		return Fraction{}
	}
	return reduce(1, max(20, 2*k))
}

// percentUnit is one percent in the finest steps that a policy can write. With it, 100% of 64 regions is
// far below the range of int64.
const percentUnit = 1_000_000

// parsePercent reads a decimal percentage from 0% to 100%.
func parsePercent(s string) (f Fraction, ok bool) {
	number, ok := strings.CutSuffix(s, "%")
	whole, decimals, point := strings.Cut(number, ".")
	if !ok || whole == "" || len(whole) > 3 || len(decimals) > 6 || point == (decimals == "") {
		return f, false
	}
	n, err := strconv.ParseUint(whole+decimals+strings.Repeat("0", 6-len(decimals)), 10, 63)
	if err != nil || n > 100*percentUnit {
		return f, false
	}
	return reduce(int64(n), 100*percentUnit), true
}

func reduce(num, den int64) Fraction {
	if num == 0 {
		return Fraction{}
	}
	a, b := num, den
	for b != 0 {
		a, b = b, a%b
	}
	return Fraction{num / a, den / a}
}
