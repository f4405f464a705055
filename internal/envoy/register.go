package envoy

import (
	"context"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Register registers the service. Its requests are decoded here: header values go
// into descriptors as they are, and one that is no UTF-8 is the caller's mistake,
// which gRPC's own handler would call an internal error.
func (s *Service) Register(g *grpc.Server) {
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: Name, HandlerType: (*rls.RateLimitServiceServer)(nil), Metadata: "envoy/service/ratelimit/v3/rls.proto",
		Methods: []grpc.MethodDesc{{MethodName: "ShouldRateLimit", Handler: handle}},
	}, s)
}

//nolint:revive // the order is that of grpc.MethodDesc
func handle(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	var bytes emptypb.Empty // to which every field is unknown, and kept
	if err := decode(&bytes); err != nil {
		return nil, err
	}
	var r rls.RateLimitRequest
	if err := proto.Unmarshal(bytes.ProtoReflect().GetUnknown(), &r); err != nil {
		return nil, invalid("the request cannot be decoded: %v", err)
	}
	s := srv.(rls.RateLimitServiceServer) //nolint:errcheck // by HandlerType
	if interceptor == nil {
		return s.ShouldRateLimit(ctx, &r)
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: rls.RateLimitService_ShouldRateLimit_FullMethodName}
	return interceptor(ctx, &r, info, func(ctx context.Context, r any) (any, error) {
		return s.ShouldRateLimit(ctx, r.(*rls.RateLimitRequest)) //nolint:errcheck // it is what was handed in
	})
}
