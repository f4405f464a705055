package overshoot

import "time"

// The sources of a Report and of Links. Nobody serves a report from a policy alone: a command computes it.
const (
	Coordinator = "coordinator"
	Region      = "region"
	Policy      = "policy"
)

// Report is the body of GET /v1/overshoot: by how much each limit can be and was exceeded. All tokens are of
// the worst bucket of a quota, that is of one key.
type Report struct {
	// Source is coordinator or region. A coordinator tells of all regions that it heard of since it leads; a
	// region, whose name and node are given, of itself alone.
	Source string `json:"source"`
	Region string `json:"region,omitempty"`
	Node   string `json:"node,omitempty"`
	// Leads says of a coordinator that it leads and hears the reports, and of a region that a session is open. A
	// standby knows only the policy: its Since and Observed are null, and its bounds are of no cut.
	Leads bool `json:"leads"`
	// Since is from when on cuts and tokens are counted: when this leader was elected, or this region started.
	Since *time.Time `json:"since"`
	// At is when this was computed.
	At time.Time `json:"at"`
	// PolicyRevision is that in force, 0 if none is.
	PolicyRevision uint64 `json:"policy_revision"`
	// DriftPPM is the ρ of the formulas, in parts per million.
	DriftPPM int64   `json:"drift_ppm"`
	Quotas   []Quota `json:"quotas"` // by domain and name
}

// Quota is one quota of a Report.
type Quota struct {
	Quota string `json:"quota"` // domain/name
	// Mode is what becomes of it when a region is cut off; empty for an unbounded limit.
	Mode string `json:"mode,omitempty"`
	// Exact says that no cut adds anything in the mode in force.
	Exact bool   `json:"exact"`
	Limit string `json:"limit"` // in words
	// Bound is that of what took place since Report.Since: cuts, those that go on until now, and a limit that was
	// lowered. What was observed never exceeds it.
	Bound Bound `json:"bound"`
	// Observed is null where nobody hears reports.
	Observed *Observed `json:"observed"`
	// Margin is the bound less what was observed at most, in tokens. It is null without a bound or an observation,
	// and below 0 only if the promise was broken.
	Margin *int64 `json:"margin_tokens"`
	// FloorSpent and Overspent are the tokens of all buckets that are known to be spent from floors, and
	// unreserved while cut off.
	FloorSpent int64 `json:"floor_spent_tokens"`
	Overspent  int64 `json:"overspent_tokens"`
	// Proxies is the most that proxies may still admit of what a region assigned to them by Envoy's quota protocol,
	// ProxiesBound the most that this can be. They come on top of the promise, and are absent where it is not served.
	Proxies      *int64 `json:"proxies_tokens,omitempty"`
	ProxiesBound *int64 `json:"proxies_bound_tokens,omitempty"`
	// Given is what the regions of ?cut=eu,ap&for=10m would add, once and all together; Worst, with ?for=10m,
	// what any 1, 2 and so on up to all regions would add that are known.
	Given *Supposed  `json:"given,omitempty"`
	Worst []Supposed `json:"worst,omitempty"`
}

// Bound is the most, in tokens, by which a limit can be exceeded.
type Bound struct {
	// Tokens is null without a bound.
	Tokens    *int64 `json:"tokens"`
	Unbounded bool   `json:"unbounded"`
	// Saturated says that Tokens is the largest int64 and the bound above it.
	Saturated bool `json:"saturated,omitempty"`
	// Percent is that of Allowed, what the limit itself allows in Span, the least time in which all of the bound
	// could be spent. It is null without a bound.
	Percent *float64 `json:"percent"`
	Allowed int64    `json:"allowed_tokens"`
	Span    Seconds  `json:"span_seconds"`
	// Lines are what the bound is the sum of; what adds nothing has none.
	Lines []Line `json:"lines"`
}

// Line is one part of a Bound: holders · cuts · (burst + (1+ρ) · rate · time).
type Line struct {
	Text string `json:"text"` // the whole of it for people
	// Kind is cut, open (a cut that goes on), lowered (a limit) or told (what was reported of cuts under a policy
	// that this coordinator never knew).
	Kind   string `json:"kind"`
	Region string `json:"region,omitempty"`
	Holder string `json:"holder,omitempty"`
	Note   string `json:"note,omitempty"`
	// Holders and Cuts are at least 1.
	Holders int   `json:"holders"`
	Cuts    int   `json:"cuts"`
	Burst   int64 `json:"burst_tokens"`
	// Rate is in tokens for each RatePer.
	Rate    int64   `json:"rate_tokens"`
	RatePer Seconds `json:"rate_per_seconds"`
	Time    Seconds `json:"time_seconds"` // of each cut, what counts
	// Tokens is null without a bound.
	Tokens *int64 `json:"tokens"`
}

// Observed is by how much a limit was exceeded, in tokens: at least Low and, as far as it was reported, at most
// High.
type Observed struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
	// LowAt and HighAt are when they last rose; null if they never did.
	LowAt  *time.Time `json:"low_at"`
	HighAt *time.Time `json:"high_at"`
}

// Supposed is a bound of cuts that are supposed: each of the places once, for so long.
type Supposed struct {
	Cut   []Place `json:"cut"`
	For   Seconds `json:"for_seconds"`
	Bound Bound   `json:"bound"`
}

// Place is a region and how many of its processes are taken to be cut off: the nodes that the policy lists, or
// those that are known if they are more.
type Place struct {
	Region  string `json:"region"`
	Holders int    `json:"holders"`
}
