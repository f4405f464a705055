package grpclimit

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a1009580/leasehold/limiter"
)

// Options is what the interceptors are told. Limiter, Domain, Descriptor and
// OnError are required.
type Options struct {
	// Limiter decides. It stays its owner's to close.
	Limiter *limiter.Limiter
	// Domain is the policy's domain of all calls.
	Domain string
	// Descriptor says what of a call its quotas are about. It may be called
	// concurrently.
	Descriptor Extractor
	// Cost says how many tokens a call of a method costs, 0 being a peek. The
	// request is nil when a stream begins. By default each call costs 1.
	Cost func(ctx context.Context, method string, request any) (int64, error)
	// OnError chooses what becomes of calls about which there is no decision.
	OnError limiter.OnError
	// Report is told why there was none, before the call is refused or passes.
	// FailOpen requires it: who lets calls pass has to hear of it.
	Report func(ctx context.Context, method string, err error)
}

// ErrOptions is what an error of New about its Options wraps.
var ErrOptions = errors.New("grpclimit: invalid option")

// ErrBadRequest is what an error of an Extractor, or of Options.Cost, wraps when
// the call itself is at fault: it then ends with INVALID_ARGUMENT and the error's
// text. Any other error is one of the server, and OnError decides.
var ErrBadRequest = errors.New("the call cannot be limited")

// validate returns an error that names the field.
func (o *Options) validate() error {
	switch {
	case o.Limiter == nil:
		return fmt.Errorf("%w: Limiter must be given", ErrOptions)
	case o.Domain == "":
		return fmt.Errorf("%w: Domain must not be empty", ErrOptions)
	case o.Descriptor == nil:
		return fmt.Errorf("%w: Descriptor must be given", ErrOptions)
	case o.OnError != limiter.FailClosed && o.OnError != limiter.FailOpen:
		return fmt.Errorf("%w: OnError must be limiter.FailClosed or limiter.FailOpen", ErrOptions)
	case o.OnError == limiter.FailOpen && o.Report == nil:
		return fmt.Errorf("%w: Report must be given with limiter.FailOpen", ErrOptions)
	}
	return nil
}

// Interceptor limits the calls of servers. Its methods may be called
// concurrently.
type Interceptor struct{ o Options }

// New returns an Interceptor.
func New(o Options) (*Interceptor, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Interceptor{o}, nil
}

// Unary is a grpc.UnaryServerInterceptor.
func (i *Interceptor) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := i.admit(ctx, info.FullMethod, request); err != nil {
		return nil, err
	}
	return handle(ctx, request)
}

// Stream is a grpc.StreamServerInterceptor. A stream is charged once, when it
// begins, however many messages it carries.
func (i *Interceptor) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := i.admit(stream.Context(), info.FullMethod, nil); err != nil {
		return err
	}
	return handle(server, stream)
}

// admit returns nil for a call that passes, and else how it ends.
func (i *Interceptor) admit(ctx context.Context, method string, request any) error {
	pairs, err := i.o.Descriptor(ctx, method)
	cost := int64(1)
	if err == nil && i.o.Cost != nil {
		cost, err = i.o.Cost(ctx, method, request)
	}
	if err != nil {
		return i.undecided(ctx, method, err)
	}
	var room [4]limiter.Standing
	d, all, err := i.o.Limiter.AllowDetailed(ctx, limiter.Request{Domain: i.o.Domain, Descriptor: pairs}, cost, room[:0])
	switch {
	case err != nil:
		return i.undecided(ctx, method, err)
	case d.Allowed:
		return nil
	default:
		return denial(&d, all)
	}
}

// undecided deals with a call about which there is no decision. What went wrong
// inside is Report's to tell, not the client's to read.
func (i *Interceptor) undecided(ctx context.Context, method string, err error) error {
	if errors.Is(err, ErrBadRequest) || limiter.BadRequest(err) {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if i.o.Report != nil {
		i.o.Report(ctx, method, err)
	}
	switch {
	case i.o.OnError == limiter.FailOpen:
		return nil
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, limiter.ErrUnknownDomain):
		return status.Error(codes.Internal, "the limit of this call is not configured")
	default:
		return status.Error(codes.Unavailable, "the limit of this call cannot be decided at the moment")
	}
}
