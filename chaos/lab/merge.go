package lab

import (
	"cmp"
	"slices"
)

// mergeRequests puts the requests of all regions in the order of time; those of
// one moment in the order of their regions.
func mergeRequests(streams [][]Request) []Request {
	n := 0
	for _, s := range streams {
		n += len(s)
	}
	all := make([]Request, 0, n)
	for _, s := range streams {
		all = append(all, s...)
	}
	slices.SortStableFunc(all, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
	return all
}
