package limiter_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// follower is a coordinator that does not lead and says who does.
type follower struct {
	pb.UnimplementedCoordinatorServer
	asked int
}

func (f *follower) Lease(grpc.BidiStreamingServer[pb.LeaseRequest, pb.LeaseResponse]) error {
	f.asked++
	s, err := status.New(codes.FailedPrecondition, "not the leader").WithDetails(&errdetails.ErrorInfo{
		Reason: "NOT_LEADER", Domain: "leasehold", Metadata: map[string]string{"leader": "passthrough:///leader"},
	})
	if err != nil {
		return err
	}
	return s.Err()
}

func TestAFollowersWordLeadsToTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		f, listener, server := &follower{}, bufconn.Listen(1<<16), grpc.NewServer()
		pb.RegisterCoordinatorServer(server, f)
		go server.Serve(listener) //nolint:errcheck // it ends by Stop
		t.Cleanup(server.Stop)
		l := region(t, leader, func(o *limiter.Options) {
			o.Coordinators = []string{"passthrough:///follower"}
			o.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				if address == "leader" {
					return leader.DialContext(ctx)
				}
				return listener.DialContext(ctx)
			})}
		})
		ready(t, l)
		assert.Equal(t, "passthrough:///leader", l.Status().Coordinator)
		assert.Equal(t, 1, f.asked)
	})
}
