package demo

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/demo/trace"
	"github.com/a1009580/leasehold/policy"
)

// Options is what a demo is told. The zero value is the demo of the front page.
type Options struct {
	// Duration is how long the traffic lasts, in real time; 0 is until the
	// context ends, or the trace does.
	Duration time.Duration
	// DataDir keeps the coordinator's records; "" is a temporary directory that
	// is removed at the end.
	DataDir string
	// Scratch is an empty directory to use in place of a temporary one that the
	// demo would make; it is removed at the end, also by Abandon.
	Scratch string
	// Policy is a policy file's content, PolicyName its name; nil is the sample.
	Policy     []byte
	PolicyName string
	// Trace is a file to play instead of the demo's own traffic, TraceEntry the
	// entry of the descriptor that its key is.
	Trace      string
	TraceEntry string
	// Speed is how many times as fast as real time everything runs; 0 is 1.
	Speed float64
	// Quiet shows nothing but the report.
	Quiet bool
	// Terminal says that Out is one, which a table may be drawn on.
	Terminal bool
	// Out is what people read, Errors takes the warnings of a demo that has no
	// terminal.
	Out, Errors io.Writer
}

// OptionError is an error of the caller's choices.
type OptionError struct{ err error }

func (e *OptionError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.err }

// smooth is the speed up to which a machine that is not busy is still fast next
// to the distances: a tenth of the shortest round trip is some 400 µs.
const smooth = 20

// rough is the speed above which even a quick machine answers later than leases
// last.
const rough = 200

// plan is what the options amount to.
type plan struct {
	Options
	set     *policy.Set
	target  target
	regions []string
	trace   *trace.Summary
}

// plan checks the options, and reads the trace once, so that nothing begins that
// would not end.
func (o Options) plan() (*plan, error) {
	if o.Speed == 0 {
		o.Speed = 1
	}
	if o.Policy == nil {
		o.Policy, o.PolicyName = samplePolicy, "sample policy"
	}
	p := &plan{Options: o, regions: []string{"us", "eu", "ap"}}
	var err error
	if p.set, err = policy.Parse(o.PolicyName, o.Policy); err != nil {
		return nil, &OptionError{err}
	}
	if err = clock.CheckSpeed(o.Speed); err != nil {
		return nil, &OptionError{err}
	}
	if p.target, err = aim(p.set, o.TraceEntry); err != nil {
		return nil, &OptionError{err}
	}
	if o.Trace == "" {
		if o.TraceEntry != "" {
			return nil, &OptionError{fmt.Errorf("--trace-entry is about a trace, and there is no --trace")}
		}
		return p, nil
	}
	s, err := trace.Summarize(o.Trace)
	if err != nil {
		return nil, &OptionError{err}
	}
	p.trace = &s
	if slices.ContainsFunc(s.Regions, func(r string) bool { return !slices.Contains(p.regions, r) }) {
		p.regions = s.Regions
	}
	return p, nil
}

// warnings are what may surprise about the options. Those of the policy are the
// coordinator's to tell.
func (p *plan) warnings() []string {
	var all []string
	if p.Speed > smooth {
		all = append(all, fmt.Sprintf("at --speed %v this machine's own delays count %v-fold, also those of its disk: above %d, "+
			"a lease takes longer than its simulated distance, and more is denied than would be at speed 1", p.Speed, p.Speed, smooth))
	}
	if p.Speed > rough {
		all = append(all, fmt.Sprintf("above %d so much is denied for that reason alone that the figures say little about the policy; the limits hold all the same", rough))
	}
	if p.trace != nil {
		took := time.Duration(float64(p.trace.Length) / p.Speed)
		if took > longTrace && p.Duration == 0 {
			all = append(all, fmt.Sprintf("the trace spans %v: at --speed %v it takes %v", p.trace.Length.Round(time.Second), p.Speed, took.Round(time.Second)))
		}
	}
	return all
}

// longTrace is how long a trace may take without a word.
const longTrace = 5 * time.Minute
