package regional

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a1009580/leasehold/internal/respond"
	"github.com/a1009580/leasehold/limiter"
)

// codesOf is the one place that says which code an error of the limiter has, in
// gRPC and in HTTP.
func codesOf(err error) (codes.Code, int) {
	switch {
	case errors.Is(err, limiter.ErrNotReady), errors.Is(err, limiter.ErrClosed):
		return codes.Unavailable, http.StatusServiceUnavailable
	case errors.Is(err, limiter.ErrUnknownDomain):
		return codes.NotFound, http.StatusNotFound
	case limiter.BadRequest(err):
		return codes.InvalidArgument, http.StatusBadRequest
	case errors.Is(err, limiter.ErrNoCeiling), errors.Is(err, limiter.ErrCapTooLow):
		return codes.FailedPrecondition, http.StatusBadRequest
	case errors.Is(err, context.Canceled):
		return codes.Canceled, respond.StatusClientGone
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded, http.StatusGatewayTimeout
	default:
		return codes.Internal, http.StatusInternalServerError
	}
}

// grpcError is an error as a gRPC client sees it.
func grpcError(err error) error {
	code, _ := codesOf(err)
	return status.Error(code, err.Error())
}
