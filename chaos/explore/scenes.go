package explore

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// bucketScene is a token bucket of three tokens, one more in ten seconds, leased
// for two seconds, under the worst clocks that the drift allows: holders too
// slow, leaders too fast. What was spent is so not refilled before the scene is
// over, and a token too many shows.
func bucketScene(name string, budget Budget, prologue ...Action) *Scene {
	return &Scene{
		Name: name,
		Terms: lease.Terms{
			Quota: "q", Tokens: 1, Per: 10 * time.Second, Burst: 3, TTL: 2 * time.Second, FloorTTL: 4 * time.Second,
		},
		Holders: []string{"eu", "us"}, HolderClocks: []int64{-worst, -worst}, LeaderClocks: []int64{worst},
		Drift: worst, Election: time.Second, InFlight: 2, Costs: []int64{1},
		Budget: budget, Prologue: prologue,
	}
}

// worst is a drift of a tenth.
const worst = 100_000

// join connects a holder.
func join(i, leader int8) []Action {
	return []Action{{Kind: Connect, Who: i, Arg: leader}, {Kind: Up}, {Kind: Down}}
}

// ask has a holder be granted what it lacks: it asks, the tokens are set aside,
// it gets them.
func ask(i int8) []Action { return askFor(i, 1) }

// askFor is ask for a cost.
func askFor(i, cost int8) []Action {
	return []Action{{Kind: Take, Who: i, Arg: cost}, {Kind: Report, Who: i}, {Kind: Up}, {Kind: Down}, {Kind: Land}, {Kind: Down}}
}

func together(lists ...[]Action) (all []Action) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// quiet is both holders connected, and nothing left of the beginning: all
// records are read, and what older leaders could have left is gone.
func quiet() []Action {
	return together(join(0, 0), join(1, 0), []Action{{Kind: Scan}, {Kind: Past}, {Kind: Tick}})
}

// Scenes are what is explored.
func Scenes() []*Scene {
	cold := quiet()
	warm := together(cold, ask(0))
	both := together(warm, ask(1))
	spent := together(warm, []Action{{Kind: Take, Who: 0, Arg: 1}, {Kind: Take, Who: 0, Arg: 1}})
	refill := bucketScene("refill", Budget{Steps: 4}, warm...)
	refill.Terms.Per, refill.Quantum = time.Second, time.Second
	window := bucketScene("windows", Budget{Duplicates: 1, Reconnects: 1, Takeovers: 1, Steps: 3}, warm...)
	window.Terms = windowTerms()
	recalls := bucketScene("recalls", Budget{Duplicates: 1, Drops: 1, Steps: 1}, together(cold, askFor(0, 4))...)
	recalls.Terms.Burst, recalls.Costs = 6, []int64{1, 4}
	owned := together(cold, []Action{{Kind: Report, Who: 1}, {Kind: Up}, {Kind: Down}, {Kind: Land}, {Kind: Down}}, ask(0))
	floors := bucketScene("floors", Budget{Reconnects: 2, Crashes: 1, Takeovers: 1, Steps: 3}, owned...)
	floors.Terms.Floors = []lease.FloorTerms{{Region: "us", Tokens: 1, Burst: 1}}
	floors.Terms.Tokens, floors.Terms.Per = 2, 4*time.Second
	return []*Scene{
		bucketScene("messages", Budget{Duplicates: 1, Steps: 2}, warm...),
		bucketScene("losses", Budget{Drops: 2, Steps: 2}, both...),
		refill,
		bucketScene("sessions", Budget{Duplicates: 1, Reconnects: 2, Crashes: 1, Leavings: 1, Steps: 1}, both...),
		bucketScene("takeovers", Budget{Reconnects: 2, Takeovers: 2, Steps: 2}, spent...),
		bucketScene("two leaders", Budget{Reconnects: 2, Usurpers: 1, Steps: 2}, warm...),
		bucketScene("store", Budget{Refusals: 1, Unknowns: 1, Reconnects: 2, Takeovers: 1, Steps: 1}, warm...),
		bucketScene("everything", Budget{
			Duplicates: 1, Drops: 1, Refusals: 1, Unknowns: 1, Reconnects: 2, Crashes: 1, Leavings: 1, Takeovers: 1, Usurpers: 1, Steps: 4,
		}, both...),
		recalls, window, floors, windowFloors(owned),
	}
}

// windowFloors begins shortly before the first window that a floor may be spent
// in, with clocks that are apart: the owner crosses it by its own.
func windowFloors(owned []Action) *Scene {
	s := bucketScene("floors of windows", Budget{Reconnects: 1, Crashes: 1, Takeovers: 1, Steps: 4}, owned...)
	s.Terms = windowTerms()
	s.Terms.Floors = []lease.FloorTerms{{Region: "us", Tokens: 1}}
	s.Terms.FloorTTL, s.Quantum = 6*time.Second, 2*time.Second
	return s
}

func windowTerms() lease.Terms {
	w, err := bucket.FixedWindows(4 * time.Second)
	if err != nil {
		panic(err)
	}
	return lease.Terms{Quota: "q", Tokens: 3, Windowed: true, Windows: w, TTL: 2 * time.Second, FloorTTL: 4 * time.Second}
}
