// Package wire measures decisions that are asked for over a connection: ours
// beside a bare echo of the same messages, and beside other services. Every
// server is a process of its own, on this machine, and so is who asks.
package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/pprof"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/bench/world"
	"github.com/a1009580/leasehold/internal/regional"
	"github.com/a1009580/leasehold/limiter"
)

// Serve makes this process a server until its standard input ends: kind is
// "echo", "coordinator" or "leasehold", which has its leases from the given
// coordinator; address is unix:PATH or a TCP address. It prints where it listens.
func Serve(kind, address, coordinator string) error {
	network, where := "tcp", address
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, where = "unix", path
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), network, where)
	if err != nil {
		return err
	}
	if network == "tcp" {
		address = listener.Addr().String()
	}
	fmt.Println(address)
	ctx, end := context.WithCancel(context.Background())
	go func() {
		defer end()
		_, _ = io.Copy(io.Discard, os.Stdin) // until whoever began us has gone
	}()
	switch kind {
	case "echo":
		return echo(ctx, listener)
	case "coordinator":
		return world.Coordinate(ctx, listener)
	case "leasehold":
		return leasehold(ctx, listener, coordinator)
	default:
		return fmt.Errorf("wire: there is no server of kind %q", kind)
	}
}

// leasehold serves a regional process.
func leasehold(ctx context.Context, listener net.Listener, coordinator string) error {
	unused, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := regional.New(regional.Options{GRPC: listener, HTTP: unused, Limiter: limiter.Options{
		Region: "here", Coordinators: []string{coordinator},
	}})
	if err != nil {
		return err
	}
	return profiled(os.Getenv(profileEnv), func() error { return s.Run(ctx) })
}

// profileEnv names the file for a profile of the regional process.
const profileEnv = "LEASEHOLD_BENCH_PROFILE"

// profiled runs f, and writes the profile of the processor's time meanwhile.
func profiled(path string, f func() error) error {
	if path == "" {
		return f()
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(err, file.Close())
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}

// echoes answers with what a regional process would, and decides nothing.
type echoes struct {
	pb.UnimplementedLimiterServer
}

// echo serves echoes.
func echo(ctx context.Context, listener net.Listener) error {
	g := grpc.NewServer()
	pb.RegisterLimiterServer(g, echoes{})
	defer context.AfterFunc(ctx, g.Stop)()
	return g.Serve(listener)
}

// yes is an answer as long as that of a regional process.
func yes() *pb.CheckResponse {
	return &pb.CheckResponse{
		Allowed: true, Reason: pb.Reason_REASON_WITHIN_QUOTA, Quota: "bench/per-key",
		Remaining: 1 << 49, Limit: 1_000_000_000_000_000, Reset_: durationpb.New(123456789),
	}
}

// Check implements the service.
func (echoes) Check(context.Context, *pb.CheckRequest) (*pb.CheckResponse, error) { return yes(), nil }

// CheckBatch implements the service.
func (echoes) CheckBatch(_ context.Context, r *pb.CheckBatchRequest) (*pb.CheckBatchResponse, error) {
	out := &pb.CheckBatchResponse{Results: make([]*pb.CheckBatchResult, len(r.GetRequests()))}
	for i := range out.Results {
		out.Results[i] = &pb.CheckBatchResult{Result: &pb.CheckBatchResult_Response{Response: yes()}}
	}
	return out, nil
}
