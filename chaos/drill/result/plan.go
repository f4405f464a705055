package result

import "time"

// Reproduction is all that a reader needs in order to run the drill again.
type Reproduction struct {
	Version string `json:"version"` // of the binary under test
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"` // operating system, kernel, architecture
	CPUs    int    `json:"cpus"`
	Seed    uint64 `json:"seed"`
	// ScenarioSHA256 is of the scenario's file, in hexadecimal.
	ScenarioSHA256 string `json:"scenario_sha256"`
	// TimeScale is what the times of the scenario were multiplied by.
	TimeScale float64 `json:"time_scale"`
	// Mode is how processes were put apart: "namespaces", "proxies" or "target".
	Mode    string    `json:"mode"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
	// Seconds is how long the whole run took, with its set-up and its end.
	Seconds float64 `json:"seconds"`
}

// Scenario is what was run, as written.
type Scenario struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Purpose string `json:"purpose"` // what is asked, in prose
	Safety  bool   `json:"safety"`  // it is about the promise, not only about service
	Source  string `json:"source"`  // the file, in YAML
	Policy  string `json:"policy"`  // the policy that the drill began with, in YAML
}

// Kind is what a process is.
type Kind string

// The kinds of processes.
const (
	Etcd        Kind = "etcd"
	Coordinator Kind = "coordinator"
	Region      Kind = "region"
	Client      Kind = "client"
)

// Topology is what ran where.
type Topology struct {
	Nodes []Node `json:"nodes"`
	Links []Link `json:"links"`
}

// Node is one process.
type Node struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"`
	Region  string `json:"region,omitempty"`
	Address string `json:"address"` // of its host
	PID     int    `json:"pid"`     // of its first start
}

// Link is the way from one process to another, where it is slow or loses.
// RoundTripSeconds is what is added to both ways together, LossPercent the share
// of segments that had to be sent again.
type Link struct {
	From             string  `json:"from"`
	To               string  `json:"to"`
	RoundTripSeconds float64 `json:"round_trip_seconds"`
	LossPercent      float64 `json:"loss_percent"`
}

// PhaseKind is what a phase is for.
type PhaseKind string

// The phases of every drill, in this order.
const (
	Baseline PhaseKind = "baseline"
	Faulty   PhaseKind = "fault"
	Healed   PhaseKind = "recovery"
)

// Phase is a part of the run.
type Phase struct {
	Name        string    `json:"name"`
	Kind        PhaseKind `json:"kind"`
	FromSeconds float64   `json:"from_seconds"`
	ToSeconds   float64   `json:"to_seconds"`
}
