// Package httplimit limits the requests of a net/http server with an embedded
// limiter, and makes clients heed what such a server answers.
//
//	limit, err := httplimit.New(httplimit.Options{
//		Limiter: l, Domain: "api", Descriptor: httplimit.Header("api_key", "X-Api-Key"),
//		OnError: limiter.FailClosed,
//	})
//	...
//	http.ListenAndServe(":8080", limit(mux))
//
// A request that is admitted carries the RateLimit header fields into its
// response; one that is denied is answered with 429, Retry-After and problem
// details, as the regional server answers /v1/check. Transport is the other side.
package httplimit
