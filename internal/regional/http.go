package regional

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// maxBody is the most bytes of a request's body.
	maxBody = 64 << 10
	// bodyTimeout is how long the body of a check may take to come.
	bodyTimeout = 10 * time.Second
	// maxHeader is the most bytes of a request's line and headers.
	maxHeader = 64 << 10
)

// newHTTP returns the HTTP server. It has no limits of time beside those of
// headers and of checks' bodies: a profile takes as long as it was asked to.
func (s *Server) newHTTP() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/check", s.handleCheck(readQuery))
	mux.HandleFunc("POST /v1/check", s.handleCheck(readBody))
	mux.HandleFunc("GET /v1/overshoot", s.handleOvershoot)
	mux.HandleFunc("GET /v1/links", s.handleLinks)
	mux.HandleFunc("GET /v1/status", s.handleStatus)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.opts.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", s.handleHealth)
	mux.HandleFunc("GET /readyz", s.handleReady)
	// As envoyproxy/ratelimit has them.
	mux.Handle("POST /json", s.envoy)
	mux.HandleFunc("GET /healthcheck", s.handleHealthcheck)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}
