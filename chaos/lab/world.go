package lab

import (
	"math/rand/v2"
	"time"
)

// Net is the network between the regions and the center.
type Net struct {
	RoundTrip time.Duration
	// Spread is the round trip of the farthest region, if it is not the same for
	// all: those between lie between RoundTrip and Spread.
	Spread time.Duration
	Loss   float64 // the part of messages that never arrive
}

// roundTrip is that of region i of k.
func (n Net) roundTrip(i, k int) time.Duration {
	if n.Spread <= n.RoundTrip || k < 2 {
		return n.RoundTrip
	}
	return n.RoundTrip + (n.Spread-n.RoundTrip)*time.Duration(i)/time.Duration(k-1)
}

// longest is the round trip of the farthest region.
func (n Net) longest() time.Duration { return max(n.RoundTrip, n.Spread) }

// Traffic counts messages. What travels down and moves tokens is a grant or a
// recall; what travels up is a report, an unsolicited one or a question.
type Traffic struct {
	Grants  int64
	Recalls int64
	Reports int64
	Bytes   int64
}

// world is one run: virtual time, the network, and what came of each request.
type world struct {
	K     int
	Limit Limit
	Net   Net

	now     time.Duration
	agenda  agenda
	dice    *rand.Rand
	end     time.Duration // nothing is scheduled in vain after it
	traffic Traffic
	system  system
	aged    agedness
	log     []admission
	denials []denial
	waited  []time.Duration
	settled int64 // requests with an answer
	failure error
}

// admission is one admitted request, at the moment when it was.
type admission struct {
	at     time.Duration
	region int
	cost   int64
}

// denial is one denied request: was it falsely so, and were its tokens stranded
// (Agedness)?
type denial struct {
	untrue, stranded bool
}

// newWorld makes a run of a model that nobody has asked anything yet.
func newWorld(m Model, k int, limit Limit, net Net, seed uint64, end time.Duration) *world {
	w := &world{K: k, Limit: limit, Net: net, dice: rand.New(rand.NewPCG(seed, 0xd1ce)), end: end}
	w.aged = newAgedness(w)
	w.system = m.build(w)
	w.every(sampling, 0, w.aged.sample)
	return w
}

// Play has a trace asked, and what was asked answered.
func (w *world) Play(t *Trace) error {
	for i := range t.Requests {
		q := &t.Requests[i]
		w.run(q.At)
		w.aged.asked(q)
		w.system.ask(q)
		if w.failure != nil {
			return w.failure
		}
	}
	w.run(t.End + 5*time.Second)
	return w.failure
}

// run lets everything happen that comes before or at a moment.
func (w *world) run(until time.Duration) {
	for {
		at, ok := w.agenda.next()
		if !ok || at > until {
			break
		}
		e := w.agenda.pop()
		w.now = e.at
		e.do()
	}
	w.now = until
}

// after has something done later.
func (w *world) after(d time.Duration, do func()) { w.agenda.push(w.now+d, do) }

// every has something done again and again until the end.
func (w *world) every(period, phase time.Duration, do func()) {
	var again func()
	again = func() {
		do()
		if w.now < w.end {
			w.after(period, again)
		}
	}
	w.after(phase, again)
}

// phase is a random part of a period, so that regions do not act at once.
func (w *world) phase(period time.Duration) time.Duration {
	return time.Duration(w.dice.Int64N(int64(period)))
}

// send carries a message between a region and the center, or loses it. Messages
// arrive on whole milliseconds, so that what comes together is seen together.
func (w *world) send(region, bytes int, do func()) {
	w.carry(w.Net.roundTrip(region, w.K)/2, bytes, do)
}

// carry carries a message over a way of some length.
func (w *world) carry(way time.Duration, bytes int, do func()) {
	w.traffic.Bytes += int64(bytes)
	if w.Net.Loss > 0 && w.dice.Float64() < w.Net.Loss {
		return
	}
	w.agenda.push((w.now + way + time.Millisecond - 1).Truncate(time.Millisecond), do)
}

// admit answers a request: its tokens are spent now.
func (w *world) admit(q *Request) {
	w.log = append(w.log, admission{w.now, q.Region, q.Cost})
	w.aged.admitted(q)
	w.answered(q)
}

// deny answers a request: it is turned away now.
func (w *world) deny(q *Request) {
	untrue, stranded := w.aged.existed(q)
	w.denials = append(w.denials, denial{untrue, stranded})
	w.answered(q)
}

func (w *world) answered(q *Request) {
	w.settled++
	if d := w.now - q.At; d > 0 {
		w.waited = append(w.waited, d)
	}
}

// fail ends the run.
func (w *world) fail(err error) {
	if w.failure == nil {
		w.failure = err
	}
}
