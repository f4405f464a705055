package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/overshoot"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *time.Time {
	t := noon.Add(-d)
	return &t
}

func length(d time.Duration) *overshoot.Seconds {
	s := overshoot.Seconds(d)
	return &s
}

// links is what a coordinator answers.
func links(leads bool) overshoot.Links {
	l := overshoot.Links{Source: overshoot.Coordinator, Leads: leads, At: noon, Links: []overshoot.Link{}}
	if !leads {
		return l
	}
	l.Since, l.Forgotten = ago(2*time.Hour), 3
	l.Links = []overshoot.Link{
		{
			Region: "ap", Node: "ap-1", State: "connected", Reason: "it answers", Since: overshoot.Seconds(2 * time.Hour),
			LastProof: length(123456 * time.Microsecond), Session: 4, Transitions: 1,
		},
		{
			Region: "eu", Node: "eu-1", State: "cut_off", Reason: "it has not answered for 75s; it sends, but does not hear us", Since: overshoot.Seconds(72 * time.Second),
			LastProof: length(75 * time.Second), Session: 5, Transitions: 3, Cut: overshoot.Cut{Open: true, Length: overshoot.Seconds(75 * time.Second)},
		},
		{
			Region: "eu", Node: "eu-2", State: "healing", Reason: "it answers again", Since: overshoot.Seconds(1500 * time.Millisecond),
			LastProof: length(0), Session: 9, Transitions: 12,
			Cut: overshoot.Cut{Number: 7, Open: true, Length: overshoot.Seconds(20 * time.Minute), Total: 7},
		},
		{
			Region: "us", Node: "us-1", State: "gone", Reason: "it said goodbye", Since: overshoot.Seconds(time.Minute),
			LastProof: length(time.Minute), Transitions: 2, Cut: overshoot.Cut{Number: 1, Length: overshoot.Seconds(9 * time.Second), Total: 1},
		},
	}
	return l
}

func TestLinksOfACoordinator(t *testing.T) {
	c := serve(t, map[string]any{"/v1/links": links(true)})
	code, out, errs := leasehold(t, "", "links", "--coordinator", c.URL)
	require.Equal(t, OK, code, errs)
	assert.Empty(t, errs)
	golden(t, "links.golden", strings.ReplaceAll(out, c.URL, "http://127.0.0.1:7401"))
}

func TestLinksOfARegion(t *testing.T) {
	body := overshoot.Links{Source: overshoot.Region, Region: "eu", Node: "eu-1", Since: ago(time.Hour), At: noon, Links: []overshoot.Link{{
		Region: "eu", Node: "eu-1", State: "cut_off", Reason: "no answer for 3s", Since: overshoot.Seconds(4 * time.Second),
		LastProof: length(7 * time.Second), Cut: overshoot.Cut{Number: 2, Open: true, Length: overshoot.Seconds(4 * time.Second), Total: 2},
		Held: &overshoot.Held{Lease: 40, LeaseEnds: overshoot.Seconds(1200 * time.Millisecond), Unreserved: true, Quotas: []overshoot.HeldQuota{
			{Quota: "api/browse", Mode: "local_fallback", Lease: 40, LeaseEnds: overshoot.Seconds(1200 * time.Millisecond), Overspent: 110},
			{Quota: "api/free"},
			{Quota: "api/key", Mode: "local_floor", FloorOwned: true, FloorSpent: 17},
		}},
	}}}
	r := serve(t, map[string]any{"/v1/links": body})
	code, out, errs := leasehold(t, "", "links", "--region", r.URL)
	require.Equal(t, OK, code, errs)
	golden(t, "links-region.golden", strings.ReplaceAll(out, r.URL, "http://10.0.3.4:7501"))

	body.Links[0].Held = &overshoot.Held{}
	body.Links[0].LastProof = nil
	r = serve(t, map[string]any{"/v1/links": body})
	code, out, errs = leasehold(t, "", "links", "--region", r.URL)
	require.Equal(t, OK, code, errs)
	assert.Contains(t, out, "no leased tokens are left; nothing is spent unreserved")
	assert.Contains(t, out, "  never  ")
}

func TestAProcessCannotWriteToTheTerminal(t *testing.T) {
	body := links(true)
	body.Links[0].Region, body.Links[1].Node, body.Links[2].Reason = "a\x1b[2J", "b\tc\nd", "\u202eé"
	c := serve(t, map[string]any{"/v1/links": body})
	code, out, errs := leasehold(t, "", "links", "--coordinator", c.URL)
	require.Equal(t, OK, code, errs)
	assert.Contains(t, out, "a\uFFFD[2J  ")
	assert.Contains(t, out, "b\uFFFDc\uFFFDd  ")
	assert.Contains(t, out, "\uFFFDé\n")
}

func TestLinksAsJSON(t *testing.T) {
	c := serve(t, map[string]any{"/v1/links": links(true)})
	code, out, errs := leasehold(t, "", "links", "--json", "--coordinator", c.URL)
	require.Equal(t, OK, code, errs)
	var back overshoot.Links
	require.NoError(t, json.Unmarshal([]byte(out), &back))
	assert.Equal(t, links(true), back)
}
