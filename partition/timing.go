package partition

import (
	"errors"
	"fmt"
	"time"
)

// ErrTiming is what the errors of [Timing.Validate] and [NewLink] wrap.
var ErrTiming = errors.New("invalid link timing")

// Timing is when a link changes its state, counted from the last proof that the other side lives and hears us.
type Timing struct {
	// Suspect is the silence after which a link is suspect, CutOff that after which it is cut off. Both are
	// above 0, CutOff above Suspect.
	Suspect, CutOff time.Duration
	// Settle is how long a link that was cut off must be good without a break until that cut is over. It is above
	// 0. The longer it is, the fewer cuts a flapping link makes, each of which could spend a burst.
	Settle time.Duration
}

// DefaultTiming fits heartbeats of one a second, each of which is answered, on streams that are given up after
// 3.5 s of silence.
//
//   - Suspect, 2 s: the heartbeat that is due after 1 s has not been answered for another: more than the longest
//     round trip and a lost packet sent again, so that distance alone makes no link suspect.
//   - CutOff, 3 s: the next one was not answered either. That is before the stream is given up, and before a
//     lease of 5 s that was renewed with the last answer has run out: the region is told apart before it is dry.
//   - Settle, 5 s: longer than CutOff, so that a link that works for less time than it takes to notice that it does
//     not stays in one cut.
func DefaultTiming() Timing {
	return Timing{Suspect: 2 * time.Second, CutOff: 3 * time.Second, Settle: 5 * time.Second}
}

// WatchTiming is that of a coordinator, which watches the links of its holders. What proves that a holder hears us
// comes up to one heartbeat later than what proves to it that we hear: a report that is not answered for its own sake
// leaves the next heartbeat with nothing new to tell.
func WatchTiming() Timing {
	t := DefaultTiming()
	t.Suspect, t.CutOff = t.Suspect+time.Second, t.CutOff+time.Second
	return t
}

// Validate returns nil or an error that wraps ErrTiming and names the field and its value.
func (t Timing) Validate() error {
	switch {
	case t.Suspect <= 0:
		return fmt.Errorf("%w: suspect %v: must be above 0", ErrTiming, t.Suspect)
	case t.CutOff <= t.Suspect:
		return fmt.Errorf("%w: cut off %v: must be above the %v of suspect", ErrTiming, t.CutOff, t.Suspect)
	case t.Settle <= 0:
		return fmt.Errorf("%w: settle %v: must be above 0", ErrTiming, t.Settle)
	}
	return nil
}
