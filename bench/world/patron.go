package world

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

const (
	// bounty is how much of every bucket a patron grants.
	bounty = 1 << 50
	// term is how long its leases last: longer than any benchmark.
	term = time.Hour
)

// patron is a coordinator that grants everything to everybody and keeps no
// books, so that a benchmark of a limiter measures the limiter. Its session is
// real, its messages are.
type patron struct {
	pb.UnimplementedCoordinatorServer
	policy []byte
	server *grpc.Server
	ended  chan error
}

// newPatron serves Policy on a listener.
func newPatron(listener net.Listener) (*patron, error) {
	set, err := policy.Parse("policy", []byte(Policy))
	if err != nil {
		return nil, err
	}
	p := &patron{
		policy: set.MarshalCanonical(), ended: make(chan error, 1),
		server: grpc.NewServer(grpc.MaxRecvMsgSize(wire.MaxMessageBytes), grpc.MaxSendMsgSize(wire.MaxMessageBytes)),
	}
	pb.RegisterCoordinatorServer(p.server, p)
	go func() { p.ended <- p.server.Serve(listener) }()
	return p, nil
}

// close ends all sessions.
func (p *patron) close() error {
	p.server.Stop()
	return <-p.ended
}

// Lease implements the service.
func (p *patron) Lease(stream grpc.BidiStreamingServer[pb.LeaseRequest, pb.LeaseResponse]) error {
	session := lease.Session{Epoch: lease.Epoch{History: 1, Revision: 1}, N: 1}
	welcome := wire.FromWelcome(lease.Welcome{
		Cluster: "bench", Session: session, StoreRevision: 1, Drift: lease.DefaultDrift,
		ReportInterval: 100 * time.Millisecond, PolicyRevision: 1, Policy: p.policy,
	})
	if err := stream.Send(&pb.LeaseResponse{Message: &pb.LeaseResponse_Welcome{Welcome: welcome}}); err != nil {
		return err
	}
	account := uint64(1) << 32
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if m.GetReports() == nil {
			continue // a Hello: nothing is known of its claims
		}
		batch, err := wire.ToReportBatch(m.GetReports())
		if err != nil {
			return err
		}
		if batch.Goodbye {
			return nil
		}
		for _, part := range wire.SplitGrants(answer(session, batch, &account)) {
			message := &pb.LeaseResponse_Grants{Grants: wire.FromGrantBatch(part)}
			if err := stream.Send(&pb.LeaseResponse{Message: message}); err != nil {
				return err
			}
		}
	}
}

// answer grants what is asked for, in an account of its own for each bucket.
func answer(session lease.Session, batch lease.ReportBatch, account *uint64) lease.GrantBatch {
	out := lease.GrantBatch{Session: session, Echo: batch.Sent, PolicyRevision: 1, StoreRevision: 1}
	for i := range batch.Reports {
		r := &batch.Reports[i]
		g := lease.Grant{Bucket: r.Bucket, Account: r.Account, TTL: term, Echo: batch.Sent, Pool: bounty}
		switch {
		case r.Close:
			g.Closed, g.Granted = true, r.GrantSeen
		case r.Account == 0:
			*account++
			g.Account, g.Granted = *account, bounty
		default:
			g.Granted = bounty + r.Spent + r.Returned
		}
		out.Grants = append(out.Grants, g)
	}
	return out
}

// Coordinate serves a coordinator that grants everything by Policy, until ctx
// ends.
func Coordinate(ctx context.Context, listener net.Listener) error {
	p, err := newPatron(listener)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return p.close()
}
