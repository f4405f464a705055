package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// FaultKind is what is done.
type FaultKind string

// The kinds of faults.
const (
	Cut         FaultKind = "cut"          // nothing passes between two groups
	Flap        FaultKind = "flap"         // a cut that opens and closes
	Slow        FaultKind = "slow"         // a long and lossy way from a region to the coordinators
	Kill        FaultKind = "kill"         // SIGKILL, and started again at the end
	Freeze      FaultKind = "freeze"       // SIGSTOP, and SIGCONT at the end
	Restart     FaultKind = "restart"      // in good order, one after the other
	WipeStore   FaultKind = "wipe_store"   // everything stops, and begins with an empty store
	RestoreOld  FaultKind = "restore_old"  // everything stops, and begins with a copy made At
	ChangeLimit FaultKind = "change_limit" // another policy
)

// Way is which directions a cut takes away.
type Way string

// The ways of a cut.
const (
	Both Way = "both"
	Out  Way = "out" // what the first group sends
	In   Way = "in"  // what it is sent
)

// Fault is one thing that is done in the fault phase.
type Fault struct {
	Kind FaultKind
	// At is since the fault phase began, For how long it lasts.
	At, For time.Duration
	// Nodes are one or more targets; From and To the two groups of a cut.
	Nodes    []string
	From, To string
	Way      Way

	Closed, Open time.Duration // of Flap
	RoundTrip    time.Duration // of Slow
	Loss         float64       // of Slow
	Policy       string        // of ChangeLimit

	Line int // of the file
}

// Groups and roles that name targets, beside the names of processes.
const (
	Regions      = "regions"
	Coordinators = "coordinators"
	Etcds        = "etcds"
	Everyone     = "everyone"
	Others       = "others"      // everyone that is not in the first group
	Leader       = "leader"      // the coordinator that leads when the fault begins
	Standby      = "standby"     // one that does not
	EtcdLeader   = "etcd-leader" // the member that leads when the fault begins
)

// Names returns the names of all processes, etcd first.
func (t *Topology) Names() []string {
	var names []string
	for i := range t.Etcd {
		names = append(names, fmt.Sprintf("etcd-%d", i+1))
	}
	for i := range t.Coordinators {
		names = append(names, fmt.Sprintf("coordinator-%d", i+1))
	}
	for _, r := range t.Regions {
		names = append(names, r.Name)
	}
	return names
}

// Targets returns everything that names one or more processes.
func (t *Topology) Targets() []string {
	return append(t.Names(), Regions, Coordinators, Etcds, Everyone, Others, Leader, Standby, EtcdLeader)
}

// String says a fault in words.
func (f *Fault) String() string {
	nodes := strings.Join(f.Nodes, ", ")
	switch f.Kind {
	case Cut, Flap:
		way := map[Way]string{
			Both: "%s and %s cannot reach each other", Out: "what %s sends does not reach %s", In: "nothing reaches %s from %s",
		}[f.Way]
		s := fmt.Sprintf(way, f.From, f.To)
		if f.Kind == Flap {
			s += fmt.Sprintf(", %v at a time, with %v between", f.Closed, f.Open)
		}
		return s
	case Slow:
		return fmt.Sprintf("from %s to the coordinators and back takes %v, and %.3g%% of the segments are lost", nodes, f.RoundTrip, 100*f.Loss)
	case Kill:
		return fmt.Sprintf("SIGKILL to %s, which is started again at the end", nodes)
	case Freeze:
		return fmt.Sprintf("SIGSTOP to %s, and SIGCONT at the end", nodes)
	case Restart:
		return fmt.Sprintf("%s are ended in good order and started again, one after the other", nodes)
	case WipeStore:
		return "coordinators and etcd are killed and begin with an empty store, as a new cluster"
	case RestoreOld:
		return "coordinators and etcd are killed and begin with a store that is as it was before"
	case ChangeLimit:
		return "the coordinators are given another policy"
	}
	return string(f.Kind)
}

// Pair says that a fault is between two groups.
func (f *Fault) Pair() bool { return slices.Contains([]FaultKind{Cut, Flap}, f.Kind) }

// ExpectationKind is what is expected.
type ExpectationKind string

// The kinds of expectations, beside the promise, which is one of every drill.
const (
	// Admitted is that a share of what the limit allows is admitted in a phase.
	Admitted ExpectationKind = "admitted"
	// Recovers is that the use of the limit comes back after the last fault ended.
	Recovers ExpectationKind = "recovers"
	// Leads is that a coordinator grants under a newer epoch soon after the first
	// fault.
	Leads ExpectationKind = "leads"
	// StaysReady is that a region says that it should be kept, throughout.
	StaysReady ExpectationKind = "stays_ready"
	// NoticesLoss is that the history in the epoch rises.
	NoticesLoss ExpectationKind = "notices_loss"
	// Adopts is that the new policy is in force everywhere at the end.
	Adopts ExpectationKind = "adopts_policy"
)

// Expectation is one of the scenario's own hypotheses.
type Expectation struct {
	Kind   ExpectationKind
	Phase  string
	Region string // of Admitted, empty for all of them together; of StaysReady
	// Least and Most bound a share of the limit; Most is nil for none.
	Least float64
	Most  *float64
	// After is which part of the phase is passed over, at its beginning.
	After  time.Duration
	Within time.Duration
}

// ID is stable over runs.
func (e *Expectation) ID() string {
	parts := []string{string(e.Kind)}
	for _, s := range []string{e.Phase, e.Region} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "-"), "_", "-")
}
