package partition

import (
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Board is what a coordinator knows of the links of its holders, and of their cuts. It is fed with what comes
// from them and decides by that alone. The times are those of the coordinator's monotonic clock.
//
// What proves that a holder hears us: a Hello, which answers our Welcome, and a report that answers a later message
// than the one before. A report that does not is only heard: the way to its holder may be broken.
//
// Of cuts it knows what holders told, and of one that is not heard it takes the worst: that it has been cut off since
// it last told all, until it tells again, says goodbye, or another process takes its place. So the bound holds for
// what is observed, which comes with the cuts in which it was spent.
//
// It is bounded in memory, and not safe for concurrent use.
type Board struct {
	history *History
	shown   *History // a clone, as of shownAt of its changes
	shownAt uint64
	timing  Timing
	drift   lease.Drift
	peers   map[lease.HolderID]*peer
	names   map[name]lease.HolderID // the newest of each
	changes []Change
	cuts    []Begun
	lost    int
	// sole says that no policy was in force before those that the history knows.
	sole bool
}

type name struct{ region, node string }

// peer is one holder.
type peer struct {
	id      lease.HolderID
	link    Link
	session uint64 // open one; 0: none
	// under are the terms that it enforces; before those that it may have had when it was cut off last.
	under, before *terms
	unknown       bool          // it had others before, which are not known
	answered      time.Duration // the newest of our messages that reached it in the session, by when it was made
	heard         time.Duration // when its last report came
	// reached is until when at least it was answered: by a message of ours that reached it, and of which the report
	// that it answered had come before.
	reached time.Duration
	// upTo is until when it has told all; caughtUp that it did so in the present session.
	upTo     time.Duration
	caughtUp bool
	// last is the last cut that it told of, total how many it told of.
	last  Took
	total uint64
	gone  string // why it will not come again
	// goneAt is when it went.
	goneAt time.Duration
}

// Gone is the state of a holder that said goodbye, or whose place another process took. It is no state of a Link.
const Gone = "gone"

// Change is a change of the state of a link.
type Change struct {
	Holder   lease.HolderID
	From, To string
	Reason   string
}

// Begun says that a holder told of cuts for the first time.
type Begun struct {
	Region string
	Cuts   int64
}

const (
	maxPeers = 8192
	// goneTime is how long a holder that has gone is remembered, lostTime one that is not heard. Their cuts count
	// on.
	goneTime = 10 * time.Minute
	lostTime = time.Hour
)

// NewBoard begins one, with the timing of its own links, such as WatchTiming; those of holders have DefaultTiming. Sole says that no policy was ever in force before this one. The error wraps ErrTiming.
func NewBoard(t Timing, ρ lease.Drift, set *policy.Set, sole bool) (*Board, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return &Board{
		history: NewHistory(ρ, set), timing: t, drift: ρ, sole: sole,
		peers: map[lease.HolderID]*peer{}, names: map[name]lease.HolderID{},
	}, nil
}

// Hello says that a holder opened a session with a whole Hello, under the policy in force.
func (b *Board) Hello(now time.Duration, id lease.HolderID, session uint64) {
	p := b.peers[id]
	if p == nil {
		b.forget(now)
		p = &peer{id: id, link: Link{timing: b.timing, now: now, since: now}, unknown: !b.sole, upTo: now}
		b.peers[id] = p
	}
	b.replace(now, id)
	if p.before = b.history.widen(p.before, p.under); p.before == nil {
		p.before = b.history.ever
	}
	p.under = b.history.policy
	b.history.adopt(id)
	p.session, p.answered, p.heard, p.reached, p.caughtUp, p.gone = session, 0, now, now, false, ""
	b.feed(now, p, func(l *Link) {
		l.Opened(now)
		l.Proof(now)
	})
}

// replace ends what other processes of the same name are thought to do.
func (b *Board) replace(now time.Duration, id lease.HolderID) {
	n := name{id.Region, id.Node}
	if old, ok := b.names[n]; ok && old != id {
		if p := b.peers[old]; p != nil && p.session == 0 {
			b.feed(now, p, func(*Link) {})
			if p.gone == "" && b.mayBeCut(now, p) {
				b.suppose(p)
			}
			b.leave(now, p, "another process took its place")
		}
	}
	b.names[n] = id
	for other, o := range b.history.open {
		if other != id && b.peers[other] == nil && other.Region == id.Region && other.Node == id.Node {
			b.over(now, other, o) // one that was forgotten
		}
	}
}

// Report says that a holder's report came.
func (b *Board) Report(now time.Duration, id lease.HolderID, r *lease.ReportBatch) {
	p := b.peers[id]
	if p == nil {
		return
	}
	if r.Clock > 0 {
		b.told(now, p, r)
	}
	if r.Answered > p.answered {
		p.answered, p.reached = r.Answered, max(p.reached, min(p.heard, r.Answered))
		b.feed(now, p, func(l *Link) { l.Proof(now) })
	} else {
		b.feed(now, p, func(l *Link) { l.Heard(now) })
	}
	p.heard = now
	if r.Goodbye {
		b.leave(now, p, "it said goodbye")
	}
}

// told takes what a holder says of its cuts. All that there were is said by the first part of a batch that can tell
// when it was: nothing is left to suppose.
func (b *Board) told(now time.Duration, p *peer, r *lease.ReportBatch) {
	at := min(now, r.Clock)
	h := b.history
	for _, c := range r.Cuts {
		t := Took{Holder: p.id, Number: c.Number, Count: c.Count, Length: c.Length, Open: !c.Closed, At: at}
		under := p.under
		if !p.caughtUp {
			h.foreign = h.foreign || p.unknown
			if under = p.before; t.Open {
				under = h.widen(p.before, p.under)
			}
		}
		b.begun(p, &c)
		h.note(t, under)
		if t.Number >= p.last.Number {
			p.last = t
		}
	}
	if r.Part == 0 && !p.caughtUp {
		p.caughtUp, p.before, p.unknown = true, p.under, false
	}
	if p.caughtUp {
		p.upTo = max(p.upTo, at)
		b.supposeNot(p)
	}
}

// begun counts the cuts of a report that were not told before.
func (b *Board) begun(p *peer, c *lease.CutReport) {
	if c.Number <= p.last.Number {
		return
	}
	n := min(max(1, c.Count), int64(min(c.Number-p.last.Number, 1<<62)))
	p.total += uint64(n)
	b.cuts = append(b.cuts, Begun{p.id.Region, n})
}

// Broken says that a holder's session ended, and why, in words for people. It has no effect on one that has
// another session by now, or that has gone.
func (b *Board) Broken(now time.Duration, id lease.HolderID, session uint64, why string) {
	if p := b.ended(id, session); p != nil {
		b.feed(now, p, func(l *Link) { l.Broken(now, why) })
	}
}

// Parted says that a holder's session was ended in good order, and that it comes again: silence alone tells whether
// it does.
func (b *Board) Parted(now time.Duration, id lease.HolderID, session uint64) {
	if p := b.ended(id, session); p != nil {
		b.feed(now, p, func(*Link) {})
	}
}

// ended notes that a session is over, and returns whose link that concerns.
func (b *Board) ended(id lease.HolderID, session uint64) *peer {
	p := b.peers[id]
	if p == nil || p.session != session || p.gone != "" {
		return nil
	}
	p.session = 0
	return p
}

// leave ends a holder, and the cut that it was thought to be in.
func (b *Board) leave(now time.Duration, p *peer, why string) {
	b.feed(now, p, func(*Link) {})
	if p.gone == "" {
		b.changes = append(b.changes, Change{Holder: p.id, From: p.state(), To: Gone, Reason: why})
	}
	p.gone, p.goneAt, p.session = why, now, 0
	if o, ok := b.history.open[p.id]; ok {
		b.over(now, p.id, o)
	}
}

// over ends the cuts of a holder that go on.
func (b *Board) over(now time.Duration, id lease.HolderID, o goingOn) {
	h := b.history
	for _, r := range []*record{o.told, o.silent} {
		if r != nil {
			h.close(r, r.soFar(b.drift, now))
		}
	}
	h.going(id, goingOn{})
	h.fold()
}

// SetPolicy says that another policy is in force. Holders hear of it when they come again.
func (b *Board) SetPolicy(now time.Duration, set *policy.Set) {
	b.history.SetPolicy(now, set)
}

// Tick lets time pass. It is to be called a few times a second.
func (b *Board) Tick(now time.Duration) {
	for id, p := range b.peers {
		b.feed(now, p, func(*Link) {})
		if p.gone != "" && now-p.goneAt > goneTime || p.session == 0 && now-p.link.proof > lostTime {
			b.remove(id)
		}
	}
}

// feed tells a link what happened, notes the change, and supposes what follows for cuts.
func (b *Board) feed(now time.Duration, p *peer, what func(*Link)) {
	if p.gone != "" {
		return
	}
	before := p.link.State()
	b.step(p, func(l *Link) { l.Tick(now) }, before)
	middle := p.link.State()
	b.step(p, what, middle)
	if s := p.link.State(); s == CutOff || s == Suspect && b.mayBeCut(now, p) {
		b.suppose(p)
	}
}

func (b *Board) step(p *peer, what func(*Link), before State) {
	what(&p.link)
	if after := p.link.State(); after != before {
		b.changes = append(b.changes, Change{Holder: p.id, From: before.String(), To: after.String(), Reason: p.link.Reason()})
	}
}

// suppose takes it that a holder which is not heard spends unreserved since it last told all. A cut of which it told
// long after it last heard us is that cut: it is too late for it to settle, so that no other can begin.
func (b *Board) suppose(p *peer) {
	h := b.history
	o := h.open[p.id]
	switch {
	case o.silent != nil:
	case o.told != nil && p.upTo >= p.link.proof+b.drift.Outlast(DefaultTiming().Suspect):
	default:
		h.note(Took{Holder: p.id, Open: true, At: p.upTo, Silent: true}, p.mayHave(h))
	}
}

// mayBeCut says that a holder can have noticed a cut by now: it does so CutOff after it was last answered, by its own
// clock. We may notice later, for what proves that it hears us was on its way for some time.
func (b *Board) mayBeCut(now time.Duration, p *peer) bool {
	return b.drift.Outlast(now-p.reached) >= DefaultTiming().CutOff
}

// mayHave is the terms under which a holder that is not heard may spend.
func (p *peer) mayHave(h *History) *terms {
	if p.caughtUp {
		return p.under
	}
	return h.widen(p.before, p.under)
}

// supposeNot takes back what was supposed of a holder that told all.
func (b *Board) supposeNot(p *peer) {
	if o := b.history.open[p.id]; o.silent != nil {
		o.silent = nil
		b.history.going(p.id, o)
	}
}

// forget makes room for one more holder: those that are not connected go first, the one that was heard least
// recently.
func (b *Board) forget(now time.Duration) {
	for len(b.peers) >= maxPeers {
		var oldest *peer
		for _, p := range b.peers {
			if oldest == nil || p.sooner(oldest) {
				oldest = p
			}
		}
		b.feed(now, oldest, func(*Link) {})
		b.remove(oldest.id)
		b.lost++
	}
}

// sooner orders peers by who is forgotten first.
func (p *peer) sooner(q *peer) bool {
	if a, b := p.session != 0, q.session != 0; a != b {
		return b
	}
	return p.link.proof < q.link.proof
}

func (b *Board) remove(id lease.HolderID) {
	if n := (name{id.Region, id.Node}); b.names[n] == id {
		delete(b.names, n)
	}
	delete(b.peers, id)
}

// state is that of the link, or that the holder has gone.
func (p *peer) state() string {
	if p.gone != "" {
		return Gone
	}
	return p.link.State().String()
}

// reason says why the link is so.
func (p *peer) reason() string {
	if p.gone != "" {
		return p.gone
	}
	return p.link.Reason()
}
