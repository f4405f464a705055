package overshoot

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

// ErrQuery is what the errors of [ParseQuery] and [Query.Check] wrap. They name the parameter.
var ErrQuery = errors.New("invalid query")

// Query is what is asked of /v1/overshoot:
//
//	?quota=api/partner-key    that quota alone; may be repeated
//	?for=10m                  the worst case of any regions that are cut off for so long
//	?cut=eu,ap&for=10m        and the bound for these regions
type Query struct {
	Quotas []string
	Cut    []string // regions, each once
	For    time.Duration
	Asked  bool // there is a For
}

// maxFor is the longest cut that can be asked about: a longer one is a slip of the keyboard.
const maxFor = 100 * 366 * 24 * time.Hour

// ParseQuery reads the parameters of a request.
func ParseQuery(v url.Values) (Query, error) {
	for name := range v {
		if !slices.Contains([]string{"quota", "cut", "for"}, name) {
			return Query{}, fmt.Errorf("%w: %q: there are quota, cut and for", ErrQuery, name)
		}
	}
	q := Query{Quotas: v["quota"], Cut: regions(v["cut"])}
	if slices.Contains(q.Quotas, "") {
		return Query{}, fmt.Errorf("%w: quota: is empty", ErrQuery)
	}
	switch text := v["for"]; {
	case len(text) > 1:
		return Query{}, fmt.Errorf("%w: for: is given %d times", ErrQuery, len(text))
	case len(text) == 1:
		d, err := time.ParseDuration(text[0])
		if err != nil || d < 0 || d > maxFor {
			return Query{}, fmt.Errorf("%w: for: %q is not a duration of 0s to %v such as 90s or 10m", ErrQuery, text[0], maxFor)
		}
		q.For, q.Asked = d, true
	}
	switch {
	case v.Has("cut") && !q.Asked:
		return Query{}, fmt.Errorf("%w: cut: needs for, the time for which the regions are cut off", ErrQuery)
	case v.Has("cut") && (len(q.Cut) == 0 || slices.Contains(q.Cut, "")):
		return Query{}, fmt.Errorf("%w: cut: the name of a region is empty", ErrQuery)
	}
	return q, nil
}

// regions splits lists of names, and takes each name once.
func regions(lists []string) (names []string) {
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Check refuses quotas that the policy does not have, and regions that are not among the places.
func (q *Query) Check(set *policy.Set, places []partition.Place) error {
	for _, id := range q.Quotas {
		if set.Quota(id) == nil {
			return fmt.Errorf("%w: quota: the policy has no %q; a quota is named domain/name", ErrQuery, id)
		}
	}
	for _, name := range q.Cut {
		if !slices.ContainsFunc(places, func(p partition.Place) bool { return p.Region == name }) {
			known := make([]string, len(places))
			for i, p := range places {
				known[i] = p.Region
			}
			return fmt.Errorf("%w: cut: no quota lists a region %q and none of its processes is known; there are %s",
				ErrQuery, name, strings.Join(known, ", "))
		}
	}
	return nil
}

// Wants says that a quota is asked for.
func (q *Query) Wants(id string) bool { return len(q.Quotas) == 0 || slices.Contains(q.Quotas, id) }

// Suppose adds to out what is asked about cuts that are supposed, by the quota that it is of.
func (q *Query) Suppose(out *Quota, of *policy.Quota, ρ lease.Drift, places []partition.Place) {
	if !q.Asked {
		return
	}
	if len(q.Cut) > 0 {
		var cut []partition.Place
		for _, p := range places {
			if slices.Contains(q.Cut, p.Region) {
				cut = append(cut, p)
			}
		}
		out.Given = q.supposed(of, ρ, cut)
	}
	out.Worst = make([]Supposed, 0, len(places))
	worst := partition.Costliest(places)
	for n := range worst {
		out.Worst = append(out.Worst, *q.supposed(of, ρ, worst[:n+1]))
	}
}

func (q *Query) supposed(of *policy.Quota, ρ lease.Drift, cut []partition.Place) *Supposed {
	r := partition.Worst(of, ρ, cut, len(cut), q.For)
	s := &Supposed{For: Seconds(q.For), Bound: NewBound(&r), Cut: make([]Place, len(cut))}
	for i, p := range cut {
		s.Cut[i] = Place(p)
	}
	return s
}
