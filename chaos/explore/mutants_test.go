//go:build mutants

package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// hunt is a scene in which a broken law shows soon. Each begins where every
// law was still kept, and the search finds the rest of the way by itself.
type hunt struct {
	mutant string
	scene  *Scene
}

func hunts() []hunt {
	scene := map[string]*Scene{}
	for _, s := range Scenes() {
		scene[s.Name] = s
	}
	cold := quiet()
	warm := together(cold, ask(0))
	spent := together(warm, []Action{{Kind: Take, Who: 0, Arg: 1}, {Kind: Take, Who: 0, Arg: 1}})
	told := together(spent, []Action{{Kind: Report, Who: 0}, {Kind: Up}})
	empty := together(told, ask(1), []Action{{Kind: Take, Who: 1, Arg: 1}})
	second := together(warm, []Action{{Kind: Succeed}, {Kind: Scan, Who: 1}}, join(1, 1))
	rest := []Action{{Kind: Take, Who: 1, Arg: 1}, {Kind: Report, Who: 1}, {Kind: Up}, {Kind: Past}, {Kind: Past}, {Kind: Tick}}
	expired := together(spent, ask(1), rest)
	zombie := bucketScene("a zombie", Budget{Steps: 3}, together(warm, []Action{{Kind: Usurp}, {Kind: Scan, Who: 1}})...)
	zombie.Quantum = 800 * time.Millisecond
	return []hunt{
		{"cap on A alone", scene["refill"]},
		{"a grant before its commit", scene["store"]},
		{"an inherited chunk forgotten", bucketScene("a second takeover", Budget{Takeovers: 1, Reconnects: 1}, second...)},
		{"a takeover from full buckets", bucketScene("all spent", Budget{Takeovers: 1, Reconnects: 1}, empty...)},
		{"add instead of max", scene["messages"]},
		{"one account over an expiry", bucketScene("an expiry", Budget{Steps: 2}, spent...)},
		{"credit at expiry", bucketScene("expired", Budget{}, expired...)},
		{"a retry re-anchors the deadline", bucketScene("a late grant", Budget{Steps: 3}, warm...)},
		{"a drop after the lease alone", zombie},
		{"no fence at the holder", scene["takeovers"]},
		{"an old session is heard", bucketScene("a third session", Budget{Reconnects: 1}, together(warm, join(0, 0))...)},
		{"a second Hello resets", scene["sessions"]},
		{"floors of a window not reserved", scene["floors of windows"]},
	}
}

func TestMutantsAreFound(t *testing.T) {
	for _, h := range hunts() {
		t.Run(h.mutant, func(t *testing.T) {
			defer lease.SetMutant("")
			lease.SetMutant("")
			require.NoError(t, h.scene.Start().Check())
			lease.SetMutant(h.mutant)
			r := Search(h.scene, Limits{Depth: 20, Time: 30 * time.Second, Workers: 2})
			require.NotNil(t, r.Violation, "%v", r)
			t.Logf("%q in %q after %d actions and %d states: %v", h.mutant, h.scene.Name, len(r.Violation.Path), r.States, r.Violation.Err)
			t.Log("\n" + Story(h.scene, r.Violation.Path))
		})
	}
}
