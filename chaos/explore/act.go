package explore

import (
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// do makes an action happen to w, which is nobody else's.
func (w *World) do(a Action) {
	switch a.Kind {
	case Take:
		w.take(a.Who, int64(a.Arg))
	case Report:
		w.report(a.Who)
	case Up, UpAgain, UpLost:
		w.deliverUp(a)
	case Down, DownAgain, DownLost:
		w.deliverDown(a)
	case Tick:
		w.tick(a.Who)
	case Scan:
		l := w.leader(a.Who)
		l.scanned = true
		l.ledger.Scanned(w.moment(a.Who), w.store.with(lease.BucketPrefix), true)
		w.ready(a.Who)
	case Land, Refuse, LandMute, LoseMute:
		w.answer(a)
	case Connect:
		w.left.Reconnects--
		w.connect(a.Who, a.Arg)
	case Crash:
		w.left.Crashes--
		w.crash(a.Who)
	case Leave:
		w.left.Leavings--
		w.leave(a.Who)
	case Succeed:
		w.left.Takeovers--
		w.bury(w.current())
		w.elect()
	case Usurp:
		w.left.Usurpers--
		w.elect()
	case Before, Past, Quantum:
		w.left.Steps--
		w.pass(a.Kind)
	}
}

// take decides one request. The meter debits what was admitted.
func (w *World) take(i int8, cost int64) {
	p := w.holder(i)
	cell := p.h.Cell(w.scene.Terms.Quota, "k")
	if cell == nil {
		return // no policy yet
	}
	before := cell.View()
	v := lease.Decide(func() time.Duration { return w.holderClock(i) }, []*lease.Cell{cell}, cost)
	if v.Outcome == lease.Admitted {
		w.judgeTake(i, cost, before, cell.View(), cell.WindowFloor())
	}
}

// tick has a ledger tick until it has looked at every holder: it forgets at
// most one at a time.
func (w *World) tick(i int8) {
	l := w.leader(i).ledger
	for range max(1, l.Holders()) {
		l.Tick(w.moment(i))
	}
	w.ready(i)
}

func (w *World) report(i int8) {
	p := w.holder(i)
	if b, ok := p.h.Tick(w.holderClock(i)); ok {
		w.send(i, &message{report: &b})
	}
}

// send puts a message of a holder on its way to the leader of its session.
func (w *World) send(i int8, m *message) {
	var s lease.Session
	if m.report != nil {
		s = m.report.Session
	} else {
		s = m.hello.Session
	}
	for l := range w.leaders {
		if w.leaders[l].alive && w.leaders[l].ledger.Epoch() == s.Epoch {
			m.holder, m.leader, m.incarnation = i, int8(l), w.holders[i].incarnation
			w.up = w.push(w.up, m)
		}
	}
}

// push adds a message to a direction, where it is lost when that is full. So
// their order says nothing.
func (w *World) push(list []*message, m *message) []*message {
	if len(list) == w.scene.InFlight {
		return list
	}
	return append(slices.Clone(list), m)
}

// taken returns a message, and the list without it unless it is kept.
func (w *World) taken(list []*message, i int8, again, lost bool) (*message, []*message) {
	m := list[i]
	if again {
		w.left.Duplicates--
		return m, list
	}
	if lost {
		w.left.Drops--
	}
	return m, slices.Delete(slices.Clone(list), int(i), int(i)+1)
}

// deliverUp gives a message to its ledger, which closes the session of one that
// breaks the protocol.
func (w *World) deliverUp(a Action) {
	m, rest := w.taken(w.up, a.Arg, a.Kind == UpAgain, a.Kind == UpLost)
	w.up = rest
	if a.Kind == UpLost {
		return
	}
	l := w.leader(m.leader)
	var err error
	var session uint64
	if m.report != nil {
		b := *m.report
		b.Reports = slices.Clone(b.Reports)
		session = b.Session.N
		err = l.ledger.Report(w.moment(m.leader), b)
	} else {
		h := *m.hello
		h.Claims = slices.Clone(h.Claims)
		session = h.Session.N
		err = l.ledger.Hello(w.moment(m.leader), h)
	}
	if err != nil {
		w.hangUp(m.leader, session)
	}
	w.ready(m.leader)
}

// hangUp ends a session on both sides: its stream is closed.
func (w *World) hangUp(i int8, session uint64) {
	w.leader(i).ledger.CloseSession(session)
	h := w.leaders[i].sessions[session-1]
	v := w.holders[h].h
	if s := v.Session(); s.N == session && s.Epoch == w.leaders[i].ledger.Epoch() && v.Connected() {
		w.holder(h).h.Disconnected()
	}
}

// deliverDown gives a message to its holder.
func (w *World) deliverDown(a Action) {
	m, rest := w.taken(w.down, a.Arg, a.Kind == DownAgain, a.Kind == DownLost)
	w.down = rest
	if a.Kind == DownLost || m.incarnation != w.holders[m.holder].incarnation {
		return
	}
	b := *m.grants
	b.Grants = slices.Clone(b.Grants)
	_ = w.holder(m.holder).h.Grants(w.holderClock(m.holder), b) // refused when stale
}

// connect has a holder open a session with a leader. What was in flight in the
// old one may still arrive.
func (w *World) connect(i, leader int8) {
	l := w.leader(leader)
	welcome, ok := l.ledger.OpenSession()
	if !ok {
		return
	}
	l.sessions = append(l.sessions, i)
	p := w.holder(i)
	p.h.Disconnected()
	if !p.h.Older(welcome) {
		p.h.Adopt(welcome.PolicyRevision, []lease.QuotaLimits{{Terms: w.scene.Terms, MaxKeys: 10}})
	}
	pieces, _ := p.h.Welcome(w.holderClock(i), welcome) // an older leader gets a witness
	for k := range pieces {
		w.send(i, &message{hello: &pieces[k]})
	}
}

// crash ends a process; another begins in its place, under another name.
func (w *World) crash(i int8) {
	w.holder(i)
	w.holders[i] = w.scene.process(w.scene.Holders[i], w.holders[i].incarnation+1)
	w.down = slices.DeleteFunc(slices.Clone(w.down), func(m *message) bool { return m.holder == i })
}

func (w *World) leave(i int8) {
	p := w.holder(i)
	live := p.h.Connected()
	b := p.h.Drain(w.holderClock(i))
	p.left = true
	if live {
		w.send(i, &message{report: &b})
	}
}
