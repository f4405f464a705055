package policy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Set is everything that a coordinator enforces: one or more domains. Make one with [Parse].
type Set struct {
	Domains []*Domain // sorted by name, at least one

	domains   map[string]*Domain
	quotas    map[string]*Quota // by ID
	canonical []byte
}

// Domain is a namespace of quotas, named by every request.
type Domain struct {
	Name      string
	Unmatched Unmatched
	Quotas    []*Quota // sorted by name, may be empty

	index index
	rules *rules // of a domain that is written with descriptors
}

// Unmatched says what becomes of a request of a known domain that no quota matches.
type Unmatched uint8

// Allow is the default: the request is admitted, with the reason that it had no quota.
const (
	Allow Unmatched = iota
	Deny
)

var unmatcheds = []string{"allow", "deny"}

// String returns the word of the policy.
func (u Unmatched) String() string { return word(unmatcheds, int(u)) }

// Quota is a named limit of a domain.
type Quota struct {
	// ID is Domain + "/" + Name: the identity across revisions. A renamed quota is a new quota.
	ID           string
	Name, Domain string

	// Match holds the entries that a request must carry, sorted by key, each key once. None: the quota
	// matches every request of its domain.
	Match     []Entry
	Limit     Limit
	Lease     Lease
	Partition Partition

	// Regions are the listed regions, sorted by name. A region that is not listed may lease as well, with
	// weight 1 and no floor.
	Regions []Region

	// MaxKeys is the most buckets that one regional process keeps for this quota, from 1 to 10,000,000,
	// default 100,000. All keys beyond it share the bucket [OverflowKey].
	MaxKeys int

	// File, Line and Column are where the quota stands. They are no part of its meaning.
	File         string
	Line, Column int

	windows bucket.Windows
	order   int   // position among the domain's quotas
	rule    *Rule // whose quota this is, in a domain with rules
}

// Region is a listed region of a quota.
type Region struct {
	Name     string
	Weight   int64 // share of what is contended, 1 to 1,000,000, default 1
	Min, Max int64 // bounds of the region's tokens at a time, 1 to 2^53; 0 if there is none
	Nodes    int   // the region's floor is divided into that many equal parts, 1 to 1,000, default 1
}

// Lease says how tokens are lent to regions.
type Lease struct {
	TTL  time.Duration // 1s to 1m, default 5s. The lease of a window quota ends with its window instead.
	Size int64         // tokens of each lease, at most the limit's capacity; 0 is auto: by demand
}

// Quota returns the quota with this ID ("domain/name"), or nil.
func (s *Set) Quota(id string) *Quota { return s.quotas[id] }

// Domain returns the domain of this name, or nil.
func (s *Set) Domain(name string) *Domain { return s.domains[name] }

// Fingerprint identifies the meaning of the set: comments, format, the order of anything, and defaults that
// are spelled out do not change it.
func (s *Set) Fingerprint() [32]byte { return sha256.Sum256(s.canonical) }

// Equal reports whether the two sets mean the same.
func (s *Set) Equal(t *Set) bool { return bytes.Equal(s.canonical, t.canonical) }

// HasRules says that every domain is written with descriptors instead of quotas, as those of
// envoyproxy/ratelimit are.
func (s *Set) HasRules() bool {
	return !slices.ContainsFunc(s.Domains, func(d *Domain) bool { return d.rules == nil })
}

// Rule returns the rule whose quota this is, nil in a domain with quotas.
func (q *Quota) Rule() *Rule { return q.rule }

// Region returns the listed region of this name.
func (q *Quota) Region(name string) (Region, bool) {
	i := slices.IndexFunc(q.Regions, func(r Region) bool { return r.Name == name })
	if i < 0 {
		return Region{}, false
	}
	return q.Regions[i], true
}

// NodeFloor returns what one of the region's nodes owns while it is cut off: tokens for each Limit.Per and a
// burst, or tokens for each window, rounded down, so that the parts never add up to more than the region's
// floor. Both are 0 for a region that is not listed, and 0 is nothing, never unlimited.
func (q *Quota) NodeFloor(region string) (tokens, burst int64) {
	r, ok := q.Region(region)
	if !ok {
		return 0, 0
	}
	return q.Partition.FloorTokens / int64(r.Nodes), q.Partition.FloorBurst / int64(r.Nodes)
}

// Windows returns the windows of a window quota. They are those of one Parse: zones are compared by pointer.
// For a token bucket they are the zero Windows.
func (q *Quota) Windows() bucket.Windows { return q.windows }

// newSet sorts and indexes domains whose names, like those of their quotas, are unique.
func newSet(domains []*Domain) *Set {
	s := &Set{Domains: domains, domains: make(map[string]*Domain), quotas: make(map[string]*Quota)}
	slices.SortFunc(s.Domains, func(a, b *Domain) int { return cmp.Compare(a.Name, b.Name) })
	for _, d := range s.Domains {
		s.domains[d.Name] = d
		slices.SortFunc(d.Quotas, func(a, b *Quota) int { return cmp.Compare(a.Name, b.Name) })
		for i, q := range d.Quotas {
			q.order = i
			s.quotas[q.ID] = q
		}
		if d.rules == nil {
			d.index = newIndex(d.Quotas)
		}
	}
	s.canonical = s.appendCanonical(nil)
	return s
}
