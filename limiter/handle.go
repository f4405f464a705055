package limiter

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/a1009580/leasehold/lease"
)

// Handle is a request that is decided often: its buckets are looked up once
// and held. It may be used concurrently. It holds no tokens, and need not be
// closed.
type Handle struct {
	l   *Limiter
	req Request
	now atomic.Pointer[held]
}

// held is what a handle has looked up, of one revision of the policy.
type held struct{ matched }

// Handle returns a handle for a request. Its errors are those of Allow, and
// ErrHasRules.
func (l *Limiter) Handle(req Request) (*Handle, error) {
	h := &Handle{l: l, req: Request{Domain: req.Domain, Descriptor: slices.Clone(req.Descriptor), Cost: req.cost()}}
	if h.req.Cost < 0 {
		return nil, ErrNegativeCost
	}
	if _, err := h.look(); err != nil {
		return nil, err
	}
	return h, nil
}

// look looks the buckets up again.
func (h *Handle) look() (*held, error) {
	s := h.l.scratch.Get().(*scratch) //nolint:errcheck // the pool holds nothing else
	defer h.l.release(s)
	if err := h.l.match(h.req.Domain, h.req.Descriptor, s); err != nil {
		return nil, err
	}
	n := &held{matched: s.matched}
	n.quotas, n.cells = slices.Clone(s.quotas), slices.Clone(s.cells)
	h.now.Store(n)
	return n, nil
}

// Allow decides about the request's own cost, as fast as can be: it never
// waits, also not for the first lease of a bucket that is not known here yet,
// which it denies. After Close, and while no policy is known, it denies.
func (h *Handle) Allow() bool { return h.AllowN(h.req.Cost) }

// AllowN is Allow for a cost of n.
func (h *Handle) AllowN(n int64) bool {
	m := h.now.Load()
	if m.rules != h.l.rules.Load() {
		return h.allowAnew(n)
	}
	if len(m.cells) == 1 && n > 0 && m.cells[0].Admit(h.l.now, n) {
		m.quotas[0].tally.add(countAllowed)
		return true
	}
	return h.decide(m, n)
}

// decide is AllowN where one lease alone does not admit it.
func (h *Handle) decide(m *held, n int64) bool {
	if len(m.cells) == 0 {
		return m.free().Allowed
	}
	v := lease.Decide(h.l.now, m.cells, n)
	switch v.Outcome {
	case lease.Admitted:
		for _, q := range m.quotas {
			q.tally.add(countAllowed)
		}
		return true
	case lease.Forgotten:
		return h.allowAnew(n)
	default:
		m.quotas[v.Cell].tally.add(countOf(h.l.reason(v.Outcome)))
		return false
	}
}

// allowAnew looks the buckets up again and decides.
func (h *Handle) allowAnew(n int64) bool {
	for n >= 0 {
		m, err := h.look()
		if err != nil {
			return false
		}
		if len(m.cells) == 0 {
			return m.free().Allowed
		}
		v := lease.Decide(h.l.now, m.cells, n)
		if v.Outcome == lease.Forgotten {
			continue
		}
		return h.l.answer(&m.matched, &v, n).Allowed
	}
	return false
}

// Decide is Limiter.AllowN for the handle's request: it waits for the first
// lease of a bucket, and tells everything about its decision.
func (h *Handle) Decide(ctx context.Context, n int64) (Decision, error) {
	return h.l.AllowN(ctx, h.req, n)
}

// Wait is Limiter.Wait for the handle's request.
func (h *Handle) Wait(ctx context.Context) error { return h.l.WaitN(ctx, h.req, h.req.Cost) }
