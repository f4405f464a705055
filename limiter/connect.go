package limiter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

const (
	firstPause = 50 * time.Millisecond
	// longPause is the longest time between two attempts, with its jitter.
	longPause = time.Second
	jitter    = 0.5
)

// connect is the actor that keeps a conversation with the leading coordinator
// going: it tries the addresses in turn, and one that another named first.
func (l *Limiter) connect(ctx context.Context) {
	pause := &backoff.ExponentialBackOff{
		InitialInterval: firstPause, Multiplier: 2, RandomizationFactor: jitter,
		MaxInterval: longPause * 2 / 3, // with the jitter on top
	}
	pause.Reset()
	next, leader := 0, ""
	for !l.draining.Load() && ctx.Err() == nil {
		address := leader
		if leader == "" {
			address = l.opts.Coordinators[next%len(l.opts.Coordinators)]
			next++
		}
		welcomed, err := l.converse(ctx, address)
		if l.draining.Load() || ctx.Err() != nil {
			return
		}
		named := leaderNamed(err)
		if named != "" && named != address && leader == "" {
			l.log.Debug("another coordinator leads", "coordinator", address, "leader", named)
			leader = named
			continue // at once: this is the first word of that address
		}
		l.lost(address, welcomed, err)
		leader = ""
		if welcomed {
			pause.Reset()
		}
		next = l.nextAddress(next, address, welcomed && !errors.Is(err, errSilent))
		select {
		case <-ctx.Done():
		case <-l.closing:
		case <-l.clock.After(pause.NextBackOff()):
		}
	}
}

// nextAddress is the number of the address to try after a conversation with one
// ended: the same one again, or surely another, if there is any. One that fell
// silent costs a silence each time that it is tried, and a standby may lead by now.
func (l *Limiter) nextAddress(next int, address string, again bool) int {
	n := len(l.opts.Coordinators)
	switch {
	case again:
		return next + n - 1
	case l.opts.Coordinators[next%n] == address:
		return next + 1
	}
	return next
}

// errOrderly is the end of a session that a coordinator ended without an error.
var errOrderly = errors.New("the coordinator ended the session in good order, as it does when a new policy comes into force")

// sayAgain is how often it is said that there still is no coordinator, in real
// time.
const sayAgain = 30 * time.Second

// lost notes how a conversation ended. The first attempt that fails since there
// was a session is said, and later ones now and then, whatever the address.
func (l *Limiter) lost(address string, welcomed bool, err error) {
	now := max(l.now(), 1)
	l.mu.Lock()
	said := l.state.said
	say := !welcomed && (said == 0 || l.clock.Real(now-said) >= sayAgain)
	if say {
		l.state.said = now
	}
	l.state.lastError = err
	l.notice(now, func(k *partition.Link) { k.Broken(now, wordsOf(err)) })
	l.mu.Unlock()
	switch {
	case welcomed && errors.Is(err, errOrderly):
		l.log.Info("the session ended, another is opened", "coordinator", address, "reason", err)
	case welcomed:
		l.log.Warn("lost the coordinator", "coordinator", address, "error", err)
	case say:
		l.log.Warn("no coordinator", "coordinator", address, "error", err)
	default:
		l.log.Debug("still no coordinator", "coordinator", address, "error", err)
	}
}

// wordsOf is an error in words for people: of a status its message.
func wordsOf(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// leaderNamed returns the address that a coordinator which does not lead named
// in its answer, if it did.
func leaderNamed(err error) string {
	s, ok := status.FromError(err)
	if !ok {
		return ""
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetMetadata()["leader"]
		}
	}
	return ""
}

// dial makes a connection of its own for one attempt, so that no backoff but
// ours is between two of them.
func (l *Limiter) dial(address string) (*grpc.ClientConn, error) {
	options := slices.Concat([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessageBytes), grpc.MaxCallSendMsgSize(wire.MaxMessageBytes)),
	}, l.opts.DialOptions)
	return grpc.NewClient(address, options...)
}

// converse holds one conversation until it ends, and says whether it came to a
// session.
func (l *Limiter) converse(ctx context.Context, address string) (welcomed bool, err error) {
	conn, err := l.dial(address)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	s, err := openStream(ctx, l.clock, pb.NewCoordinatorClient(conn))
	if err != nil {
		return false, err
	}
	l.opened()
	defer l.disconnect(s)
	w, err := s.welcome()
	if err != nil {
		return false, err
	}
	if err := l.greet(s, address, w); err != nil {
		return false, err
	}
	for {
		m, err := s.next()
		if errors.Is(err, io.EOF) {
			err = errOrderly
		}
		if err != nil {
			return true, err
		}
		if err := l.hear(m); err != nil {
			return true, err
		}
	}
}

// opened notes that there is a stream, which proves nothing yet.
func (l *Limiter) opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.notice(now, func(k *partition.Link) { k.Opened(now) })
}

// greet answers a Welcome: it adopts the policy and opens the session. No report
// is made before the whole Hello is sent.
func (l *Limiter) greet(s *stream, address string, w lease.Welcome) error {
	l.speaking.Lock()
	defer l.speaking.Unlock()
	pieces, err := l.accept(address, w)
	if len(pieces) > 0 {
		// Also to a coordinator that is refused: then it is the witness that
		// something newer exists (laws 9 and 13).
		if e := s.hello(pieces); e != nil && err == nil {
			err = e
		}
	}
	if err != nil {
		s.CloseSend() //nolint:errcheck // it is given up either way
		return err
	}
	l.out = s
	l.log.Info("leasing", "coordinator", address, "session", w.Session.N, "epoch", w.Session.Epoch.String(), "policy", w.PolicyRevision)
	l.wantBeat()
	return nil
}

// accept brings the policy of a Welcome into force, and has the holder answer.
func (l *Limiter) accept(address string, w lease.Welcome) ([]lease.Hello, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining.Load() {
		return nil, ErrClosed
	}
	// Not before the session is open: who waited for the policy would else be
	// denied for want of a coordinator.
	defer l.announce()
	now := l.now()
	if r := l.rules.Load(); !l.holder.Older(w) && (r == nil || l.revision != w.PolicyRevision || !bytes.Equal(l.policy, w.Policy)) {
		if err := l.adopt(w.PolicyRevision, w.Policy); err != nil {
			return nil, fmt.Errorf("the coordinator's policy is refused: %w", err)
		}
		if r != nil {
			l.log.Info("a new policy is in force", "revision", w.PolicyRevision)
		}
	}
	if !l.holder.Older(w) {
		l.notice(now, func(k *partition.Link) { k.Proof(now) })
	}
	pieces, err := l.holder.Welcome(now, w)
	if err != nil {
		return pieces, err
	}
	l.history.SetDrift(w.Drift)
	l.state = connection{session: w.Session, coordinator: address, since: now, heard: now, interval: w.ReportInterval}
	l.welcomed.Store(true)
	l.keep.want()
	return pieces, nil
}

// hear takes a message of an open session.
func (l *Limiter) hear(m *pb.LeaseResponse) error {
	g := m.GetGrants()
	if g == nil {
		return fmt.Errorf("%w: not a batch of grants", wire.ErrInvalid)
	}
	batch, err := wire.ToGrantBatch(g)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining.Load() {
		return nil // all that comes now is given back by the goodbye
	}
	now := l.now()
	l.notice(now, func(k *partition.Link) {
		if batch.Echo > l.state.echo {
			l.state.echo = batch.Echo
			k.Proof(now)
		} else {
			k.Heard(now) // it does not answer: our reports may not arrive
		}
	})
	if err := l.holder.Grants(now, batch); err != nil {
		return err
	}
	l.state.heard = now
	l.roundTrip.Store(int64(l.holder.RoundTrip()))
	l.metrics.heard(&batch)
	return nil
}

// disconnect ends a conversation. Leases and floors live on until they run out.
func (l *Limiter) disconnect(s *stream) {
	s.close() // first: whoever is sending on it holds speaking
	l.speaking.Lock()
	defer l.speaking.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder.Disconnected()
	l.state.coordinator = ""
	l.out = nil
}
