package coordinator

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
)

// Why a stream ends.
var (
	errStepDown = errors.New("this coordinator stopped leading")
	errDraining = errors.New("this coordinator is about to end")
	errBooting  = errors.New("this coordinator was elected and is not ready yet")
	errStreams  = errors.New("this coordinator has as many streams as it takes")
	errHello    = errors.New("the Hello was not complete in time")
	errSilent   = errors.New("nothing was heard for too long")
	errSlow     = errors.New("the holder does not read what is sent to it")
)

// Why a leadership ends, beside the errors of package lease.
var (
	errStuck   = errors.New("the leader makes no progress")
	errRetired = errors.New("retired")
)

// notLeadingError says who leads, if that is known.
type notLeadingError struct{ leader string }

func (e *notLeadingError) Error() string {
	if e.leader == "" {
		return "this coordinator does not lead, and it is not known who does"
	}
	return "this coordinator does not lead: " + e.leader + " does"
}

// Domain and reason of the error detail that names the leader in its metadata,
// under "leader".
const (
	ErrorDomain      = "leasehold"
	ReasonNotLeading = "NOT_LEADING"
)

// statusOf maps every error that ends a stream to its code; nil stays nil.
func statusOf(err error) error {
	var notLeading *notLeadingError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &notLeading):
		return notLeading.status()
	case errors.Is(err, wire.ErrInvalid):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, lease.ErrSession):
		return status.Error(codes.Aborted, err.Error())
	case errors.Is(err, errStreams), errors.Is(err, errSlow):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, errHello), errors.Is(err, errSilent), errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, errStepDown), errors.Is(err, errBooting), errors.Is(err, errDraining):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	default:
		return status.Error(codes.Internal, err.Error())
	}
}

func (e *notLeadingError) status() error {
	st := status.New(codes.FailedPrecondition, e.Error())
	info := &errdetails.ErrorInfo{Reason: ReasonNotLeading, Domain: ErrorDomain}
	if e.leader != "" {
		info.Metadata = map[string]string{"leader": e.leader}
	}
	if detailed, err := st.WithDetails(info); err == nil {
		st = detailed
	}
	return st.Err()
}

// received names what went wrong with a message before it could be decoded.
func received(err error) error {
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return fmt.Errorf("%w: a message is larger than %d bytes", wire.ErrInvalid, wire.MaxMessageBytes)
	case codes.Internal:
		return fmt.Errorf("%w: a message does not decode", wire.ErrInvalid)
	default:
		return err
	}
}
