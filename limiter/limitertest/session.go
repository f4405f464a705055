package limitertest

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
)

// session is one stream of a Coordinator. All but stream belong to its mu.
type session struct {
	c     *Coordinator
	n     uint64
	epoch lease.Session
	over  bool
	why   error // of the end; nil is a good one
	queue []letter
	wake  chan struct{} // closed and replaced when something changed
	lost  int
}

// letter is a batch and when it arrives.
type letter struct {
	batch lease.GrantBatch
	at    time.Duration
}

func (s *session) changed() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// end ends the session, in good order if why is nil.
func (s *session) end(why error) {
	s.over, s.why = true, why
	s.changed()
}

func (s *session) post(b lease.GrantBatch) {
	s.queue = append(s.queue, letter{b, s.c.clock.Mono() + s.c.delay})
	s.changed()
}

// Lease implements the service.
func (c *Coordinator) Lease(stream grpc.BidiStreamingServer[pb.LeaseRequest, pb.LeaseResponse]) error {
	c.mu.Lock()
	w, ok := c.ledger.OpenSession()
	if !ok || c.faults.Refusing {
		c.mu.Unlock()
		return status.Error(codes.FailedPrecondition, "this coordinator does not lead")
	}
	s := &session{c: c, n: w.Session.N, epoch: w.Session, wake: make(chan struct{})}
	c.sessions[s.n] = s
	c.mu.Unlock()
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.sessions, s.n)
		c.ledger.CloseSession(s.n)
	}()
	if err := s.pause(ctx, func() bool { return c.faults.Mute || c.faults.Frozen }); err != nil {
		return err
	}
	if err := stream.Send(&pb.LeaseResponse{Message: &pb.LeaseResponse_Welcome{Welcome: wire.FromWelcome(w)}}); err != nil {
		return err
	}
	c.actors.Add(2)
	written, read := make(chan error, 1), make(chan error, 1)
	go func() { defer c.actors.Done(); written <- s.write(ctx, stream) }()
	go func() { defer c.actors.Done(); read <- s.read(ctx, stream) }()
	select {
	case err := <-read:
		return err
	case err := <-written:
		return err
	}
}

// pause waits while a fault lasts.
func (s *session) pause(ctx context.Context, fault func() bool) error {
	for {
		s.c.mu.Lock()
		wake, on, over, why := s.wake, fault(), s.over, s.why
		s.c.mu.Unlock()
		if over {
			return why
		}
		if !on {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read takes what the holder says.
func (s *session) read(ctx context.Context, stream grpc.BidiStreamingServer[pb.LeaseRequest, pb.LeaseResponse]) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.pause(ctx, func() bool { return s.c.faults.Frozen }); err != nil {
			return err
		}
		if err := s.take(m); err != nil {
			return status.Error(codes.FailedPrecondition, err.Error())
		}
	}
}

// take hands one message to the ledger.
func (s *session) take(m *pb.LeaseRequest) error {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.settle()
	if s.over {
		return nil // too late; the end is on its way
	}
	c.received++
	if h := m.GetHello(); h != nil {
		hello, err := wire.ToHello(h)
		if err != nil {
			return err
		}
		for i := range hello.Claims { // numbered from 1: see lease.Hello
			c.rejoined[account{hello.Claims[i].Bucket, s.epoch, uint64(i + 1)}] = hello.Claims[i].Unspent
		}
		return c.ledger.Hello(c.clock.Moment(), hello)
	}
	batch, err := wire.ToReportBatch(m.GetReports())
	if err != nil {
		return err
	}
	if batch.Goodbye {
		c.goodbyes++
	}
	return c.ledger.Report(c.clock.Moment(), batch)
}

// write sends what is due.
func (s *session) write(ctx context.Context, stream grpc.BidiStreamingServer[pb.LeaseRequest, pb.LeaseResponse]) error {
	for {
		s.c.mu.Lock()
		wake, over, why, silent := s.wake, s.over, s.why, s.c.faults.Mute || s.c.faults.Frozen
		var due <-chan time.Time
		var send *lease.GrantBatch
		if len(s.queue) > 0 && !silent {
			if wait := s.queue[0].at - s.c.clock.Mono(); wait > 0 {
				due = s.c.clock.After(wait)
			} else {
				send = &s.queue[0].batch
				s.queue = s.queue[1:]
				s.lost++
				if s.c.faults.Dropping && s.lost%2 == 0 {
					s.c.mu.Unlock()
					continue
				}
			}
		}
		if silent {
			s.queue = nil // lost, not late
		}
		s.c.mu.Unlock()
		switch {
		case over:
			return why
		case send != nil:
			for _, part := range wire.SplitGrants(*send) {
				if err := stream.Send(&pb.LeaseResponse{Message: &pb.LeaseResponse_Grants{Grants: wire.FromGrantBatch(part)}}); err != nil {
					return err
				}
			}
			continue
		}
		select {
		case <-wake:
		case <-due:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
