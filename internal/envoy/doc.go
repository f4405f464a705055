// Package envoy speaks the rate-limit protocol of the Envoy proxy,
// envoy.service.ratelimit.v3, on behalf of a limiter. docs/envoy.md says what
// every field does.
//
// Its border: it translates. What is admitted is decided in package limiter, what
// matches in package policy; listeners and flags belong to the regional server.
package envoy
