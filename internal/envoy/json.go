package envoy

import (
	"errors"
	"io"
	"net/http"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/a1009580/leasehold/internal/respond"
)

const (
	// maxBody is the most bytes of a body, bodyTimeout how long it may take to
	// come.
	maxBody     = 1 << 20
	bodyTimeout = 10 * time.Second
)

// ServeHTTP answers POST /json of envoyproxy/ratelimit: the messages of gRPC as
// JSON, with 429 for a denial and 400 for what cannot be decided about.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // where there is a connection
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		code := http.StatusBadRequest
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			code = http.StatusRequestEntityTooLarge
		}
		respond.Problem(w, code, "the body cannot be read: "+err.Error())
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	var q rls.RateLimitRequest
	if err := protojson.Unmarshal(body, &q); err != nil {
		respond.Problem(w, http.StatusBadRequest, "the body is no RateLimitRequest: "+err.Error())
		return
	}
	a, err := s.ShouldRateLimit(r.Context(), &q)
	if err != nil {
		respond.Problem(w, statusOf(err), status.Convert(err).Message())
		return
	}
	text, err := protojson.Marshal(a)
	if err != nil {
		respond.Problem(w, http.StatusInternalServerError, err.Error())
		return
	}
	for _, h := range a.GetResponseHeadersToAdd() {
		w.Header().Set(h.GetKey(), h.GetValue())
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if a.GetOverallCode() != codeOK {
		w.WriteHeader(http.StatusTooManyRequests)
	}
	w.Write(text) //nolint:errcheck // who asked has gone
}

// statusOf is the HTTP status of an error of gRPC.
func statusOf(err error) int {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition:
		return http.StatusBadRequest
	case codes.NotFound:
		return http.StatusNotFound
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.Canceled:
		return respond.StatusClientGone
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}
