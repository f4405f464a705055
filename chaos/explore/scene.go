package explore

import (
	"time"

	"github.com/a1009580/leasehold/lease"
)

// Scene is what a search begins with, and what may happen in it.
type Scene struct {
	Name  string
	Terms lease.Terms
	// Holders are the regions, one holder each. HolderClocks and LeaderClocks
	// say by how many millionths their clocks run too fast, within Drift; the
	// leaders' are taken in turn.
	Holders      []string
	HolderClocks []int64
	LeaderClocks []int64
	Drift        lease.Drift
	Election     time.Duration
	// InFlight is how many messages may be on their way in each direction, over
	// all holders. One more is lost.
	InFlight int
	Costs    []int64       // of requests
	Quantum  time.Duration // a step of time beside those to the deadlines
	Budget   Budget
	// Prologue has happened before the search begins.
	Prologue []Action
}

// Budget bounds what may go wrong, or not go on for ever, on one path.
type Budget struct {
	Duplicates uint8 // messages delivered and kept
	Drops      uint8
	Refusals   uint8 // transactions that the store did not write
	Unknowns   uint8 // transactions without an answer, written or not
	Reconnects uint8
	Crashes    uint8 // of holders, which begin again as other holders
	Leavings   uint8 // of holders, in good order
	Takeovers  uint8 // after the leader crashed or stopped
	Usurpers   uint8 // another leads while the old one lives on
	Steps      uint8 // of time
}

// Kind says what happens.
type Kind uint8

// The kinds of actions. What each is of stands in Action.
const (
	Take      Kind = iota // a request of cost Arg at holder Who
	Report                // holder Who ticks
	Up                    // the ledger gets message Arg
	UpAgain               // and it stays in flight
	UpLost                // it is lost
	Down                  // the holder gets message Arg
	DownAgain             // and it stays in flight
	DownLost              // it is lost
	Tick                  // leader Who ticks
	Scan                  // leader Who reads all records
	Land                  // the store does transaction Arg, and says so
	Refuse                // the store writes nothing, and says so
	LandMute              // the store writes it, and the answer is lost
	LoseMute              // the store writes nothing, and the answer is lost
	Connect               // holder Who opens a session with leader Arg
	Crash                 // holder Who begins again, with nothing
	Leave                 // holder Who returns everything and says goodbye
	Succeed               // the leader crashes, and another leads
	Usurp                 // another leads, while the old one lives on
	Before                // time goes on to just before the next deadline
	Past                  // to the next deadline
	Quantum               // by Scene.Quantum
)

// Action is one thing that happens.
type Action struct {
	Kind Kind
	Who  int8
	Arg  int8
}
