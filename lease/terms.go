package lease

import (
	"slices"
	"strings"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Terms is what a ledger and a holder must know of one quota. It is made from
// a policy, which validated it.
type Terms struct {
	Quota string
	// Tokens is the limit: so many per Per for a token bucket, so many in
	// each window for a window quota. At most 2^53.
	Tokens int64
	Per    time.Duration // token bucket only
	Burst  int64         // token bucket only
	// Windowed says that this is a window quota, with the windows of Windows.
	Windowed bool
	Windows  bucket.Windows
	// TTL is the length of a token bucket's leases. A window lease ends with
	// its window.
	TTL time.Duration
	// Size is how many tokens a holder asks for at a time; 0 is by demand.
	Size    int64
	Regions []RegionTerms // by name
	// Floors are the parts of the regions' floors, one for each node that a
	// region may have. FloorTTL is the length of a floor's lease.
	Floors   []FloorTerms
	FloorTTL time.Duration
	// Unreserved is what a holder that is cut off may spend beyond its lease;
	// the exact modes have none.
	Unreserved Unreserved
}

// Unreserved is what the two modes that trade exactness for availability let a
// holder spend of each bucket while it is cut off, beside what it was leased:
// Burst at once and Rate from then on, counted anew in each cut. It is taken
// from nothing, so that a cut of length D adds Burst + (1+ρ)·Rate·min(D, For)
// to the promise, for each holder.
//
// The zero Unreserved allows nothing.
type Unreserved struct {
	Rate  bucket.Rate
	Burst int64
	// For is how long after its cut began a holder may do so; 0 is as long as
	// the cut lasts.
	For time.Duration
	// Unbounded lets everything pass, for as long as the cut lasts. It comes
	// from the literal word in a policy and from nowhere else (law 15).
	Unbounded bool
}

// Allows says whether anything at all is allowed.
func (u *Unreserved) Allows() bool { return u.Unbounded || u.Burst > 0 }

// RegionTerms is a region's standing among the others of one quota.
type RegionTerms struct {
	Region   string
	Weight   int64 // at least 1
	Min, Max int64 // tokens; 0 is none
}

// FloorTerms is one part of one region's floor: Tokens per Terms.Per with a
// burst of Burst. Its index in Terms.Floors is its slot.
type FloorTerms struct {
	Region string
	Tokens int64
	Burst  int64
}

// Rate returns the whole limit as a rate.
func (t *Terms) Rate() bucket.Rate { return bucket.Rate{Tokens: t.Tokens, Per: t.Per} }

// Region returns the terms of a region; one that is not listed has weight 1
// and no bounds.
func (t *Terms) Region(name string) RegionTerms {
	i, ok := slices.BinarySearchFunc(t.Regions, name, func(r RegionTerms, n string) int {
		return strings.Compare(r.Region, n)
	})
	if !ok {
		return RegionTerms{Region: name, Weight: 1}
	}
	return t.Regions[i]
}

// capacity returns the most that the pool, chunk and leases of a bucket may
// hold together, given the bursts of all its floors (law 11).
func (t *Terms) capacity(floorBursts int64) int64 {
	if t.Windowed {
		return t.Tokens
	}
	return max(0, t.Burst-floorBursts)
}

// lends says whether holders may be given more than they ask for: not of a window
// quota, of which a crash loses what a holder has until the window ends, and not
// where the policy fixes the size of leases.
func (t *Terms) lends() bool { return !t.Windowed && t.Size == 0 }

// ahead says whether holders may be given of a window quota what they will need later.
func (t *Terms) ahead() bool { return t.Windowed && t.Size == 0 }

// lead returns how much is set aside ahead of being granted: about one second
// of rate, at most an eighth of the burst (law 2).
func (t *Terms) lead() int64 {
	if t.Windowed {
		return t.Tokens / 64
	}
	second, _ := t.Rate().Accrue(time.Second, 0, t.Tokens)
	return min(second, t.Burst/8)
}
