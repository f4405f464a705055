// Package result holds the types of what a drill found out: the one thing that
// the engine of drills writes and that verdict, report, diff and index read.
//
// A result is a document in JSON with a version, Schema. Within a version fields
// are added and never renamed or given another meaning. Units stand in names:
// seconds are fractions since the load began, on the clock of the host that ran
// the clients, and amounts are tokens unless a name says requests.
//
// The package holds data alone. It computes no verdict and prints nothing.
package result

// Schema is the version of the document.
const Schema = "leasehold/drill-result/v1"

// Result is one run of one drill.
type Result struct {
	Schema string `json:"schema"`
	// Verdict is computed from all that follows.
	Verdict      Verdict      `json:"verdict"`
	Reproduction Reproduction `json:"reproduction"`
	Scenario     Scenario     `json:"scenario"`
	// Stopped is nil for a run that came to its end.
	Stopped *Stop `json:"stopped,omitempty"`

	Topology Topology `json:"topology"`
	// Overshoots are bound, observed and margin, one for each bucket under load.
	Overshoots []Overshoot `json:"overshoots"`
	Hypotheses []Check     `json:"hypotheses"`
	Phases     []Phase     `json:"phases"`
	Faults     []Fault     `json:"faults"`
	Evidence   Evidence    `json:"evidence"`
	Timeline   Timeline    `json:"timeline"`
	Events     []Event     `json:"events"`
	Latencies  []Latency   `json:"latencies"`
	Blast      []Impact    `json:"blast_radius"`
	Recovery   []Recovery  `json:"recovery"`
	Invariants []Check     `json:"invariants"`
	Raw        Raw         `json:"raw"`
}

// Outcome is the one word of a verdict.
type Outcome string

// The outcomes. There is no score.
const (
	Pass         Outcome = "PASS"
	Fail         Outcome = "FAIL"
	Inconclusive Outcome = "INCONCLUSIVE"
)

// Verdict is what a run showed.
type Verdict struct {
	Outcome Outcome `json:"outcome"`
	// Sentence says it in one sentence that can be read alone.
	Sentence string `json:"sentence"`
	// Reasons are why it is not PASS, the gravest first; empty for PASS.
	Reasons []string `json:"reasons"`
}

// Stop is why a run ended before its time.
type Stop struct {
	AtSeconds float64 `json:"at_seconds"`
	Reason    string  `json:"reason"`
}
