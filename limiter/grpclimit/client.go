package grpclimit

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a1009580/leasehold/internal/retry"
)

// RetryOptions bound the patience of a client with one call.
type RetryOptions struct {
	// MaxTries is how often a call is made at most, the first time included. The
	// default is 4; 1 makes none again.
	MaxTries int
	// MaxWait is the longest delay of a RetryInfo that is waited for. The default
	// is a minute.
	MaxWait time.Duration
}

// UnaryClientInterceptor heeds RetryInfo: a call that ended with
// RESOURCE_EXHAUSTED or UNAVAILABLE and a RetryInfo is made again when the server
// said that it may be, and a random while later, growing with each time (full
// jitter), so that clients which were denied together do not come back together.
// A denial without RetryInfo is one for good.
//
// The caller's context bounds all of it: rather than to wait for what would come
// too late, the error is handed over as it is.
func UnaryClientInterceptor(o RetryOptions) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		patience := retry.New(retry.Limits{MaxTries: o.MaxTries, MaxWait: o.MaxWait})
		for {
			err := invoke(ctx, method, request, reply, conn, opts...)
			hint, ok := retryDelay(err)
			if !ok {
				return err
			}
			wait, ok := patience.Next(ctx, hint)
			if !ok {
				return err
			}
			if ended := retry.Sleep(ctx, wait); ended != nil {
				return status.FromContextError(ended).Err()
			}
		}
	}
}

// retryDelay is how long an error asks to wait; false for any that does not.
func retryDelay(err error) (time.Duration, bool) {
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.ResourceExhausted && s.Code() != codes.Unavailable {
		return 0, false
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok && info.GetRetryDelay().IsValid() {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}
