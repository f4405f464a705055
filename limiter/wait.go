package limiter

import (
	"context"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Wait blocks until a request of its own cost is admitted. See WaitN.
func (l *Limiter) Wait(ctx context.Context, req Request) error {
	return l.WaitN(ctx, req, req.cost())
}

// WaitN blocks until a cost of n is admitted, and then returns nil; for a cost of
// 0, until one of 1 would be. It returns ctx's error when ctx ends first, an
// *ImpossibleError for a cost that can never be admitted, and ErrClosed when the
// limiter is closed meanwhile; then nothing was taken.
//
// Waiters hold no tokens and are in no order: whoever comes first when tokens
// come takes them.
func (l *Limiter) WaitN(ctx context.Context, req Request, n int64) error {
	if n < 0 {
		return ErrNegativeCost
	}
	s := l.scratch.Get().(*scratch) //nolint:errcheck // the pool holds nothing else
	defer l.release(s)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.match(req.Domain, req.Descriptor, s); err != nil {
			return err
		}
		if len(s.cells) == 0 {
			if s.domain.Unmatched == policy.Deny && s.unbounded == nil {
				return &ImpossibleError{Cost: n}
			}
			s.free()
			return nil
		}
		again, err := l.waitOnce(ctx, s, n)
		if !again {
			return err
		}
	}
}

// waitOnce waits until the request is admitted (false, nil), or its cells are to
// be looked up again (true).
func (l *Limiter) waitOnce(ctx context.Context, s *scratch, n int64) (again bool, err error) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	watched := 0
	for {
		changed := s.cells[watched].Changed() // before the decision, so that no grant is missed
		v := lease.Decide(l.now, s.cells, n)
		switch v.Outcome {
		case lease.Admitted:
			for _, q := range s.quotas {
				q.tally.add(countAllowed)
			}
			return false, nil
		case lease.Forgotten:
			return true, nil
		case lease.Impossible, lease.Invalid:
			q := s.quotas[v.Cell]
			q.tally.add(countImpossible)
			return false, &ImpossibleError{Quota: q.ID, Cost: n, Most: s.cells[v.Cell].Outlook(v.At, n, false, 0).Most}
		case lease.Exhausted, lease.Cold:
		}
		if v.Cell != watched {
			watched = v.Cell
			continue
		}
		timer.Reset(l.clock.Real(l.nap(s, v, n)))
		select {
		case <-changed:
		case <-timer.C:
		case <-l.closing:
			return false, ErrClosed
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if l.rules.Load() != s.rules {
			return true, nil
		}
	}
}

// Bounds of how long a waiter sleeps while nothing comes: the floor fills
// without a word, and a need is worth repeating now and then.
const (
	leastNap = time.Millisecond
	longNap  = 250 * time.Millisecond
)

// nap is how long a waiter sleeps if no grant wakes it.
func (l *Limiter) nap(s *scratch, v lease.Verdict, n int64) time.Duration {
	return min(max(s.cells[v.Cell].Outlook(v.At, n, false, 0).Retry, leastNap), longNap)
}
