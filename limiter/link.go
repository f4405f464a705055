package limiter

import (
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

// Link is how the way to the coordinators is.
type Link struct {
	// State is never_connected, connected, suspect, cut_off or healing, and
	// Reason says why in words.
	State  string
	Reason string
	Since  time.Duration // how long it has been in that state
	// Proof is how long ago a coordinator last answered; it is 0 if none ever did.
	Proof time.Duration
	Ever  bool // one did
	// Cut is the number of the last cut, 0 if there was none; CutOpen says that
	// it goes on. CutFor is how long it has lasted, or had when it was answered again.
	Cut     uint64
	CutOpen bool
	CutFor  time.Duration
	// Unreserved says that quotas whose mode allows it are spent unreserved now.
	Unreserved  bool
	Transitions uint64
}

// notice feeds the link with what happened, tells the holder, and logs a change of
// state. It is called by the holder's owner, before the holder is told of what
// ends a cut: the unreserved mode is left before anything is renewed.
func (l *Limiter) notice(now time.Duration, what func(*partition.Link)) {
	before, last := l.link.State(), l.link.Reason()
	what(&l.link)
	l.link.Tick(now)
	number, since, open := l.link.Cut()
	l.history.Own(now, l.id, &l.link)
	l.holder.SetCut(now, lease.Cut{Number: number, Since: since, Open: open, Unreserved: l.link.Unreserved()})
	state := l.link.State()
	if state == before {
		return
	}
	l.tellWaiters(state == partition.CutOff)
	log := l.log.Info
	if state == partition.CutOff {
		log = l.log.Warn
	}
	reason := l.link.Reason()
	if state == partition.Connected && before == partition.Suspect {
		reason += "; it was suspect: " + last
	}
	log("the link to the coordinator changed", "from", before.String(), "to", state.String(), "cut", number, "reason", reason)
}

// Link returns how the way to the coordinators is.
func (l *Limiter) Link() Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.linkNow(l.now())
}

// linkNow is Link for the holder's owner.
func (l *Limiter) linkNow(now time.Duration) Link {
	k := l.link
	k.Tick(now)
	v := Link{
		State: k.State().String(), Reason: k.Reason(), Since: now - k.Since(),
		Unreserved: k.Unreserved(), Transitions: k.Transitions(),
	}
	if proof, ok := k.LastProof(); ok {
		v.Proof, v.Ever = now-proof, true
	}
	v.Cut, _, v.CutOpen = k.Cut()
	v.CutFor = k.Lasted()
	return v
}

// tellWaiters lets those who wait for a first lease know that none will come, once
// the link is cut off.
func (l *Limiter) tellWaiters(cutOff bool) {
	switch was := l.cutOff.Swap(cutOff); {
	case cutOff && !was:
		close(*l.cutNews.Load())
	case !cutOff && was:
		news := make(chan struct{})
		l.cutNews.Store(&news)
	}
}
