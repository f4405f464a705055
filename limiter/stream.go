package limiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
)

// silence is how long a stream may bring nothing before it is taken for dead:
// the coordinator answers every heartbeat, and there is one each second.
const silence = 3500 * time.Millisecond

// leastPatience is the least real time for which a stream may be silent. A clock
// that runs faster makes no machine faster, and a connection that lives should
// not be given up because this process had no core for a moment.
const leastPatience = 250 * time.Millisecond

func (s *stream) patience() time.Duration { return max(s.clock.Real(silence), leastPatience) }

var errSilent = errors.New("the coordinator is silent")

// stream is one conversation with one coordinator.
type stream struct {
	pb.Coordinator_LeaseClient
	clock  *clock.Clock
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{} // closed when nothing more will come

	watch *time.Timer // breaks the stream off when it is silent
}

// open begins a conversation. It takes no longer than a silence.
func openStream(ctx context.Context, c *clock.Clock, client pb.CoordinatorClient) (*stream, error) {
	s := &stream{clock: c, ended: make(chan struct{})}
	var broken context.CancelCauseFunc
	s.ctx, broken = context.WithCancelCause(ctx)
	s.cancel = func() { broken(context.Canceled) }
	s.watch = time.AfterFunc(s.patience(), func() { broken(errSilent) })
	var err error
	if s.Coordinator_LeaseClient, err = client.Lease(s.ctx); err != nil {
		err = s.why(err)
		s.close()
		return nil, err
	}
	return s, nil
}

// close ends the conversation. Nobody waits for a message then.
func (s *stream) close() {
	s.watch.Stop()
	s.cancel()
	close(s.ended)
}

// why returns the cause of an error: that the stream was broken off, if it was.
func (s *stream) why(err error) error {
	if cause := context.Cause(s.ctx); errors.Is(cause, errSilent) {
		return fmt.Errorf("%w: nothing came for %v", errSilent, silence)
	}
	return err
}

// next waits for the next message.
func (s *stream) next() (*pb.LeaseResponse, error) {
	m, err := s.Recv()
	if err != nil {
		return nil, s.why(err)
	}
	s.watch.Reset(s.patience())
	return m, nil
}

// welcome waits for the first message.
func (s *stream) welcome() (lease.Welcome, error) {
	m, err := s.next()
	if err != nil {
		return lease.Welcome{}, err
	}
	w := m.GetWelcome()
	if w == nil {
		return lease.Welcome{}, fmt.Errorf("%w: the first message is no Welcome", wire.ErrInvalid)
	}
	return wire.ToWelcome(w)
}

// hello sends a Hello in pieces.
func (s *stream) hello(pieces []lease.Hello) error {
	for _, p := range pieces {
		m := &pb.LeaseRequest{Message: &pb.LeaseRequest_Hello{Hello: wire.FromHello(p)}}
		if err := s.Send(m); err != nil {
			return s.why(err)
		}
		s.watch.Reset(s.patience()) // a long Hello is no silence
	}
	return nil
}

// report sends one batch. It returns false when the stream has broken.
func (s *stream) report(b lease.ReportBatch) bool {
	return s.Send(&pb.LeaseRequest{Message: &pb.LeaseRequest_Reports{Reports: wire.FromReportBatch(b)}}) == nil
}

// goodbye sends the last batch. The coordinator ends the stream when it took it.
func (s *stream) goodbye(b lease.ReportBatch) error {
	for _, part := range wire.SplitReports(b) {
		if !s.report(part) {
			return errors.New("the stream broke")
		}
	}
	return s.CloseSend()
}
