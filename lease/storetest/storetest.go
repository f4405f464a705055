// Package storetest proves implementations of lease.Store and lease.Elector:
// every sentence of those interfaces is a check of this suite, and the suite's
// own tests show that it rejects stores which break one.
//
// Its border is one healthy store. What a store says while it dies is its own
// package's to test, since only that package can kill it.
package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// Harness is a fresh store under test and what the suite must do behind its
// back.
type Harness struct {
	// Store is empty.
	Store lease.Store
	// Elector elects the leaders whose keys Store accepts; nobody stands yet.
	Elector lease.Elector
	// DeleteKey deletes a leader's key as a person with the store's own tools
	// would, and leaves the election lease alive.
	DeleteKey func(context.Context, lease.LeaderKey) error
	// EndSession ends the election lease of one who stands, without telling
	// the Campaign that waits.
	EndSession func(ctx context.Context, candidate string) error
	// Standing returns the candidates who stand, the leader first.
	Standing func(context.Context) ([]string, error)
	// Elapse lets so much time pass on a clock that the test owns. Nil says
	// that time passes by itself.
	Elapse func(time.Duration)
	// Patience is how long one check may take; 0 means 30 s.
	Patience time.Duration
}

// T is the part of testing.T that a check uses.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	FailNow()
	Context() context.Context
}

// Run runs the suite. It calls harness once for each check.
func Run(t *testing.T, harness func(*testing.T) Harness) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.run(t, harness(t)) })
	}
}

// check is one promise of the interfaces.
type check struct {
	name string
	body func(*probe)
}

// checks returns all of them.
func checks() []check {
	return slices.Concat(commitChecks(), readChecks(), fenceChecks(), electionChecks(), concurrencyChecks())
}

// run runs the check against one store.
func (c check) run(t T, h Harness) {
	t.Helper()
	if h.Patience == 0 {
		h.Patience = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), h.Patience)
	defer cancel()
	c.body(&probe{T: t, Harness: h, ctx: ctx})
}
