package coordinator

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newHTTP returns the server for operators.
func (s *Server) newHTTP() *http.Server {
	return &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
}

// Handler serves metrics, health, status and profiles.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.opts.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, r *http.Request) { s.write(w, s.status(r.Context())) })
	mux.HandleFunc("GET /v1/overshoot", s.serveOvershoot)
	mux.HandleFunc("GET /v1/links", s.serveLinks)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// readyz answers 200 or 503 with the reason, and more with ?verbose.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	code := http.StatusOK
	role, ready, reason := s.readiness(r.Context())
	if !ready {
		code = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintf(w, "%s: %s\n", role, reason)
	if !r.URL.Query().Has("verbose") {
		return
	}
	st := s.status(r.Context())
	fmt.Fprintf(w, "cluster: %s\nleader: %s\nepoch: %s\npolicy revision: %d\n", st.Cluster, st.Leader, st.Epoch, st.PolicyRevision)
	fmt.Fprintf(w, "granting: %t\n", st.Granting)
	if st.PolicyPending {
		fmt.Fprintln(w, strings.TrimSuffix("policy: the file's is not in force: "+st.PolicyWhy, ": "))
	}
	if st.ReloadError != "" {
		fmt.Fprintf(w, "policy: what was read at %s is refused: %s\n", st.ReloadErrorAt.Format(time.RFC3339),
			strings.ReplaceAll(st.ReloadError, "\n", "; "))
	}
	if st.Disk != nil {
		fmt.Fprintf(w, "disk: %v\n", st.Disk)
	}
	fmt.Fprintf(w, "transactions in flight: %d\nsessions: %d\n", st.Transactions, len(st.Sessions))
	for _, state := range slices.Sorted(maps.Keys(st.Links)) {
		fmt.Fprintf(w, "links %s: %d\n", state, st.Links[state])
	}
}

func (s *Server) write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(body); err != nil {
		s.log.Debug("an HTTP answer was not read", "error", err)
	}
}
