// Package grpclimit limits the calls of a gRPC server with an embedded limiter,
// and makes clients heed what such a server answers.
//
//	limit, err := grpclimit.New(grpclimit.Options{
//		Limiter: l, Domain: "api", Descriptor: grpclimit.Metadata("api_key", "x-api-key"),
//		OnError: limiter.FailClosed,
//	})
//	...
//	grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
//
// A call that is denied ends with RESOURCE_EXHAUSTED and, in its details, a
// RetryInfo that says exactly when to come back, a QuotaFailure that names the
// quotas, and an ErrorInfo with the reason. UnaryClientInterceptor is the other
// side.
package grpclimit
