// Package judge decides whether what real processes admitted kept the promise
// of a quota. It shares no code with what it judges: it knows what clients
// saw, and the limit that was promised.
//
// A client notes for every admission when the request was sent and when the
// answer was received, on one monotonic clock for all clients, and its cost. An
// admission counts in an interval [a, b] only if it was sent at a or after and
// received by b. Then it was decided within the interval, whatever delayed the
// request or the answer: a slow machine never makes a false alarm.
//
// All arithmetic is exact, in integers. The package imports the standard
// library alone.
package judge

import "time"

// Admission is one admitted request, as its client saw it.
type Admission struct {
	// Sent and Received are since any one moment, the same for all admissions.
	Sent, Received time.Duration
	// Cost is in tokens, 0 or more.
	Cost int64
}

// Finding is the interval in which most was admitted beyond what was promised
// for it.
type Finding struct {
	// From and To are the ends of the interval, Admitted the tokens that were
	// surely admitted within it.
	From, To time.Duration
	Admitted int64
	// Over is by how many tokens Admitted exceeds the promise for the interval,
	// rounded up: it is above 0 exactly if the promise was broken. Below 0 it is
	// the margin that was left.
	Over int64
}
