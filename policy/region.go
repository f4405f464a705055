package policy

import (
	"cmp"
	"slices"

	"github.com/a1009580/leasehold/bucket"
)

// regions reads the listed regions of a quota whose limit holds at most capacity tokens.
func (d *decoder) regions(n *node, capacity int64) []Region {
	pairs, ok := d.pairs(n, "regions")
	if !ok || len(pairs) == 0 {
		return nil
	}
	if len(pairs) > maxRegions {
		d.errorf(n, "regions", "%d are listed; the most is %d", len(pairs), maxRegions)
	}
	regions := make([]Region, 0, len(pairs))
	var reserved int64
	for _, p := range pairs {
		r := d.region(p.key, p.value)
		regions = append(regions, r)
		reserved = min(reserved+r.Min, bucket.MaxTokens) // no overflow; the capacity is no more either
		if capacity > 0 && reserved > capacity {
			d.errorf(p.value, "regions."+p.key.text+".min", "the minimums add up to more than the %d that the limit can hold at once", capacity)
			capacity = 0 // said once
		}
	}
	slices.SortFunc(regions, func(a, b Region) int { return cmp.Compare(a.Name, b.Name) })
	return regions
}

func (d *decoder) region(key, n *node) Region {
	r := Region{Name: d.name(key, "regions"), Weight: 1, Nodes: 1}
	o := d.object(n, "regions."+shorten(r.Name), "weight", "min", "max", "nodes")
	if o == nil {
		return r
	}
	r.Weight = o.integer("weight", maxWeight, 1)
	r.Min = o.integer("min", bucket.MaxTokens, 0)
	r.Max = o.integer("max", bucket.MaxTokens, 0)
	r.Nodes = int(o.integer("nodes", maxNodes, 1))
	if r.Max > 0 && r.Min > r.Max {
		d.errorf(o.get("min"), o.at("min"), "%d is above the max of %d", r.Min, r.Max)
	}
	return r
}
