package httplimit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/a1009580/leasehold/internal/respond"
	"github.com/a1009580/leasehold/limiter"
)

// Options is what the middleware is told. Limiter, Domain, Descriptor and OnError
// are required.
type Options struct {
	// Limiter decides. It stays its owner's to close.
	Limiter *limiter.Limiter
	// Domain is the policy's domain of all requests.
	Domain string
	// Descriptor says what of a request its quotas are about. It may be called
	// concurrently.
	Descriptor Extractor
	// Cost says how many tokens a request costs, 0 being a peek. By default each
	// costs 1.
	Cost func(*http.Request) (int64, error)
	// OnError chooses what becomes of requests about which there is no decision.
	OnError limiter.OnError
	// Report is told why there was none, before the request is refused or
	// passes. FailOpen requires it: who lets requests pass has to hear of it.
	Report func(*http.Request, error)
	// LegacyHeaders adds X-RateLimit-Limit, -Remaining and -Reset.
	LegacyHeaders bool
}

// ErrOptions is what an error of New about its Options wraps.
var ErrOptions = errors.New("httplimit: invalid option")

// ErrBadRequest is what an error of an Extractor, or of Options.Cost, wraps when
// the request itself is at fault: it is then answered with 400 and the error's
// text. Any other error is one of the server, and OnError decides.
var ErrBadRequest = errors.New("the request cannot be limited")

// validate returns an error that names the field.
func (o *Options) validate() error {
	switch {
	case o.Limiter == nil:
		return fmt.Errorf("%w: Limiter must be given", ErrOptions)
	case o.Domain == "":
		return fmt.Errorf("%w: Domain must not be empty", ErrOptions)
	case o.Descriptor == nil:
		return fmt.Errorf("%w: Descriptor must be given", ErrOptions)
	case o.OnError != limiter.FailClosed && o.OnError != limiter.FailOpen:
		return fmt.Errorf("%w: OnError must be limiter.FailClosed or limiter.FailOpen", ErrOptions)
	case o.OnError == limiter.FailOpen && o.Report == nil:
		return fmt.Errorf("%w: Report must be given with limiter.FailOpen", ErrOptions)
	}
	return nil
}

// New returns the middleware: it wraps handlers, which may be called
// concurrently.
func New(o Options) (func(http.Handler) http.Handler, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	m := &middleware{Options: o, form: respond.Form{Legacy: o.LegacyHeaders, Random: rand.Float64}}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if m.admit(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}, nil
}

type middleware struct {
	Options
	form respond.Form
}

// admit decides about a request, and answers one that does not pass.
func (m *middleware) admit(w http.ResponseWriter, r *http.Request) bool {
	pairs, cost, err := m.read(r)
	if err != nil {
		return m.undecided(w, r, err)
	}
	var room [4]limiter.Standing
	d, all, err := m.Limiter.AllowDetailed(r.Context(), limiter.Request{Domain: m.Domain, Descriptor: pairs}, cost, room[:0])
	if err != nil {
		return m.undecided(w, r, err)
	}
	m.form.Fields(w.Header(), m.Domain, &d, all, time.Now())
	if !d.Allowed {
		m.form.Deny(w, http.StatusTooManyRequests, m.Domain, &d, all)
	}
	return d.Allowed
}

// read says what is asked about a request.
func (m *middleware) read(r *http.Request) (pairs []limiter.Pair, cost int64, err error) {
	if pairs, err = m.Descriptor(r); err != nil {
		return nil, 0, err
	}
	cost = 1
	if m.Cost != nil {
		cost, err = m.Cost(r)
	}
	return pairs, cost, err
}

// undecided deals with a request about which there is no decision, and returns
// whether it passes. What went wrong inside is Report's to tell, not the client's
// to read.
func (m *middleware) undecided(w http.ResponseWriter, r *http.Request, err error) bool {
	if errors.Is(err, ErrBadRequest) || limiter.BadRequest(err) {
		respond.Problem(w, http.StatusBadRequest, err.Error())
		return false
	}
	if m.Report != nil {
		m.Report(r, err)
	}
	switch {
	case m.OnError == limiter.FailOpen:
		return true
	case errors.Is(err, limiter.ErrUnknownDomain):
		respond.Problem(w, http.StatusInternalServerError, "The limit of this request is not configured.")
	default:
		w.Header().Set("Retry-After", "1")
		respond.Problem(w, http.StatusServiceUnavailable, "The limit of this request cannot be decided at the moment.")
	}
	return false
}
