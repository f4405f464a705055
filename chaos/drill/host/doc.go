// Package host runs a drill in a process of its own, which has all others of the
// drill as its children: in namespaces, where they are allowed, or among proxies.
// Whatever happens to the program that wanted the drill, that process is killed
// with it, and takes the rest along.
package host

import (
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/sandbox"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

// The modes of a Job.
const (
	Namespaces = "namespaces"
	Proxies    = "proxies"
)

// ErrUnavailable is what an error wraps that says why there are no namespaces
// here.
var ErrUnavailable = sandbox.ErrUnavailable

// Job is what Run is told.
type Job struct {
	// File names the source in errors.
	File   string
	Source []byte
	// Scale is the time scale, and Seed replaces the scenario's if it is not nil.
	Scale float64
	Seed  *uint64
	Mode  string
	// Verbose has the processes' own messages on standard error.
	Verbose bool
}

// Scenario reads the job's scenario and scales it.
func (j *Job) Scenario() (*scenario.Scenario, error) {
	s, err := scenario.Parse(j.File, j.Source)
	if err != nil {
		return nil, err
	}
	if j.Seed != nil {
		s.Seed = *j.Seed
	}
	return s.Scale(j.Scale)
}

// message is what the process of a drill tells the one that wanted it, a JSON
// object each: events, and one of the others at the end.
type message struct {
	Event       *result.Event  `json:"event,omitempty"`
	Result      *result.Result `json:"result,omitempty"`
	Error       string         `json:"error,omitempty"`
	Unavailable bool           `json:"unavailable,omitempty"`
}

// Command is the name of the hidden command that calls Serve.
const Command = "drill-host"
