package limiter_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

const examplePolicy = `
apiVersion: leasehold/v1
domain: api
quotas:
  - name: partner-key
    match: {api_key: "*"}
    limit: {tokens: 3, per: 1h}
    partition: {mode: fail_closed}
`

// connected returns a limiter of a region whose coordinator is in this process.
// Elsewhere it is the address of a real one:
//
//	limiter.New(limiter.Options{Region: "eu", Coordinators: []string{"10.0.0.7:7400"}})
func connected(c *limitertest.Coordinator) *limiter.Limiter {
	l, err := limiter.New(limiter.Options{
		Region: "eu", Coordinators: []string{limitertest.Address}, DialOptions: []grpc.DialOption{c.Dial()},
	})
	if err != nil {
		panic(err)
	}
	if err := l.Ready(context.Background()); err != nil {
		panic(err)
	}
	return l
}

func ExampleLimiter_Allow() {
	var script limitertest.Script
	defer script.End()
	l := connected(limitertest.New(&script, limitertest.Options{Policy: examplePolicy}))
	defer l.Close(context.Background())

	request := limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: "api_key", Value: "s3cret"}}}
	for range 4 {
		d, err := l.Allow(context.Background(), request)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Allowed, d.Reason, "by", d.Quota, "of", d.Limit)
		if !d.Allowed {
			fmt.Println("again in", d.RetryAfter.Round(time.Minute))
		}
	}
	// Output:
	// true within_quota by api/partner-key of 3
	// true within_quota by api/partner-key of 3
	// true within_quota by api/partner-key of 3
	// false exhausted by api/partner-key of 3
	// again in 20m0s
}

func ExampleLimiter_Wait() {
	var script limitertest.Script
	defer script.End()
	l := connected(limitertest.New(&script, limitertest.Options{Policy: examplePolicy}))
	defer l.Close(context.Background())

	request := limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: "api_key", Value: "s3cret"}}, Cost: 2}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	fmt.Println(l.Wait(ctx, request))
	fmt.Println(l.Wait(ctx, request))
	request.Cost = 4
	fmt.Println(l.Wait(context.Background(), request))
	// Output:
	// <nil>
	// context deadline exceeded
	// limiter: a cost of 4 can never be admitted by quota api/partner-key; the most is 3
}

func ExampleLimiter_Handle() {
	var script limitertest.Script
	defer script.End()
	l := connected(limitertest.New(&script, limitertest.Options{Policy: examplePolicy}))
	defer l.Close(context.Background())

	key, err := l.Handle(limiter.Request{Domain: "api", Descriptor: []limiter.Pair{{Key: "api_key", Value: "s3cret"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := key.Wait(context.Background()); err != nil { // the first lease
		fmt.Println(err)
		return
	}
	for key.Allow() {
		fmt.Println("served")
	}
	fmt.Println("denied")
	// Output:
	// served
	// served
	// denied
}
