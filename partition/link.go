package partition

import "time"

// Link tells whether the other side can be reached, as seen from this one. It is fed with what is noticed, each
// with the time at which that was, and decides by that alone:
//
//	never_connected --proof--> connected --silence, or the stream broke--> suspect --more silence--> cut_off
//	suspect --proof--> connected
//	cut_off --proof--> healing --good for Settle--> connected
//	healing --the stream broke, or silence--> cut_off
//
// A cut is longer than the state cut_off: it begins when that is entered and is over when the link has healed.
// A link that flaps stays in one cut, so that neither the burst of an unreserved mode nor its time begin anew.
// Unreserved tokens are spent in cut_off alone: with the first proof that ends, before anything is renewed.
//
// Links are values: a copy goes on by itself, and == compares all that decides. The zero Link is one that never
// connected, with the default timing. Times are those of one monotonic clock; one that runs back is taken to
// stand still. What a method does depends on the time alone, not on how often Tick was called before, except
// that a change is dated to the call that noticed it.
type Link struct {
	timing Timing
	now    time.Duration // the latest that was seen
	state  State
	since  time.Duration
	// proof and heard are when something last came that answers us, and that does not. proved says that there
	// was any proof.
	proof, heard     time.Duration
	proved, anything bool
	// open says that there is a stream, broken why the last one ended, if one did and no proof came since.
	open   bool
	broken string
	// good is when a healing link began to be good without a break.
	good time.Duration
	// cuts is the number of the last cut, cut when it began, cutting that it goes on.
	cuts        uint64
	cut         time.Duration
	cutting     bool
	answered    time.Duration // when it last began to heal
	transitions uint64
}

// NewLink returns a link that never connected. The error wraps ErrTiming.
func NewLink(t Timing, now time.Duration) (Link, error) {
	if err := t.Validate(); err != nil {
		return Link{}, err
	}
	return Link{timing: t, now: now, since: now}, nil
}

// State is what a link is.
type State uint8

// The states of a link. Only CutOff is one in which unreserved tokens may be spent.
const (
	NeverConnected State = iota // nothing ever proved that the other side is there
	Connected                   // it answers
	Suspect                     // it has not answered for a while, or the stream broke
	CutOff                      // it has not answered for long
	Healing                     // it answers again, but not for long enough
)

// String returns the state as a word: never_connected, connected, suspect, cut_off or healing.
func (s State) String() string {
	switch s {
	case NeverConnected:
		return "never_connected"
	case Connected:
		return "connected"
	case Suspect:
		return "suspect"
	case CutOff:
		return "cut_off"
	case Healing:
		return "healing"
	}
	return "unknown"
}

// Opened says that a stream to the other side is open. That proves nothing yet: a proxy may have taken it.
func (l *Link) Opened(now time.Duration) {
	l.Tick(now)
	l.open, l.broken = true, ""
}

// Proof says that something came that answers us: a welcome, a grant with a new echo, a report that
// acknowledges a new grant, an answer to a heartbeat.
func (l *Link) Proof(now time.Duration) {
	l.Tick(now)
	switch l.state {
	case NeverConnected, Suspect:
		l.enter(Connected)
	case CutOff:
		l.enter(Healing)
		l.good, l.answered = l.now, l.now
	case Healing:
		if l.silence() >= l.times().Suspect {
			l.good = l.now // it was not good all the time
		}
	case Connected:
	}
	l.open, l.broken = true, ""
	l.proof, l.proved = l.now, true
}

// Heard says that something came that does not answer us: the other side lives, but may not hear us. It keeps
// no link from being cut off; it only tells the reason.
func (l *Link) Heard(now time.Duration) {
	l.Tick(now)
	l.heard, l.anything = l.now, true
}

// Broken says that the stream ended or could not be opened, and why, in words for people. A connected link is
// suspect at once, and one that heals cut off again; otherwise the silence decides, since a new stream may be
// open before anybody needs it.
func (l *Link) Broken(now time.Duration, why string) {
	l.Tick(now)
	l.open, l.anything, l.broken = false, false, why
	if why == "" {
		l.broken = "no reason given"
	}
	switch l.state {
	case Connected:
		l.enter(Suspect)
	case Healing:
		l.enter(CutOff)
	case NeverConnected, Suspect, CutOff:
	}
}

// Tick lets time pass: it is to be called a few times a second, or at Next. All other inputs do so first.
func (l *Link) Tick(now time.Duration) {
	l.now = max(l.now, now)
	l.settle()
	t, silence := l.times(), l.silence()
	switch l.state {
	case Connected, Suspect:
		if silence >= t.CutOff {
			l.enter(CutOff)
			l.cuts++
			l.cut, l.cutting = l.now, true
		} else if silence >= t.Suspect && l.state == Connected {
			l.enter(Suspect)
		}
	case Healing:
		if silence >= t.CutOff {
			l.enter(CutOff)
		}
	case NeverConnected, CutOff:
	}
}

// settle ends a cut whose link was good for long enough, also if it is silent again by now.
func (l *Link) settle() {
	t := l.times()
	at := add(l.good, t.Settle)
	if l.state == Healing && at <= l.now && at < add(l.proof, t.Suspect) {
		l.enter(Connected)
		l.cutting = false
	}
}

// Next returns when Tick changes the state if nothing comes before; false if it never does.
func (l *Link) Next() (time.Duration, bool) {
	t := l.times()
	suspect, cut, settled := add(l.proof, t.Suspect), add(l.proof, t.CutOff), add(l.good, t.Settle)
	switch {
	case l.state == Connected:
		return suspect, true
	case l.state == Healing && settled < suspect:
		return settled, true
	case l.state == Suspect, l.state == Healing:
		return cut, true
	}
	return 0, false
}

func (l *Link) enter(s State) {
	l.state, l.since = s, l.now
	l.transitions++
}

// silence is how long nothing came that answers us.
func (l *Link) silence() time.Duration { return l.now - l.proof }

func (l *Link) times() Timing {
	if l.timing == (Timing{}) {
		return DefaultTiming()
	}
	return l.timing
}
