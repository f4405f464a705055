package reconcile

import "math/bits"

// Shares divides total among those with wishes by weighted max-min fairness:
// nobody gets more than its wish, and nobody could get more without taking it
// from one who has less for its weight. What rounding leaves goes to one after
// the other, beginning at a place that moves with turn, so that a total smaller
// than the number of wishes reaches everyone in time.
//
// It is progressive filling, as in Bertsekas and Gallager, Data Networks,
// section 6.5.2. Wishes and total are at least 0, weights at least 1. A share
// of 0 is nothing; it never means unlimited.
func Shares(wishes, weights []int64, total int64, turn uint64) []int64 {
	shares := make([]int64, len(wishes))
	open := make([]bool, len(wishes))
	var weight int64
	for i := range wishes {
		open[i] = wishes[i] > 0
		if open[i] {
			weight += weights[i]
		}
	}
	// Whoever wants no more than its part of what is left is satisfied, which
	// leaves more for the others.
	for again := true; again && weight > 0; {
		again = false
		for i := range wishes {
			if open[i] && atMost(wishes[i], weight, total, weights[i]) {
				shares[i], open[i], again = wishes[i], false, true
				total -= wishes[i]
				weight -= weights[i]
			}
		}
	}
	left := total
	for i := range wishes {
		if open[i] {
			shares[i] = min(wishes[i], mulDiv(total, weights[i], weight))
			left -= shares[i]
		}
	}
	for n := uint64(len(wishes)); left > 0 && weight > 0; {
		before := left
		for i := uint64(0); i < n && left > 0; i++ {
			if j := (i + turn) % n; open[j] && shares[j] < wishes[j] {
				shares[j]++
				left--
			}
		}
		if left == before {
			break
		}
	}
	return shares
}

// atMost says whether wish·all <= total·part, exactly.
func atMost(wish, all, total, part int64) bool {
	ah, al := bits.Mul64(uint64(wish), uint64(all))
	bh, bl := bits.Mul64(uint64(total), uint64(part))
	return ah < bh || ah == bh && al <= bl
}
