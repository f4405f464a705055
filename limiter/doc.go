// Package limiter embeds a regional limiter of Leasehold into a process: it
// asks a coordinator for leases and admits or denies requests from memory.
//
//	l, err := limiter.New(limiter.Options{Region: "eu", Coordinators: []string{"10.0.0.7:7400"}})
//	...
//	d, err := l.Allow(ctx, limiter.Request{
//		Domain:     "api",
//		Descriptor: []limiter.Pair{{Key: "api_key", Value: key}},
//	})
//	if err == nil && d.Allowed {
//		serve()
//	}
//
// A decision makes no remote call. It waits for one in two cases, at most
// Options.ColdWait and never beyond the caller's own deadline: for the first lease of a key
// that this region has never heard of, and for more when a burst has outrun the lease of a
// key of which the coordinator said that it has what is missing.
//
// The package owns the connection, the goroutines and the clock; what may be
// spent, and until when, is decided by package lease, whose Holder it drives.
package limiter
