package grpclimit_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/grpclimit"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// Example has a server limit its calls, and a client that would come back when it
// was told if it had the time.
func Example() {
	var script limitertest.Script
	defer script.End()
	c := limitertest.New(&script, limitertest.Options{Policy: policy})
	l, err := limiter.New(limiter.Options{ // elsewhere, Coordinators names the real ones
		Region: "eu", Coordinators: []string{limitertest.Address}, DialOptions: []grpc.DialOption{c.Dial()},
	})
	if err != nil {
		panic(err)
	}
	defer l.Close(context.Background())
	if err := l.Ready(context.Background()); err != nil {
		panic(err)
	}

	limit, err := grpclimit.New(grpclimit.Options{
		Limiter: l, Domain: "api", Descriptor: grpclimit.Metadata("api_key", "x-api-key"),
		OnError: limiter.FailClosed,
	})
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
	grpc_health_v1.RegisterHealthServer(server, &service{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(listener) //nolint:errcheck // it ends by Stop
	defer server.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpclimit.UnaryClientInterceptor(grpclimit.RetryOptions{MaxTries: 1})))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-api-key", "s3cret")
	for range 4 {
		_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		fmt.Printf("%v %q\n", status.Code(err), status.Convert(err).Message())
	}
	// Output:
	// OK ""
	// OK ""
	// OK ""
	// ResourceExhausted "quota api/key is used up"
}
