package result

// Evidence is what decides whether a run can prove anything.
type Evidence struct {
	// Load is one line for each phase.
	Load []Load `json:"load"`
	// BaselineProblems are why the baseline was not healthy; empty if it was.
	BaselineProblems []string `json:"baseline_problems"`
	Samples          Samples  `json:"samples"`
}

// Load is what was asked for in one phase, against what the limit allows.
type Load struct {
	Phase string `json:"phase"`
	// OfferedPerSecond is the mean of what the clients asked for and got an
	// answer or an error to, LeastPerSecond that of the second in which it was
	// least, LimitPerSecond the rate of the quota.
	OfferedPerSecond float64 `json:"offered_tokens_per_second"`
	LeastPerSecond   float64 `json:"least_tokens_per_second"`
	LimitPerSecond   float64 `json:"limit_tokens_per_second"`
	// Above says that the load was above the limit throughout the phase.
	Above bool `json:"above"`
}

// Samples are the questions that were put to the processes on the way. One that
// could not be answered, because the process was down or cut off on purpose, was
// not expected.
type Samples struct {
	Expected int64 `json:"expected"`
	Taken    int64 `json:"taken"`
	Missing  int64 `json:"missing"`
}

// Timeline is what happened in each step of the run. All series have one value
// for each step and begin at 0 seconds.
type Timeline struct {
	StepSeconds float64      `json:"step_seconds"`
	Steps       int          `json:"steps"`
	Regions     []RegionLine `json:"regions"`
}

// RegionLine is one region's lane. Admitted, Denied and Failed are counted by the
// clients, in tokens, at the step in which the answer came; Leased and Stranded
// are what the system says at the end of the step, and nil where nobody answered.
type RegionLine struct {
	Region   string   `json:"region"`
	Admitted []int64  `json:"admitted"`
	Denied   []int64  `json:"denied"`
	Failed   []int64  `json:"failed"`
	Leased   []*int64 `json:"leased"`
	Stranded []*int64 `json:"stranded"`
}

// Latency is how long decisions took, as the clients saw it, the way to the
// region included. Region is empty for all of them together.
type Latency struct {
	Phase    string  `json:"phase"`
	Region   string  `json:"region,omitempty"`
	Requests int64   `json:"requests"`
	P50      float64 `json:"p50_seconds"`
	P99      float64 `json:"p99_seconds"`
	P999     float64 `json:"p999_seconds"`
	Max      float64 `json:"max_seconds"`
}

// Impact is what one region's users noticed in one phase.
type Impact struct {
	Phase    string `json:"phase"`
	Region   string `json:"region"`
	Requests int64  `json:"requests"`
	Admitted int64  `json:"admitted_requests"`
	Denied   int64  `json:"denied_requests"`
	Failed   int64  `json:"failed_requests"`
	// AdmittedPerSecond is in tokens; OfBaseline is that as a share of the
	// region's own baseline, and nil when there was none.
	AdmittedPerSecond float64  `json:"admitted_tokens_per_second"`
	OfBaseline        *float64 `json:"of_baseline,omitempty"`
}

// Recovery is how long something took after the last fault was healed.
type Recovery struct {
	Name string `json:"name"` // "heal" or "rebalance"
	What string `json:"what"` // what was waited for
	// Seconds is nil when it did not happen before the run ended.
	Seconds *float64 `json:"seconds"`
}

// Raw is what the figures were computed from, so that a reader can compute them
// again.
type Raw struct {
	Admissions Admissions `json:"admissions"`
	// Logs are the last lines of each process.
	Logs []Log `json:"logs"`
}

// Admissions are all admitted requests, as columns of equal length. Times are in
// nanoseconds since the load began; Region is an index into Regions, Bucket one
// into the result's Overshoots.
type Admissions struct {
	Regions  []string `json:"regions"`
	Sent     []int64  `json:"sent_ns"`
	Received []int64  `json:"received_ns"`
	Cost     []int64  `json:"cost"`
	Region   []int    `json:"region"`
	Bucket   []int    `json:"bucket"`
}

// Log is the end of what a process said.
type Log struct {
	Node  string   `json:"node"`
	Lines []string `json:"lines"`
}
