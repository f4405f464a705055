// Package engine runs one drill: it starts a fleet, loads it, does what the
// scenario says while it asks every process how it is, heals, and makes a result
// of what was seen.
package engine

import (
	"log/slog"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

// Options are what Run is told; all must be given but Progress.
type Options struct {
	// Scenario is scaled already.
	Scenario *scenario.Scenario
	Network  fleet.Network
	Binary   string
	Log      *slog.Logger
	// Target is a deployment to load and to measure, instead of one that is
	// started; Network and Binary are then not used. The scenario's faults are not
	// made either: an operator makes them, and Marks tells of them.
	Target *fleet.Target
	Marks  <-chan Mark
	// Progress hears of every event when it happens. It must not block.
	Progress func(result.Event)
}

// Mark is what an operator says: that a fault begins or, if Healed, that it has
// ended.
type Mark struct {
	Text   string `json:"text"`
	Healed bool   `json:"healed"`
}

const (
	// bootTimeout is how long everything may take to start.
	bootTimeout = 90 * time.Second
	// endTimeout is how long a process may take to end in good order, to stand
	// still, or to get ready again.
	endTimeout = 20 * time.Second
	// watchInterval is how often it is looked whether the drill must stop.
	watchInterval = time.Second
)
