package partition

import (
	"fmt"
	"time"
)

// State returns what the link is since the last input.
func (l *Link) State() State { return l.state }

// Since returns when the link entered its state.
func (l *Link) Since() time.Duration { return l.since }

// LastProof returns when something last came that answers us, false if nothing ever did.
func (l *Link) LastProof() (time.Duration, bool) { return l.proof, l.proved }

// Transitions returns how often the state changed.
func (l *Link) Transitions() uint64 { return l.transitions }

// Cut returns the number of the last cut, from 1, when it began, and whether it goes on. It is 0 if there was
// none. A cut goes on while the link is cut off or heals.
func (l *Link) Cut() (number uint64, since time.Duration, open bool) { return l.cuts, l.cut, l.cutting }

// Lasted returns how long the last cut kept the other side from answering: of one that is over, until the answer with
// which it began to heal for good, and of one that goes on until the last input.
func (l *Link) Lasted() time.Duration {
	switch {
	case l.cuts == 0:
		return 0
	case l.cutting:
		return l.now - l.cut
	}
	return l.answered - l.cut
}

// Unreserved says that unreserved tokens may be spent, as far as the link decides: it is cut off. One that
// never connected is not, so that a process that was never welcomed has no fallback.
func (l *Link) Unreserved() bool { return l.state == CutOff }

// Reason says why the link is what it is, in words for people: "the stream broke: EOF", "nothing came for
// 3.2s", "reports are not answered for 3.2s (one way?)". It is as of the last input.
func (l *Link) Reason() string {
	switch l.state {
	case Connected:
		return "reports are answered"
	case Healing:
		if l.silence() >= l.times().Suspect {
			return "answered again, but " + l.quiet()
		}
		return fmt.Sprintf("answered again, good for %v of %v", tenths(l.now-l.good), l.times().Settle)
	case NeverConnected, Suspect, CutOff:
	}
	switch {
	case l.broken != "":
		return "the stream broke: " + l.broken
	case l.state == NeverConnected && l.open:
		return "a stream is open, but nothing was answered yet"
	case l.state == NeverConnected:
		return "no stream was opened yet"
	}
	return l.quiet()
}

// quiet says how long nothing came, or only what does not answer us. What came last right after the last answer was
// on its way already, and tells nothing of the way now.
func (l *Link) quiet() string {
	if l.anything && l.heard > l.proof && l.now-l.heard < l.times().Suspect {
		return fmt.Sprintf("reports are not answered for %v (one way?)", tenths(l.silence()))
	}
	return fmt.Sprintf("nothing came for %v", tenths(l.silence()))
}

func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
