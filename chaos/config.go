package chaos

import (
	"time"

	"github.com/a1009580/leasehold/lease"
)

// Config is one run, as plain data: the same Config gives the same events.
type Config struct {
	Seed     uint64
	Duration time.Duration // of clients and faults
	Quiet    time.Duration // afterwards everything works, and only probes ask

	Drift          lease.Drift
	ElectionTTL    time.Duration
	ReportInterval time.Duration
	LedgerTick     time.Duration
	Coordinators   []Machine
	Regions        []Region
	StoreMachine   Machine

	// Policies are what the acts change to; the first is in force at first.
	Policies [][]lease.Terms
	Keys     int // of each quota
	// Wild replaces package reconcile by dice: no law may depend on it.
	Wild bool
	// Simple replaces it by what is easy to follow by eye.
	Simple bool
	// Detector tells regions that they are cut off.
	Detector Detector
	// Scan has new leaders read all records in the background.
	Scan bool

	Net     Net
	Store   StoreFaults
	Plan    []Act
	Clients []Client
	// Ideal says that nothing fails and demand exceeds the limit everywhere.
	Ideal bool
	// Detail tells of every message and admission.
	Detail bool
}

// Machine is a computer's clocks.
type Machine struct {
	PPM    int64         // how much too fast its clock runs
	Offset time.Duration // of its monotonic clock
	Wall   time.Duration // how far its wall clock is ahead
}

// Region is one regional process and its way to the coordinators.
type Region struct {
	Machine

	Name    string // of the region; several processes may share it
	Node    string
	Latency time.Duration // one way
	Jitter  time.Duration
	// DataDir keeps lease.State over restarts.
	DataDir bool
}

// Net says how often a message meets what, in thousandths.
type Net struct {
	Drop, Duplicate, Reorder, Late int
	MaxLate                        time.Duration
}

// StoreFaults says how often a call of the store meets what, in thousandths.
type StoreFaults struct {
	Refuse, NoSpace, LostAnswer, LostCall, LateWrite, Slow int
	MaxSlow                                                time.Duration
}

// Act is one thing that is done to the world.
type Act struct {
	At     time.Duration
	Kind   Kind
	Target int
	For    time.Duration
	N      int
}

// Client asks one region for tokens.
type Client struct {
	Region   int
	Cells    []Cell // a request needs all of them
	From, To time.Duration
	Every    time.Duration // between two bursts
	Burst    int           // requests at once
	MinCost  int64
	MaxCost  int64
	Wait     time.Duration // for tokens, before it gives up
	Refund   int           // how many of a thousand bursts are followed by a refund
}

// Cell names a bucket by its quota's and its key's number.
type Cell struct{ Quota, Key int }

// Kind is a kind of act or of trouble.
type Kind int

// The kinds. Those up to lastAct are planned, the others happen to messages and
// calls.
const (
	CrashCoordinator Kind = iota
	CrashMidway
	PauseCoordinator
	RetireCoordinator
	CrashRegion
	PauseRegion
	LeaveRegion
	Cut
	CutUp
	CutDown
	BreakStream
	StoreDown
	DeleteKey
	TakeSnapshot
	RestoreSnapshot
	WipeStore
	ChangePolicy
	StepWall
	IsolateCoordinator
	lastAct
	DropMessage
	DuplicateMessage
	ReorderMessage
	LateMessage
	OldMessage
	RefusedCall
	NoSpace
	LostAnswer
	LostCall
	LateWrite
	SlowCall
	Takeover
	StaleRefused
	LostHistory
	WindowRolled
	WaiterServed
	Impossible
	FloorSpent
	FloorMoved
	WindowFloorSpent
	WindowFloorBack
	ClaimMade
	SeveralCells
	Refunded
	CutNoticed
	CutHealed
	UnreservedSpent
	OverspendTold
	OvershootObserved
	kinds
)

var kindNames = [kinds]string{
	CrashCoordinator: "coordinator crashed", CrashMidway: "coordinator crashed midway", PauseCoordinator: "coordinator paused",
	RetireCoordinator: "coordinator retired", CrashRegion: "region crashed", PauseRegion: "region paused", LeaveRegion: "region left in good order",
	Cut: "cut both ways", CutUp: "cut upward", CutDown: "cut downward", BreakStream: "stream broken", StoreDown: "store unreachable",
	DeleteKey: "leader's key deleted", TakeSnapshot: "snapshot taken", RestoreSnapshot: "snapshot restored", WipeStore: "store wiped",
	ChangePolicy: "policy changed", StepWall: "wall clock stepped", IsolateCoordinator: "coordinator cut off from the store", lastAct: "",
	DropMessage: "message dropped", DuplicateMessage: "message duplicated", ReorderMessage: "message reordered",
	LateMessage: "message late by seconds", OldMessage: "message of an old session", RefusedCall: "store call refused", NoSpace: "store out of space",
	LostAnswer: "store answer lost", LostCall: "store call lost", LateWrite: "store write after its answer", SlowCall: "store call slow",
	Takeover: "takeover", StaleRefused: "stale coordinator refused", LostHistory: "lost history noticed", WindowRolled: "window rolled",
	WaiterServed: "waiter served", Impossible: "impossible cost", FloorSpent: "floor spent", FloorMoved: "floor re-assigned",
	WindowFloorSpent: "floor of a window spent", WindowFloorBack: "floor of a window handed back",
	ClaimMade: "claim made", SeveralCells: "several quotas at once", Refunded: "admission taken back",
	CutNoticed: "cut noticed", CutHealed: "cut healed", UnreservedSpent: "unreserved spent", OverspendTold: "overspend told",
	OvershootObserved: "overshoot observed",
}

// String returns the kind in words.
func (k Kind) String() string { return kindNames[k] }
