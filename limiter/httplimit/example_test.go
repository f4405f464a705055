package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/httplimit"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

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

func ExampleNew() {
	var script limitertest.Script
	defer script.End()
	l := connected(limitertest.New(&script, limitertest.Options{Policy: policy}))
	defer l.Close(context.Background())

	limit, err := httplimit.New(httplimit.Options{
		Limiter: l, Domain: "api", Descriptor: httplimit.Header("api_key", "X-Api-Key"),
		OnError: limiter.FailClosed,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	})))
	defer server.Close()

	for range 4 {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			fmt.Println(err)
			return
		}
		request.Header.Set("X-Api-Key", "s3cret")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		response.Body.Close()
		fmt.Println(response.StatusCode, response.Header.Get("RateLimit-Policy"), response.Header.Get("Retry-After") != "")
	}
	// Output:
	// 200 "key";q=3;w=60 false
	// 200 "key";q=3;w=60 false
	// 200 "key";q=3;w=60 false
	// 429 "key";q=3;w=60 true
}

func ExampleTransport() {
	tries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if tries++; tries == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()

	client := &http.Client{Transport: &httplimit.Transport{}}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	fmt.Println(string(text), err, "in", tries, "tries; waited:", time.Since(began) >= time.Second)
	// Output:
	// hello <nil> in 2 tries; waited: true
}
