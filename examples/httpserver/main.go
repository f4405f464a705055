// Command httpserver is an HTTP server that limits each API key with an embedded
// limiter: a regional process of its own, without one beside it.
//
//	bin/leasehold demo
//	go run ./examples/httpserver
//	curl -i -H 'X-Api-Key: me' http://127.0.0.1:8080/
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/httplimit"
)

func main() {
	coordinators := flag.String("coordinator", "127.0.0.1:7400", "addresses of the coordinators, separated by commas")
	region := flag.String("region", "eu", "name of the region, as in the policy")
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve on")
	flag.Parse()
	if err := run(*region, strings.Split(*coordinators, ","), *listen); err != nil {
		fmt.Fprintln(os.Stderr, "httpserver:", err)
		os.Exit(1)
	}
}

// run serves until a signal tells it to end.
func run(region string, coordinators []string, listen string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := limiter.New(limiter.Options{Region: region, Coordinators: coordinators, Logger: slog.Default()})
	if err != nil {
		return err
	}
	limit, err := httplimit.New(httplimit.Options{
		Limiter: l, Domain: "api", Descriptor: httplimit.Header("api_key", "X-Api-Key"),
		// What is dear costs more: here whatever writes.
		Cost: func(r *http.Request) (int64, error) {
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				return 1, nil
			}
			return 10, nil
		},
		// Until a policy is known there are no decisions. This server rather
		// refuses requests than serve them unlimited.
		OnError: limiter.FailClosed,
		Report:  func(r *http.Request, err error) { slog.Warn("no decision", "path", r.URL.Path, "error", err) },
	})
	if err != nil {
		return errors.Join(err, l.Close(ctx))
	}
	server := &http.Server{
		Addr: listen, ReadHeaderTimeout: 5 * time.Second,
		Handler: limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "served", r.URL.Path)
		})),
	}
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe() }()
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	// First the requests end, then what was leased for them goes back.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(ending), l.Close(ending))
}
