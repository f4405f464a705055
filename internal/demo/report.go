package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/a1009580/leasehold/internal/version"
)

// mostKeys is how many keys a report names.
const mostKeys = 20

// Report is what a demo did. It is what --json prints, one object at the end:
// fields are added and never renamed. Amounts are tokens, times are of the demo's
// own clock, which runs Speed times as fast as the wall's.
type Report struct {
	Version string  `json:"version"`
	Traffic string  `json:"traffic"` // "generated", or the name of the trace
	Speed   float64 `json:"speed"`
	Seconds float64 `json:"seconds"` // of clock time, from the first request to the last answer
	// BehindSeconds is by how much a trace was played late, at the worst.
	BehindSeconds float64 `json:"behind_seconds"`

	Total     Counts         `json:"total"`
	Regions   []RegionReport `json:"regions"`    // by name
	Keys      []KeyReport    `json:"keys"`       // the 20 with the most requests
	OtherKeys OtherKeys      `json:"other_keys"` // all others together

	// Quota is the one that the traffic is made for, Limit what it admits.
	Quota string `json:"quota"`
	Limit string `json:"limit"`
	// BoundTokens is by how much the promise may be exceeded, as computed from
	// the policy; it is null when a quota has no bound. ObservedTokens is the
	// most by which any bucket was seen to exceed it, over all intervals.
	// MarginTokens is how many tokens more the bucket that came closest could
	// have admitted before exceeding the bound.
	BoundTokens    *int64 `json:"bound_tokens"`
	ObservedTokens int64  `json:"observed_tokens"`
	MarginTokens   *int64 `json:"margin_tokens"`
	Kept           bool   `json:"promise_kept"`

	// LeasedTokens are in the regions and unspent at the end; StrandedTokens of
	// them are where nobody has asked for them lately.
	LeasedTokens   int64 `json:"leased_tokens"`
	StrandedTokens int64 `json:"stranded_tokens"`
}

// Counts are decisions. A failed request was not decided.
type Counts struct {
	Requests       int64 `json:"requests"`
	Admitted       int64 `json:"admitted"`
	Denied         int64 `json:"denied"`
	Failed         int64 `json:"failed"`
	AdmittedTokens int64 `json:"admitted_tokens"`
	DeniedTokens   int64 `json:"denied_tokens"`
}

// RegionReport is what one region decided.
type RegionReport struct {
	Region string `json:"region"`
	// RoundTripMillis is the distance between region and coordinator that was
	// simulated.
	RoundTripMillis float64 `json:"round_trip_ms"`
	Counts
}

// KeyReport is what was decided for one key.
type KeyReport struct {
	Key string `json:"key"`
	Counts
}

// OtherKeys is what was decided for the keys that are not named.
type OtherKeys struct {
	Keys int `json:"keys"`
	Counts
}

func (c *count) report() Counts {
	return Counts{
		Requests: c.requests(), Admitted: c.Admitted, Denied: c.Denied, Failed: c.Failed,
		AdmittedTokens: c.AdmittedTokens, DeniedTokens: c.DeniedTokens,
	}
}

// report sums up the demo so far.
func (d *demo) report(took, behind time.Duration) *Report {
	regions, sum := d.score.byRegion()
	top, rest, others := d.score.byKey(mostKeys)
	f := d.figures()
	r := &Report{
		Version: version.String(), Traffic: "generated", Speed: d.clock.Speed(),
		Seconds: took.Seconds(), BehindSeconds: behind.Seconds(), Total: sum.report(),
		OtherKeys: OtherKeys{Keys: others, Counts: rest.report()},
		Regions:   []RegionReport{}, Keys: []KeyReport{},
		Quota: d.target.quota.ID, Limit: d.target.quota.Limit.String(),
		ObservedTokens: max(0, f.over), Kept: true, LeasedTokens: f.leased, StrandedTokens: f.stranded,
	}
	if d.Trace != "" {
		r.Traffic = d.Trace
	}
	if f.bounded {
		bound, margin := f.bound, f.bound-f.over
		r.BoundTokens, r.MarginTokens, r.Kept = &bound, &margin, margin >= 0
	}
	for _, p := range d.world.places {
		c := regions[p.name]
		r.Regions = append(r.Regions, RegionReport{
			Region: p.name, RoundTripMillis: float64(p.roundTrip) / float64(time.Millisecond), Counts: c.report(),
		})
	}
	for i := range top {
		r.Keys = append(r.Keys, KeyReport{Key: top[i].Key, Counts: top[i].report()})
	}
	return r
}

// JSON writes the report as one object.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer) {
	fmt.Fprintf(w, "\n%s of traffic (%s) under %s, %s:\n\n", duration(r.Seconds), r.Traffic, r.Quota, r.Limit)
	const row = "  %-24s %10s %10s %10s %16s %14s\n"
	fmt.Fprintf(w, row, "region", "requests", "admitted", "denied", "tokens admitted", "tokens denied")
	line := func(name string, c Counts) {
		fmt.Fprintf(w, row, cut(name, 24), number(c.Requests), number(c.Admitted), number(c.Denied),
			number(c.AdmittedTokens), number(c.DeniedTokens))
	}
	for _, g := range r.Regions {
		line(g.Region, g.Counts)
	}
	line("all", r.Total)
	fmt.Fprintln(w)
	fmt.Fprintf(w, row, "key", "requests", "admitted", "denied", "tokens admitted", "tokens denied")
	for _, k := range r.Keys {
		line(k.Key, k.Counts)
	}
	if r.OtherKeys.Keys > 0 {
		line(fmt.Sprintf("%d other keys", r.OtherKeys.Keys), r.OtherKeys.Counts)
	}
	fmt.Fprintln(w)
	if r.Total.Failed > 0 {
		fmt.Fprintf(w, "  %s requests were not decided: their region was not ready.\n", number(r.Total.Failed))
	}
	if r.BehindSeconds > r.Speed/4 { // a quarter of a second, in real time
		fmt.Fprintf(w, "  The trace was played up to %s late: this machine is too slow for --speed %v.\n", duration(r.BehindSeconds), r.Speed)
	}
	if r.BoundTokens == nil {
		fmt.Fprintf(w, "  overshoot: bound none, observed %s\n", number(r.ObservedTokens))
		return
	}
	fmt.Fprintf(w, "  overshoot in tokens: bound %s, observed %s, margin %s: the promise was %s.\n",
		number(*r.BoundTokens), number(r.ObservedTokens), number(*r.MarginTokens), map[bool]string{true: "kept", false: "BROKEN"}[r.Kept])
}
