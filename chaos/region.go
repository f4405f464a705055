package chaos

import (
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/reconcile"
)

// region is one regional process: the thin shell around a holder.
type region struct {
	process

	index   int
	cfg     *Region
	id      lease.HolderID
	holder  *lease.Holder
	state   lease.State // what the data directory keeps
	stream  *stream     // the present one
	next    int         // coordinator to try
	heard   time.Duration
	hurried bool
	policy  uint64
	cells   []cellWatch // by quota and key
	waiting []*waiter
	leaving bool

	link partition.Link
	echo time.Duration // the newest report that was answered
	wild lease.Cut     // of a detector that is dice

	cutUp, cutDown int // how many cuts overlap
}

// boot starts the process as a new holder (law 10).
func (r *region) boot() {
	w := r.w
	r.up = true
	w.incarnations++
	inc := w.incarnations
	r.id = lease.HolderID{Region: r.cfg.Name, Node: r.cfg.Node}
	for i := range 8 {
		r.id.Incarnation[i] = byte(inc >> (8 * i))
	}
	plan := reconcile.Plan
	switch {
	case w.cfg.Wild:
		plan = w.wildPlan
	case w.cfg.Simple:
		plan = simplePlan
	}
	r.holder = lease.NewHolder(lease.HolderConfig{ID: r.id, Plan: plan, Hurry: func() { r.hurry() }}, r.state)
	r.policy, r.stream, r.hurried, r.leaving = 0, nil, false, false
	r.link, r.echo, r.wild = partition.Link{}, 0, lease.Cut{}
	r.cells = make([]cellWatch, len(w.bounds))
	r.connect()
	r.tick()
}

// connect opens a stream to the next coordinator.
func (r *region) connect() {
	if r.stream != nil || r.leaving {
		return
	}
	c := r.w.coords[r.next%len(r.w.coords)]
	r.next++
	s := &stream{region: r, gen: r.gen, coord: c}
	r.stream, r.heard = s, r.clock()
	if !c.up {
		r.after(20*time.Millisecond, func() { r.lost(s) })
		return
	}
	r.w.send(s, true, func() { c.connected(s) })
}

// lost notes that a stream is gone, and connects again.
func (r *region) lost(s *stream) {
	if r.stream != s {
		return
	}
	r.stream = nil
	r.holder.Disconnected()
	r.notice(func(l *partition.Link, now time.Duration) { l.Broken(now, "it ended") })
	r.after(r.w.netRNG.span(20*time.Millisecond, 150*time.Millisecond), r.connect)
}

// welcome adopts what a coordinator says and answers with the Hello.
func (r *region) welcome(s *stream, m lease.Welcome) {
	if r.stream != s {
		return
	}
	r.heard = r.clock()
	if !r.holder.Older(m) && m.PolicyRevision != r.policy || r.policy == 0 {
		r.adopt(m.PolicyRevision, m.Policy)
	}
	if !r.holder.Older(m) {
		r.notice(func(l *partition.Link, now time.Duration) { l.Proof(now) })
	}
	pieces, err := r.holder.Welcome(r.clock(), m)
	if err != nil {
		r.w.count(StaleRefused)
		r.w.tell("%s: %v", r.name, err)
	} else {
		s.session = m.Session
		r.w.register.hello(r, pieces)
	}
	for i := range pieces {
		p := pieces[i]
		if n := len(p.Claims); n > 0 {
			r.w.counts[ClaimMade] += n
		}
		r.w.send(s, true, func() {
			s.coord.hears(s, func(l *lease.Ledger, now lease.Moment) error { return l.Hello(now, p) })
		})
	}
	if err != nil {
		r.after(200*time.Millisecond, func() { r.hangUp(s) })
		return
	}
	r.save()
}

func (r *region) adopt(revision uint64, policy []byte) {
	terms := r.w.termsOf(policy)
	limits := make([]lease.QuotaLimits, len(terms))
	for i := range terms {
		limits[i] = lease.QuotaLimits{Terms: terms[i], MaxKeys: 100}
	}
	r.policy = revision
	r.holder.Adopt(revision, limits)
}

func (r *region) save() {
	if r.cfg.DataDir {
		r.state = r.holder.State()
	}
}

// hangUp ends the stream from this side. The coordinator may never hear of it.
func (r *region) hangUp(s *stream) {
	if r.stream != s {
		return
	}
	r.w.send(s, true, func() { s.coord.lost(s) })
	r.lost(s)
}

// grants takes a batch, of whatever session it is.
func (r *region) grants(s *stream, b lease.GrantBatch) {
	if r.stream == s {
		r.heard = r.clock()
	} else {
		r.w.count(OldMessage)
	}
	now := r.clock()
	if r.stream == s && b.Session == r.holder.Session() {
		r.notice(func(l *partition.Link, now time.Duration) {
			if b.Echo > r.echo {
				r.echo = b.Echo
				l.Proof(now)
			} else {
				l.Heard(now)
			}
		})
	}
	if err := r.holder.Grants(now, b); err != nil {
		return
	}
	r.w.register.taken(r, &b)
	r.save()
	r.serveWaiters()
}

// patience is how long a region waits for an answer before it hangs up.
const patience = 3 * time.Second

// tick reports, regularly and when the holder is in a hurry.
func (r *region) tick() {
	r.report()
	r.after(r.w.cfg.ReportInterval, r.tick)
}

func (r *region) hurry() {
	if r.hurried {
		return
	}
	r.hurried = true
	r.after(5*time.Millisecond, func() {
		r.hurried = false
		r.report()
	})
}

func (r *region) report() {
	if s := r.stream; s != nil && r.clock()-r.heard > patience {
		r.w.tell("%s hears nothing and hangs up", r.name)
		r.hangUp(s)
	}
	r.notice(func(*partition.Link, time.Duration) {})
	batch, ok := r.holder.Tick(r.clock())
	if s := r.stream; ok && s != nil {
		for i := range batch.Reports {
			t := &batch.Reports[i]
			r.w.detail("%s reports %s of %s: of %d it spent %d and returned %d%s", r.name, called(t.Account), t.Bucket.Quota,
				t.GrantSeen, t.Spent, t.Returned, wishes(t))
		}
		r.tellCuts(&batch)
		r.w.send(s, true, func() {
			s.coord.hears(s, func(l *lease.Ledger, now lease.Moment) error { return l.Report(now, batch) })
		})
	}
}

// crash ends the process; a new holder starts after a while.
func (r *region) crash(d time.Duration) {
	if !r.up {
		return
	}
	r.w.tell("%s crashes", r.name)
	r.stop(d)
}

func (r *region) stop(d time.Duration) {
	if s := r.stream; s != nil {
		r.w.send(s, true, func() { s.coord.lost(s) })
	}
	r.up, r.backlog, r.waiting, r.stream = false, nil, nil, nil
	r.gen++
	r.w.heap.push(r.w.now+d, func() {
		r.w.tell("%s is back", r.name)
		r.boot()
	})
}

// leave ends the process in good order.
func (r *region) leave(d time.Duration) {
	s := r.stream
	if !r.up || s == nil || r.paused > 0 {
		return
	}
	r.w.tell("%s leaves", r.name)
	r.leaving = true
	if r.holder.Connected() {
		batch := r.holder.Drain(r.clock())
		r.w.send(s, true, func() {
			s.coord.hears(s, func(l *lease.Ledger, now lease.Moment) error { return l.Report(now, batch) })
		})
	}
	r.stop(d)
}
