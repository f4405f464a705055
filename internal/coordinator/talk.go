package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
)

// talk is one stream of a holder, from its beginning to its end. Three
// goroutines share it: the handler, which waits for the end; one that receives
// and one that sends, which both end when the handler returns.
type talk struct {
	t      *term
	stream pb.Coordinator_LeaseServer

	session lease.Session // set before the goroutines start
	out     outbox
	heard   atomic.Int64 // Mono of the last message
	greeted atomic.Bool  // the Hello is complete
	brought int          // reports while the store was behind; the receiver's

	once  sync.Once
	ended chan struct{} // closed by end
	why   error         // belongs to the closer of ended
	how   string        // of a good end; likewise

	// Owned by the term's loop; the holder does not change once it has greeted.
	holder lease.HolderID
	since  time.Duration
}

func newTalk(t *term, stream pb.Coordinator_LeaseServer) *talk {
	c := &talk{t: t, stream: stream, ended: make(chan struct{}), out: newOutbox(t.opts.maxQueued)}
	c.heard.Store(int64(t.clock.Mono()))
	return c
}

// end ends the talk; the first reason counts.
func (c *talk) end(why error) {
	c.once.Do(func() {
		c.why = why
		close(c.ended)
	})
}

// part ends the talk in good order.
func (c *talk) part(how string) {
	c.once.Do(func() {
		c.how = how
		close(c.ended)
	})
}

// reason says in words why the talk ended.
func (c *talk) reason(err error) string {
	switch status.Code(err) {
	case codes.OK:
		return c.how
	case codes.Canceled:
		return "the holder ended without a goodbye, or was cut off"
	default:
		return status.Convert(err).Message()
	}
}

// tell logs how the talk ended, and whose it was if that is known: the holder of
// a stream that ended without a goodbye may have died, and what it held stays
// charged to it until it comes again or that has run out.
func (c *talk) tell(err error) {
	log := c.t.log
	if c.greeted.Load() {
		log = log.With("region", c.holder.Region, "node", c.holder.Node, "holder", c.holder.String(), "session", c.session.N)
	}
	reason := c.reason(err)
	switch {
	case c.greeted.Load():
		log.Info("a holder's stream ended", "code", status.Code(err).String(), "reason", reason)
	case err != nil:
		log.Info("a stream ended before its Hello", "code", status.Code(err).String(), "reason", reason)
	}
}

// run holds the conversation and returns why it ended.
func (c *talk) run() (err error) {
	ctx := c.stream.Context()
	welcome, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		why := c.reason(statusOf(err))
		c.t.post(func(now lease.Moment) { c.close(now, why) })
	}()
	go c.receive(ctx)
	go c.send(ctx, welcome)

	hello := time.NewTimer(c.t.opts.HelloTimeout)
	defer hello.Stop()
	silence := max(silenceTime, c.t.clock.Real(silenceTime))
	watch := time.NewTicker(silence / 4)
	defer watch.Stop()
	for {
		select {
		case <-c.ended:
			return c.why
		case <-hello.C:
			if !c.greeted.Load() {
				return errHello
			}
		case <-watch.C:
			if idle := c.t.clock.Mono() - time.Duration(c.heard.Load()); c.t.clock.Real(idle) > silence {
				return errSilent
			}
		case <-c.t.over:
			return errStepDown
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// silenceTime is how long a holder may say nothing: many of its heartbeats.
const silenceTime = 15 * time.Second

// open has the ledger open a session.
func (c *talk) open(ctx context.Context) (lease.Welcome, error) {
	var w lease.Welcome // the loop's until it answered
	err := c.t.ask(ctx, func(now lease.Moment) error {
		var ok bool
		if w, ok = c.t.ledger.OpenSession(); !ok {
			return errBooting
		}
		c.session, c.since = w.Session, now.Mono
		c.t.talks[w.Session.N] = c
		return nil
	})
	if err != nil {
		// It may have been opened for one who no longer waits.
		c.t.post(func(now lease.Moment) { c.close(now, "nobody waited for it") })
		return lease.Welcome{}, err
	}
	return w, nil
}

// close ends the session in the ledger. The loop calls it.
func (c *talk) close(now lease.Moment, why string) {
	if c.session.N != 0 {
		c.t.board.Broken(now.Mono, c.holder, c.session.N, why)
		c.t.ledger.CloseSession(c.session.N)
		delete(c.t.talks, c.session.N)
	}
}

// receive takes the holder's messages, one after the other: the next is read
// when the ledger has taken the one before.
func (c *talk) receive(ctx context.Context) {
	for {
		m, err := c.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			c.part("the holder ended it without a goodbye")
			return
		case err != nil:
			c.refuse(received(err))
			return
		}
		c.heard.Store(int64(c.t.clock.Mono()))
		goodbye, err := c.take(ctx, m)
		if err != nil {
			c.refuse(err)
			return
		}
		if goodbye {
			c.part("the holder said goodbye")
			return
		}
	}
}

// refuse ends the talk because of what was received.
func (c *talk) refuse(why error) {
	if errors.Is(why, wire.ErrInvalid) {
		c.t.metrics.malformed.Inc()
	}
	c.end(why)
}

// take decodes one message and gives it to the ledger.
func (c *talk) take(ctx context.Context, m *pb.LeaseRequest) (goodbye bool, err error) {
	switch m := m.GetMessage().(type) {
	case *pb.LeaseRequest_Hello:
		h, err := wire.ToHello(m.Hello)
		if err == nil {
			err = c.mine(h.Session)
		}
		if err != nil {
			return false, err
		}
		return false, c.t.ask(ctx, func(now lease.Moment) error { return c.hello(now, h) })
	case *pb.LeaseRequest_Reports:
		b, err := wire.ToReportBatch(m.Reports)
		if err == nil {
			err = c.mine(b.Session)
		}
		if err != nil {
			return false, err
		}
		c.pace(ctx, len(b.Reports))
		return b.Goodbye, c.t.ask(ctx, func(now lease.Moment) error { return c.report(now, &b) })
	default:
		return false, fmt.Errorf("%w: neither a Hello nor reports", wire.ErrInvalid)
	}
}

// mine checks that a message is of this stream's session: a holder must not
// speak in the session of another.
func (c *talk) mine(s lease.Session) error {
	if s != c.session {
		return fmt.Errorf("%w: the message is of session %v/%d, the stream of %v/%d",
			lease.ErrSession, s.Epoch, s.N, c.session.Epoch, c.session.N)
	}
	return nil
}

// hello gives one piece of a Hello to the ledger. The loop calls it.
func (c *talk) hello(now lease.Moment, h lease.Hello) error {
	if err := c.t.ledger.Hello(now, h); err != nil {
		return err
	}
	c.holder = h.Holder
	if h.Last {
		c.greeted.Store(true)
		c.t.board.Hello(now.Mono, h.Holder, h.Session.N)
		c.t.log.Info("a holder is connected", "holder", h.Holder.String(), "session", h.Session.N)
	}
	return nil
}

// report gives a batch to the ledger. The board hears of cuts first: what was spent in them is never observed
// before. The loop calls it.
func (c *talk) report(now lease.Moment, b *lease.ReportBatch) error {
	if c.greeted.Load() {
		c.t.board.Report(now.Mono, c.holder, b)
	}
	return c.t.ledger.Report(now, *b)
}

// send writes what the ledger has for the holder.
func (c *talk) send(ctx context.Context, welcome lease.Welcome) {
	err := c.stream.Send(&pb.LeaseResponse{Message: &pb.LeaseResponse_Welcome{Welcome: wire.FromWelcome(welcome)}})
	for err == nil {
		select {
		case <-c.out.news:
		case <-c.ended:
			return
		case <-ctx.Done():
			return
		}
		for _, b := range c.out.take() {
			for _, part := range wire.SplitGrants(b) {
				if err == nil {
					err = c.stream.Send(&pb.LeaseResponse{Message: &pb.LeaseResponse_Grants{Grants: wire.FromGrantBatch(part)}})
				}
			}
		}
	}
	c.end(err)
}
