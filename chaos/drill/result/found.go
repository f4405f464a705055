package result

// Overshoot is by how much the promise of one bucket can be and was exceeded, over
// every interval of the run and all regions together.
type Overshoot struct {
	Quota string `json:"quota"` // domain/name
	Key   string `json:"key"`
	Mode  string `json:"mode"`
	Limit string `json:"limit"` // in the policy's terms
	// Bound is the drill's own, from the scenario alone; nil is unbounded, by the
	// policy's own word. SystemBound is what the system says of itself, and nil
	// when it said nothing.
	Bound       *int64 `json:"bound_tokens"`
	SystemBound *int64 `json:"system_bound_tokens,omitempty"`
	// Observed is 0 for a promise that was kept. Closest is not clamped: below 0
	// it is how many tokens were left in the interval that came closest.
	Observed int64  `json:"observed_tokens"`
	Closest  int64  `json:"closest_tokens"`
	Margin   *int64 `json:"margin_tokens"` // Bound less Closest
	// Worst is the interval in which Closest was found.
	Worst Interval `json:"worst_interval"`
	// Promise and Formula are written out, with the names of Inputs.
	Promise string  `json:"promise"`
	Formula string  `json:"bound_formula"`
	Inputs  []Input `json:"inputs"`
	// SkewSeconds is by how far apart the clocks of the clients may be; what is
	// promised was widened by twice that.
	SkewSeconds float64 `json:"skew_seconds"`
}

// Interval is a part of the run, with what surely was admitted in it.
type Interval struct {
	FromSeconds float64 `json:"from_seconds"`
	ToSeconds   float64 `json:"to_seconds"`
	Admitted    int64   `json:"admitted_tokens"`
	Promised    int64   `json:"promised_tokens"`
}

// Input is a figure that a formula was given.
type Input struct {
	Symbol  string `json:"symbol"`
	Value   string `json:"value"` // with its unit
	Meaning string `json:"meaning"`
}

// CheckOutcome is how a hypothesis or an invariant came out.
type CheckOutcome string

// The outcomes of a check.
const (
	Held         CheckOutcome = "pass"
	Broken       CheckOutcome = "fail"
	NotExercised CheckOutcome = "not_exercised"
)

// Check is a hypothesis of the scenario, or an invariant of every drill.
type Check struct {
	ID        string       `json:"id"` // stable, for scripts and for diff
	Statement string       `json:"statement"`
	Expected  string       `json:"expected"`
	Observed  string       `json:"observed"`
	Outcome   CheckOutcome `json:"outcome"`
}

// Fault is one thing that was done, with the proof that it bit.
type Fault struct {
	Name        string   `json:"name"` // what kind of fault, in the scenario's words
	Targets     []string `json:"targets"`
	Description string   `json:"description"`
	FromSeconds float64  `json:"from_seconds"`
	ToSeconds   float64  `json:"to_seconds"`
	Bite        Bite     `json:"bite"`
}

// Bite is the proof that a fault did something.
type Bite struct {
	Proven bool   `json:"proven"`
	Method string `json:"method"` // such as "packets dropped", "process state"
	Detail string `json:"detail"` // what was read
	Count  int64  `json:"count"`  // packets, connections or processes; 0 if that is no count
}

// Event is something that happened, or was done, at a moment.
type Event struct {
	AtSeconds float64   `json:"at_seconds"`
	Source    string    `json:"source"` // a process, or "drill", or "operator"
	Kind      EventKind `json:"kind"`
	Text      string    `json:"text"`
}

// EventKind is what an event is.
type EventKind string

// The kinds of events.
const (
	EventPhase  EventKind = "phase"
	EventInject EventKind = "inject"
	EventHeal   EventKind = "heal"
	EventSystem EventKind = "system" // what a process said of itself
	EventMark   EventKind = "mark"   // by an operator
	EventStop   EventKind = "stop"
)
