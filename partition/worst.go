package partition

import (
	"cmp"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Place is a region and how many holders, that is regional processes, it has.
type Place struct {
	Region  string
	Holders int
}

// Places returns the listed regions of a quota with the nodes that it gives them. A region that is not listed
// may lease as well, and a region may run more processes than are listed: who knows the holders that are there
// takes the larger number.
func Places(q *policy.Quota) []Place {
	places := make([]Place, len(q.Regions))
	for i, r := range q.Regions {
		places[i] = Place{r.Name, r.Nodes}
	}
	return places
}

// Worst returns the bound for those n of the places cut off once, for so long, that add most: the ones with
// the most holders, since each adds the same. Of equal ones the first by name are taken. An n below 0 is none,
// one above their number all.
func Worst(q *policy.Quota, ρ lease.Drift, places []Place, n int, cut time.Duration) Result {
	worst := slices.SortedStableFunc(slices.Values(places), func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.Holders, a.Holders), cmp.Compare(a.Region, b.Region))
	})
	n = min(max(0, n), len(worst))
	cuts := make([]Cut, n)
	for i, p := range worst[:n] {
		cuts[i] = Cut{Region: p.Region, Holders: p.Holders, For: cut, Count: 1}
	}
	return Bound(q, ρ, cuts)
}

// WorstOfEach returns Worst for any 1, 2 and so on up to all of the places: element i is for i+1 of them.
func WorstOfEach(q *policy.Quota, ρ lease.Drift, places []Place, cut time.Duration) []Result {
	all := make([]Result, len(places))
	for i := range all {
		all[i] = Worst(q, ρ, places, i+1, cut)
	}
	return all
}
