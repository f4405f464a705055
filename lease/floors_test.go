package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// Floors move to another region while the owner of one of the old ones is cut
// off: the new owner gets its part only when all parts fit into the limit.
func TestLaw12_FloorsThatMoveAreNeverMoreThanTheLimit(t *testing.T) {
	window := perWindow(t, 1000, time.Minute)
	window.FloorTTL = 10 * time.Minute
	for name, terms := range map[string]lease.Terms{"a token bucket": perMinute(1000, 1000), "a window": window} {
		t.Run(name, func(t *testing.T) {
			part := func(region string, tokens int64) lease.FloorTerms {
				return lease.FloorTerms{Region: region, Tokens: tokens, Burst: min(terms.Burst, tokens)}
			}
			terms.Floors = []lease.FloorTerms{part("ap", 500), part("us", 500)}
			r := newRig(t, terms)
			for _, n := range []string{"ap", "eu", "us"} {
				r.join(n)
			}
			r.run(2 * time.Minute)
			us := r.holders["us"]
			delete(r.holders, "us")
			terms.Floors = []lease.FloorTerms{part("eu", 1000)}
			r.setPolicy(terms)
			r.holders["us"] = us
			r.closed = map[string]bool{"us": true}
			r.join("ap")
			r.join("eu")
			for range 5 {
				r.run(2 * time.Minute)
				n := r.drain("us", "k") + r.drain("eu", "k") + r.drain("ap", "k")
				require.LessOrEqual(t, n, int64(1000))
			}
			r.run(4 * time.Minute)
			require.Equal(t, 1, r.quota().Floors, "its lease has ended")
			require.Equal(t, int64(1000), r.drain("eu", "k"))
		})
	}
}

// The limit stays what it was, told in other words, while the owner of a floor
// is cut off and goes on by the old ones.
func TestLaw12_AFloorKeepsItsPeriodWhenThePolicyChangesIt(t *testing.T) {
	for name, change := range map[string]func(*rig, lease.Terms){
		"a policy changes": func(r *rig, terms lease.Terms) { r.setPolicy(terms) },
		"a leader comes with another": func(r *rig, terms lease.Terms) {
			r.terms = []lease.Terms{terms}
			r.lead()
			r.join("eu")
		},
	} {
		t.Run(name, func(t *testing.T) {
			terms := lease.Terms{
				Quota: "api/key", Tokens: 10, Per: time.Second, Burst: 100, TTL: 5 * time.Second, FloorTTL: 10 * time.Minute,
				Floors: []lease.FloorTerms{{Region: "us", Tokens: 5, Burst: 5}},
			}
			r := newRig(t, terms)
			us := r.join("us")
			r.join("eu")
			r.hammer(10*time.Second, "k", "us", "eu")
			require.Equal(t, 1, r.quota().Floors)
			delete(r.holders, "us")
			r.closed = map[string]bool{"us": true}
			terms.Tokens, terms.Per, terms.Floors = 600, time.Minute, []lease.FloorTerms{{Region: "us", Tokens: 300, Burst: 5}}
			change(r, terms)
			r.holders["us"] = us
			n := r.hammer(2*time.Minute, "k", "us", "eu")
			require.LessOrEqual(t, n, int64(100+1202))
			require.Greater(t, n, int64(1100))
			r.hammer(9*time.Minute, "k", "eu") // its lease has ended
			n = r.hammer(time.Minute, "k", "eu")
			require.InDelta(t, 600, n, 15, "the rate flows into the pool")
		})
	}
}
