package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/a1009580/leasehold/lease"
)

// lead stands for election and leads, again and again, until ctx ends. It fails
// only for what another try would not change.
func (s *Server) lead(ctx context.Context) error {
	pause := &backoff.ExponentialBackOff{
		InitialInterval: 100 * time.Millisecond, Multiplier: 2, RandomizationFactor: 0.3, MaxInterval: 2 * time.Second,
	}
	pause.Reset()
	for ctx.Err() == nil {
		s.campaigning.Store(true)
		leadership, err := s.opts.Backing.Elector.Campaign(ctx, s.opts.Advertise)
		s.campaigning.Store(false)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("the campaign failed, trying again", "error", err)
				sleep(ctx, pause.NextBackOff())
			}
			continue
		}
		booted, err := s.serveTerm(ctx, leadership)
		if fatal(err) {
			return err
		}
		s.stepped(err)
		if booted {
			pause.Reset()
		}
		sleep(ctx, pause.NextBackOff())
	}
	s.draining.Store(true)
	return nil
}

// fatal says that an operator must act.
func fatal(err error) bool {
	return errors.Is(err, lease.ErrEmptyStore) || errors.Is(err, lease.ErrNotCluster) || errors.Is(err, errNotNew)
}

// stepped tells why a leadership ended.
func (s *Server) stepped(err error) {
	text := err.Error()
	s.trouble.Store(&text)
	reason := "failed"
	switch {
	case errors.Is(err, errRetired):
		s.log.Info("stepped down in good order")
		return
	case errors.Is(err, lease.ErrLostHistory):
		reason = "lost_history"
		s.log.Error("the store lost its past: it was wiped or restored from an older copy. A new history begins: "+
			s.afterLoss(), "error", err)
	case errors.Is(err, lease.ErrFenced):
		reason = "fenced"
		s.log.Warn("stepped down: another coordinator leads, or the election lease ended", "error", err)
	case errors.Is(err, errStuck):
		reason = "stuck"
		s.log.Error("stepped down: the leader made no progress", "error", err)
	case errors.Is(err, lease.ErrUnknown):
		reason = "unknown_outcome"
		s.log.Warn("stepped down: the outcome of a transaction is not known", "error", err)
	default:
		s.log.Error("stepped down", "error", err)
	}
	s.metrics.stepDowns.WithLabelValues(reason).Inc()
}

// afterLoss says what a new history begins with.
func (s *Server) afterLoss() string {
	if s.opts.TrustStore {
		return "the store is trusted as --trust-restored-store asks, so that its records stand and grants go on at once; " +
			"what was spent since the copy was made can be admitted a second time"
	}
	return "nothing is granted until the longest lease that may still run has ended, buckets start empty, and the " +
		"current windows count as used"
}

// serveTerm leads until ctx ends or this leader must stop, and gives up the
// leadership. It always returns an error: errRetired after an orderly end.
func (s *Server) serveTerm(ctx context.Context, leadership lease.Leadership) (booted bool, err error) {
	t, err := s.newTerm(ctx, leadership)
	if err != nil {
		s.resign(leadership, err)
		return false, err
	}
	s.log.Info("elected", "epoch", t.ledger.Epoch().String(), "policy", t.ledger.Policy().Revision, "ttl", leadership.TTL())
	s.term.Store(t)
	err = t.run(ctx)
	s.term.Store(nil)
	s.setServing(false)
	s.resign(leadership, err)
	close(t.over)
	t.wait()
	return t.booted.Load(), err
}

// resign gives up a leadership, so that a successor need not wait for the end
// of the election lease. It has a deadline of its own: the context whose end
// made the leader resign would make it do nothing.
func (s *Server) resign(leadership lease.Leadership, why error) {
	if errors.Is(why, lease.ErrFenced) {
		return
	}
	s.leader.forget()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.ResignTimeout)
	defer cancel()
	if err := leadership.Resign(ctx); err != nil {
		s.log.Warn("could not resign: a successor waits until the election lease ends", "ttl", leadership.TTL(), "error", err)
		return
	}
	s.log.Info("resigned")
}

// longNamesake is how long a leader may have our own address before that is taken
// for a mistake: the place of a predecessor that was killed is free after its
// election lease.
const longNamesake = 10 * time.Second

// watchNamesake warns once when another coordinator leads under our address:
// holders and operators could not tell the two apart.
func (s *Server) watchNamesake(ctx context.Context) {
	ticker := time.NewTicker(s.opts.namesake / 10)
	defer ticker.Stop()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !s.campaigning.Load() {
			since = time.Time{}
			continue
		}
		leader, err := s.leader.get(ctx)
		switch {
		case err != nil || leader != s.opts.Advertise || !s.campaigning.Load():
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= s.opts.namesake:
			s.log.Warn("another coordinator leads and advertises the address of this one: give each an --advertise of its own",
				"advertise", s.opts.Advertise)
			return
		}
	}
}

// leaderCache remembers for a moment who leads, so that a crowd of holders does
// not become a crowd of reads.
type leaderCache struct {
	elector lease.Elector

	mu     sync.Mutex
	read   time.Time
	leader string
	err    error
}

const (
	leaderFresh   = 500 * time.Millisecond
	leaderTimeout = time.Second
)

// get returns the leader's address, "" if nobody leads.
func (c *leaderCache) get(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) < leaderFresh {
		return c.leader, c.err
	}
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	leader, ok, err := c.elector.Leader(ctx)
	if !ok {
		leader = ""
	}
	if err != nil {
		err = fmt.Errorf("who leads: %w", err)
	}
	c.leader, c.err, c.read = leader, err, time.Now()
	return leader, err
}

func (c *leaderCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = time.Time{}
}

// notLeading is the answer to a holder that should talk to another coordinator.
func (s *Server) notLeading(ctx context.Context) error {
	if s.draining.Load() {
		return errDraining
	}
	leader, err := s.leader.get(ctx)
	if err != nil || leader == s.opts.Advertise {
		leader = ""
	}
	return &notLeadingError{leader: leader}
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
