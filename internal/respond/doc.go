// Package respond says over HTTP what a limiter decided: in the RateLimit header
// fields of draft-ietf-httpapi-ratelimit-headers-11, in Retry-After, and in
// problem details by RFC 9457. The regional server and the middleware for
// net/http answer with it, so that both say the same.
//
// Its border: it writes answers. It neither decides nor reads requests.
package respond
