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

// Known joins the places of all quotas of a policy with the holders that are there, by region: each has the larger
// number. A process enforces the whole policy, so that a region counts for every quota, also for one that does not
// list it. They are sorted by name.
func Known(set *policy.Set, there map[string]int) []Place {
	most := make(map[string]int, len(there))
	for region, n := range there {
		most[region] = max(0, n)
	}
	for _, d := range set.Domains {
		for _, q := range d.Quotas {
			for _, p := range Places(q) {
				most[p.Region] = max(most[p.Region], p.Holders)
			}
		}
	}
	places := make([]Place, 0, len(most))
	for region, n := range most {
		places = append(places, Place{region, n})
	}
	slices.SortFunc(places, func(a, b Place) int { return cmp.Compare(a.Region, b.Region) })
	return places
}

// Costliest returns the places with the ones first that add most when they are cut off: those with the most
// holders, since each adds the same; of equal ones the first by name.
func Costliest(places []Place) []Place {
	return slices.SortedStableFunc(slices.Values(places), func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.Holders, a.Holders), cmp.Compare(a.Region, b.Region))
	})
}

// Worst returns the bound for the n [Costliest] of the places cut off once, for so long. An n below 0 is none, one
// above their number all.
func Worst(q *policy.Quota, ρ lease.Drift, places []Place, n int, cut time.Duration) Result {
	worst := Costliest(places)
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
