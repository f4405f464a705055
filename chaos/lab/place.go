package lab

import (
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// place is one regional process: the thin shell around a holder that package
// limiter is, on one thread.
type place struct {
	s       *ours
	i       int
	holder  *lease.Holder
	cell    *lease.Cell
	session lease.Session
	waiting []*waiter
	last    time.Duration // when it last reported
	beats   uint64        // numbers the next report, so that an older one is not made
	clock   func() time.Duration
	cells   [1]*lease.Cell
}

// waiter is a request of a bucket of which nothing is known yet.
type waiter struct {
	q       *Request
	until   time.Duration
	changed <-chan struct{}
	over    bool
}

func newPlace(s *ours, i int) *place {
	p := &place{s: s, i: i, clock: func() time.Duration { return s.w.now }}
	id := lease.HolderID{Region: fmt.Sprintf("region %03d", i), Node: "1"}
	binary.BigEndian.PutUint64(id.Incarnation[:], uint64(i)+1)
	p.holder = lease.NewHolder(lease.HolderConfig{ID: id, Plan: reconcile.Plan, Hurry: p.hurry}, lease.State{})
	s.w.after(time.Second/2, p.connect)
	return p
}

// connect opens a session. That is done once, in quiet, and loses nothing.
func (p *place) connect() {
	w := p.s.w
	welcome, ok := p.s.ledger.OpenSession()
	if !ok {
		w.fail(fmt.Errorf("region %d: the ledger opens no session", p.i))
		return
	}
	p.holder.Adopt(welcome.PolicyRevision, []lease.QuotaLimits{{Terms: p.s.terms, MaxKeys: 10}})
	pieces, err := p.holder.Welcome(w.now, welcome)
	if err != nil {
		w.fail(err)
		return
	}
	for _, h := range pieces {
		if err := p.s.ledger.Hello(p.s.moment(), h); err != nil {
			w.fail(err)
			return
		}
	}
	p.session = welcome.Session
	p.s.look()
	p.schedule(w.phase(reportInterval))
}

// schedule has the next report made after a time, and no other before.
func (p *place) schedule(d time.Duration) {
	p.beats++
	number := p.beats
	p.s.w.after(d, func() {
		if p.beats == number && p.s.w.failure == nil {
			p.report()
		}
	})
}

// hurry has the next report made soon.
func (p *place) hurry() { p.schedule(max(0, p.last+hurried-p.s.w.now)) }

func (p *place) report() {
	w := p.s.w
	p.last = w.now
	if w.now < w.end {
		p.schedule(reportInterval)
	}
	batch, ok := p.holder.Tick(w.now)
	if !ok {
		return
	}
	w.traffic.Reports += int64(max(1, len(batch.Reports)))
	w.send(p.i, proto.Size(wire.FromReportBatch(batch)), func() {
		if err := p.s.ledger.Report(p.s.moment(), batch); err != nil {
			w.fail(fmt.Errorf("region %d: %w", p.i, err))
		}
		p.s.look()
	})
}

func (p *place) grants(b lease.GrantBatch) {
	if err := p.holder.Grants(p.s.w.now, b); err != nil {
		p.s.w.fail(fmt.Errorf("region %d: %w", p.i, err))
		return
	}
	p.wake()
}

// ask decides a request; one of a cold bucket waits, as in package limiter.
func (p *place) ask(q *Request) {
	v := p.decide(q)
	if v.Outcome != lease.Cold || !p.holder.Connected() {
		p.answer(q, v)
		return
	}
	t := &waiter{q: q, until: p.s.w.now + coldWait, changed: p.cell.Changed()}
	p.waiting = append(p.waiting, t)
	p.s.w.after(coldWait, func() {
		if !t.over {
			t.over = true
			p.s.w.deny(q)
		}
	})
}

// decide makes one decision.
func (p *place) decide(q *Request) lease.Verdict {
	for {
		if p.cell == nil {
			p.cell = p.holder.Cell(quotaName, keyName)
			p.cells[0] = p.cell
		}
		v := lease.Decide(p.clock, p.cells[:], q.Cost)
		if v.Outcome != lease.Forgotten {
			return v
		}
		p.cell = nil
	}
}

func (p *place) answer(q *Request, v lease.Verdict) {
	if v.Outcome == lease.Admitted {
		p.s.w.admit(q)
		return
	}
	p.s.w.deny(q)
}

// wake has those decide anew whose cell was told something.
func (p *place) wake() {
	waiting := p.waiting
	p.waiting = nil
	for _, t := range waiting {
		if t.over {
			continue
		}
		select {
		case <-t.changed:
			v := p.decide(t.q)
			if v.Outcome != lease.Cold {
				t.over = true
				p.answer(t.q, v)
				continue
			}
			t.changed = p.cell.Changed()
		default:
		}
		p.waiting = append(p.waiting, t)
	}
}
