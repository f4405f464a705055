package grpclimit_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/grpclimit"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const policy = `apiVersion: leasehold/v1
domain: api
quotas: [{name: key, match: {api_key: "*"}, limit: {tokens: 3, per: 1m}, partition: {mode: fail_closed}}]
`

// service is the one that is limited: grpc's own health service, which has a
// unary method and one with a stream.
type service struct {
	grpc_health_v1.UnimplementedHealthServer
	calls int
}

func (s *service) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	s.calls++
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

func (s *service) Watch(_ *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	s.calls++
	for range 5 {
		if err := stream.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
			return err
		}
	}
	return nil
}

// serve starts a server with the interceptors, and connects a client.
func serve(t *testing.T, i *grpclimit.Interceptor, opts ...grpc.DialOption) (grpc_health_v1.HealthClient, *service) {
	t.Helper()
	listener, s := bufconn.Listen(1<<16), &service{}
	server := grpc.NewServer(grpc.UnaryInterceptor(i.Unary), grpc.StreamInterceptor(i.Stream))
	grpc_health_v1.RegisterHealthServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///server", append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		server.Stop()
		require.NoError(t, <-ended)
	})
	return grpc_health_v1.NewHealthClient(conn), s
}

func options(onError limiter.OnError) grpclimit.Options {
	return grpclimit.Options{Domain: "api", Descriptor: grpclimit.Metadata("api_key", "x-api-key"), OnError: onError}
}

// run has a test in a bubble of virtual time, with a server that is limited.
func run(t *testing.T, o grpclimit.Options, f func(t *testing.T, stub grpc_health_v1.HealthClient, s *service), opts ...grpc.DialOption) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: policy, Delay: 20 * time.Millisecond})
		o.Limiter = region(t, c)
		i, err := grpclimit.New(o)
		require.NoError(t, err)
		stub, s := serve(t, i, opts...)
		f(t, stub, s)
		c.Check()
	})
}

// region starts a limiter that leases from c, and waits until it is connected.
func region(t *testing.T, c *limitertest.Coordinator) *limiter.Limiter {
	t.Helper()
	l, err := limiter.New(limiter.Options{
		Region: "eu", Node: "n1", Coordinators: []string{limitertest.Address}, DialOptions: []grpc.DialOption{c.Dial()}, Clock: clock.New(1),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = l.Close(ctx)
	})
	for deadline := time.Now().Add(10 * time.Second); !l.Connected(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%+v", l.Status())
	}
	return l
}

func withKey(ctx context.Context, key string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-api-key", key)
}

// check calls the unary method.
func check(t *testing.T, stub grpc_health_v1.HealthClient, key string) error {
	t.Helper()
	_, err := stub.Check(withKey(t.Context(), key), &grpc_health_v1.HealthCheckRequest{})
	return err
}

// watch calls the method with a stream, and counts what came.
func watch(t *testing.T, stub grpc_health_v1.HealthClient, key string) (messages int, err error) {
	t.Helper()
	stream, err := stub.Watch(withKey(t.Context(), key), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	for {
		if _, err := stream.Recv(); err != nil {
			return messages, err
		}
		messages++
	}
}

// details finds what a denial says beside its code.
func details(t *testing.T, err error) (info *errdetails.ErrorInfo, failure *errdetails.QuotaFailure, retry *errdetails.RetryInfo) {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.QuotaFailure:
			failure = d
		case *errdetails.RetryInfo:
			retry = d
		}
	}
	require.NotNil(t, info)
	require.NotNil(t, failure)
	return info, failure, retry
}

func TestCallsAndStreamsPassUntilTheQuotaIsUsedUp(t *testing.T) {
	run(t, options(limiter.FailClosed), func(t *testing.T, stub grpc_health_v1.HealthClient, s *service) {
		require.NoError(t, check(t, stub, "k"))
		require.NoError(t, check(t, stub, "k"))
		messages, err := watch(t, stub, "k")
		assert.Equal(t, 5, messages, "%v: a stream is charged once", err)
		_, denied := watch(t, stub, "k")
		for _, err := range []error{check(t, stub, "k"), denied} {
			require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
			assert.Contains(t, err.Error(), "quota api/key is used up")
			info, failure, retry := details(t, err)
			assert.Equal(t, []string{"EXHAUSTED", "leasehold"}, []string{info.GetReason(), info.GetDomain()})
			require.Len(t, failure.GetViolations(), 1)
			assert.Equal(t, "api/key", failure.GetViolations()[0].GetSubject())
			assert.InDelta(t, 20, retry.GetRetryDelay().AsDuration().Seconds(), 0.5)
		}
		assert.Equal(t, 3, s.calls, "what is denied does not get through")
		require.NoError(t, check(t, stub, "other"))
	})
}

func TestCOST03_WhatCanNeverBeHasNoRetryInfo(t *testing.T) {
	o := options(limiter.FailClosed)
	o.Cost = func(_ context.Context, method string, request any) (int64, error) {
		if request == nil {
			return 2, nil
		}
		assert.Equal(t, "/grpc.health.v1.Health/Check", method)
		r, ok := request.(*grpc_health_v1.HealthCheckRequest)
		assert.True(t, ok)
		return int64(len(r.GetService())), nil
	}
	run(t, o, func(t *testing.T, stub grpc_health_v1.HealthClient, _ *service) {
		_, err := stub.Check(withKey(t.Context(), "k"), &grpc_health_v1.HealthCheckRequest{Service: "four"})
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		info, _, retry := details(t, err)
		assert.Equal(t, "IMPOSSIBLE", info.GetReason())
		assert.Nil(t, retry)
		messages, _ := watch(t, stub, "k")
		assert.Equal(t, 5, messages)
		_, err = stub.Check(withKey(t.Context(), "k"), &grpc_health_v1.HealthCheckRequest{Service: "2!"})
		_, _, retry = details(t, err)
		assert.InDelta(t, 20, retry.GetRetryDelay().AsDuration().Seconds(), 0.5, "the stream cost 2 of 3")
	})
}

func TestABadCallNeverPasses(t *testing.T) {
	for _, onError := range []limiter.OnError{limiter.FailClosed, limiter.FailOpen} {
		o := options(onError)
		o.Report = func(_ context.Context, _ string, err error) { t.Error("a client's fault is no server's:", err) }
		run(t, o, func(t *testing.T, stub grpc_health_v1.HealthClient, s *service) {
			_, err := stub.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			assert.Equal(t, codes.InvalidArgument, status.Code(err))
			_, err = stub.Check(withKey(withKey(t.Context(), "a"), "b"), &grpc_health_v1.HealthCheckRequest{})
			assert.Equal(t, codes.InvalidArgument, status.Code(err))
			assert.Equal(t, codes.InvalidArgument, status.Code(check(t, stub, strings.Repeat("k", 2000))))
			assert.Zero(t, s.calls)
		})
	}
}

func TestOnErrorDecidesWhenTheLimiterCannot(t *testing.T) {
	unknown, failing := options(limiter.FailClosed), options(limiter.FailClosed)
	unknown.Domain = "apo"
	failing.Descriptor = func(context.Context, string) ([]limiter.Pair, error) { return nil, errors.New("s3cret backend") }
	for name, c := range map[string]struct {
		o    grpclimit.Options
		code codes.Code
	}{
		"FAIL-09: an unknown domain": {unknown, codes.Internal},
		"a failed look-up":           {failing, codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			for _, onError := range []limiter.OnError{limiter.FailClosed, limiter.FailOpen} {
				o, reported := c.o, 0
				o.OnError = onError
				o.Report = func(_ context.Context, method string, err error) {
					require.Error(t, err)
					assert.Equal(t, "/grpc.health.v1.Health/Check", method)
					reported++
				}
				run(t, o, func(t *testing.T, stub grpc_health_v1.HealthClient, s *service) {
					err := check(t, stub, "k")
					if onError == limiter.FailOpen {
						require.NoError(t, err)
						return
					}
					assert.Equal(t, c.code, status.Code(err))
					assert.NotContains(t, err.Error(), "s3cret")
					assert.Zero(t, s.calls)
				})
				assert.Equal(t, 1, reported)
			}
		})
	}
}

func TestNothingIsOpenByDefault(t *testing.T) {
	whole := options(limiter.FailClosed)
	whole.Limiter = &limiter.Limiter{}
	_, err := grpclimit.New(whole)
	require.NoError(t, err)
	for field, spoil := range map[string]func(o *grpclimit.Options){
		"Limiter":    func(o *grpclimit.Options) { o.Limiter = nil },
		"Domain":     func(o *grpclimit.Options) { o.Domain = "" },
		"Descriptor": func(o *grpclimit.Options) { o.Descriptor = nil },
		"OnError":    func(o *grpclimit.Options) { o.OnError = 0 },
		"Report":     func(o *grpclimit.Options) { o.OnError = limiter.FailOpen },
	} {
		o := whole
		spoil(&o)
		_, err := grpclimit.New(o)
		require.ErrorIs(t, err, grpclimit.ErrOptions)
		require.ErrorContains(t, err, field)
	}
}

func TestAClientComesBackWhenItWasTold(t *testing.T) {
	o := options(limiter.FailClosed)
	o.Descriptor = grpclimit.All(o.Descriptor, grpclimit.Method("method"))
	run(t, o, func(t *testing.T, stub grpc_health_v1.HealthClient, s *service) {
		for range 3 {
			require.NoError(t, check(t, stub, "k"))
		}
		began := time.Now()
		require.NoError(t, check(t, stub, "k"))
		assert.GreaterOrEqual(t, time.Since(began), 19*time.Second, "a token takes 20, of which some had passed")
		assert.Less(t, time.Since(began), 24*time.Second)
		assert.Equal(t, 4, s.calls)

		ctx, cancel := context.WithTimeout(withKey(t.Context(), "k"), 10*time.Second)
		defer cancel()
		began = time.Now()
		_, err := stub.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		assert.Equal(t, codes.ResourceExhausted, status.Code(err), "there is no use in waiting for a time that is too late")
		assert.Less(t, time.Since(began), time.Second)
	}, grpc.WithUnaryInterceptor(grpclimit.UnaryClientInterceptor(grpclimit.RetryOptions{})))
}

// TestAClientRetriesWhatItShould has calls end in every way.
func TestAClientRetriesWhatItShould(t *testing.T) {
	with := func(code codes.Code, delay *durationpb.Duration) error {
		s, err := status.New(code, "").WithDetails(&errdetails.RetryInfo{RetryDelay: delay})
		require.NoError(t, err)
		return s.Err()
	}
	for name, c := range map[string]struct {
		err   error
		tries int
	}{
		"served":              {nil, 1},
		"denied":              {with(codes.ResourceExhausted, durationpb.New(time.Second)), 3},
		"unavailable":         {with(codes.Unavailable, durationpb.New(time.Second)), 3},
		"denied for good":     {status.Error(codes.ResourceExhausted, ""), 1},
		"another code":        {with(codes.Internal, durationpb.New(time.Second)), 1},
		"too long a wait":     {with(codes.ResourceExhausted, durationpb.New(3*time.Second)), 1},
		"a delay that is not": {with(codes.ResourceExhausted, nil), 1},
		"no status":           {errors.New("x"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
					tries++
					return c.err
				}
				intercept := grpclimit.UnaryClientInterceptor(grpclimit.RetryOptions{MaxTries: 3, MaxWait: 2 * time.Second})
				assert.Equal(t, c.err, intercept(t.Context(), "/m", nil, nil, nil, invoke))
				assert.Equal(t, c.tries, tries)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel)
		invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			return with(codes.ResourceExhausted, durationpb.New(time.Second))
		}
		err := grpclimit.UnaryClientInterceptor(grpclimit.RetryOptions{})(ctx, "/m", nil, nil, nil, invoke)
		assert.Equal(t, codes.Canceled, status.Code(err))
	})
}
