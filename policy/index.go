package policy

// index finds the quotas that may match a request without asking all of them. Each quota is filed in one
// place, under the entry that the fewest quotas share, preferably one with an exact value. So every quota is
// met at most once, and a domain with a quota for each of hundreds of customers asks one.
type index struct {
	exact  map[Pair][]*Quota
	any    map[string][]*Quota // by key; quotas that have no exact entry
	always []*Quota            // quotas that have no entry at all
}

func newIndex(quotas []*Quota) index {
	shared := make(map[Entry]int)
	for _, q := range quotas {
		for _, e := range q.Match {
			shared[e]++
		}
	}
	x := index{exact: make(map[Pair][]*Quota), any: make(map[string][]*Quota)}
	for _, q := range quotas {
		if len(q.Match) == 0 {
			x.always = append(x.always, q)
			continue
		}
		best := q.Match[0]
		for _, e := range q.Match[1:] {
			if best.Any && !e.Any || best.Any == e.Any && shared[e] < shared[best] {
				best = e
			}
		}
		if best.Any {
			x.any[best.Key] = append(x.any[best.Key], q)
		} else {
			p := Pair{best.Key, best.Value}
			x.exact[p] = append(x.exact[p], q)
		}
	}
	return x
}

// appendMatching appends the quotas that match, in no order. No key may be twice in desc.
func (x *index) appendMatching(dst []*Quota, desc []Pair) []*Quota {
	dst = append(dst, x.always...)
	for i := range desc {
		for _, q := range x.exact[desc[i]] {
			if q.matches(desc) {
				dst = append(dst, q)
			}
		}
		for _, q := range x.any[desc[i].Key] {
			if q.matches(desc) {
				dst = append(dst, q)
			}
		}
	}
	return dst
}
