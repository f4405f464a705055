package chaos

import (
	"time"

	"github.com/a1009580/leasehold/lease"
)

// fate is what happens to one call of the store.
type fate struct {
	there, back time.Duration
	err         error // what the caller hears instead of the outcome
	skip        bool  // the store never sees the call
	late        time.Duration
}

// callTimeout is after what time a caller gives a call up.
const callTimeout = time.Second

// draw decides the fate of a call. A write of which the caller does not know the
// outcome may be made even after it was told so.
func (s *simstore) draw(p *process, write bool) fate {
	r, f := s.w.storeRNG, &s.w.cfg.Store
	x := fate{there: r.span(200*time.Microsecond, 3*time.Millisecond), back: r.span(200*time.Microsecond, 3*time.Millisecond)}
	unknown := lease.ErrUnavailable
	if write {
		unknown = lease.ErrUnknown
	}
	if s.w.now < s.downTill || p.noStore > 0 {
		x.skip, x.err, x.back = true, pick(r, unknown, lease.ErrUnavailable), callTimeout
		return x
	}
	if !s.w.troubled() {
		return x
	}
	switch {
	case r.permille(f.Refuse):
		s.w.count(RefusedCall)
		x.skip, x.err = true, lease.ErrUnavailable
	case write && r.permille(f.NoSpace):
		s.w.count(NoSpace)
		x.skip, x.err = true, lease.ErrNoSpace
	case r.permille(f.LostAnswer):
		s.w.count(LostAnswer)
		x.err, x.back = unknown, callTimeout
	case r.permille(f.LostCall):
		s.w.count(LostCall)
		x.skip, x.err, x.back = true, unknown, callTimeout
	case write && r.permille(f.LateWrite):
		s.w.count(LateWrite)
		x.err, x.late = unknown, r.span(0, f.MaxSlow)
	case r.permille(f.Slow):
		s.w.count(SlowCall)
		x.there += r.span(0, f.MaxSlow)
		x.back += r.span(0, f.MaxSlow)
	}
	return x
}

// call has the store do something for a process and tells it the outcome.
func (s *simstore) call(p *process, write bool, do func() error, done func(error)) {
	x := s.draw(p, write)
	if x.late > 0 {
		p.after(x.there+x.back, func() { done(x.err) })
		s.w.heap.push(s.w.now+x.there+x.back+x.late, func() { _ = do() })
		return
	}
	if x.skip {
		p.after(x.there+x.back, func() { done(x.err) })
		return
	}
	gen := p.gen
	s.w.heap.push(s.w.now+x.there, func() {
		err := do()
		if x.err != nil {
			err = x.err
		}
		if p.gen == gen {
			p.after(x.back, func() { done(err) })
		}
	})
}
