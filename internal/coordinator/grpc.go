package coordinator

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/wire"
)

// newGRPC returns the server for holders.
func (s *Server) newGRPC() *grpc.Server {
	rpc := grpc.NewServer(
		grpc.MaxRecvMsgSize(wire.MaxMessageBytes),
		grpc.MaxSendMsgSize(wire.MaxMessageBytes),
		grpc.MaxConcurrentStreams(connectionStreams),
		grpc.ConnectionTimeout(10*time.Second),
		// A holder's machine that vanished is noticed in 8 s.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 5 * time.Second, Timeout: 3 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 2 * time.Second, PermitWithoutStream: true}),
	)
	pb.RegisterCoordinatorServer(rpc, &service{s: s})
	grpc_health_v1.RegisterHealthServer(rpc, s.health)
	reflection.Register(rpc)
	return rpc
}

// connectionStreams is how many calls one connection may have open: a holder
// has one.
const connectionStreams = 64

// setServing tells the health service whether this coordinator leads.
func (s *Server) setServing(leads bool) {
	to := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if leads {
		to = grpc_health_v1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus(pb.Coordinator_ServiceDesc.ServiceName, to)
}

// service is the gRPC service.
type service struct {
	pb.UnimplementedCoordinatorServer
	s *Server
}

// Lease implements the service.
func (v *service) Lease(stream pb.Coordinator_LeaseServer) error {
	err := v.s.converse(stream)
	v.s.metrics.talks.WithLabelValues(status.Code(err).String()).Inc()
	return err
}

// converse holds a conversation and returns its status. That holders come to one
// that does not lead is ordinary, and not worth a line each.
func (s *Server) converse(stream pb.Coordinator_LeaseServer) error {
	t := s.term.Load()
	if t == nil || s.draining.Load() {
		return statusOf(s.notLeading(stream.Context()))
	}
	defer s.streams.Add(-1)
	c := newTalk(t, stream)
	if s.streams.Add(1) > int64(s.opts.MaxStreams) {
		err := statusOf(errStreams)
		c.tell(err)
		return err
	}
	err := statusOf(c.run())
	c.tell(err)
	return err
}
