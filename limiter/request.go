package limiter

import (
	"errors"
	"fmt"

	"github.com/a1009580/leasehold/policy"
)

// Pair is one entry of a request's descriptor: what the request carries, such
// as its API key. Values are any bytes; two that differ in one byte, also in
// case or in the Unicode form, are two.
type Pair = policy.Pair

// Request is what a decision is asked about.
type Request struct {
	// Domain names the namespace of quotas.
	Domain string
	// Descriptor holds the entries, each key once, in any order.
	Descriptor []Pair
	// Cost is in tokens; 0 means 1. AllowN and WaitN take the cost explicitly,
	// and there 0 is a peek.
	Cost int64
}

// cost is what Allow and Wait ask for.
func (r *Request) cost() int64 {
	if r.Cost == 0 {
		return 1
	}
	return r.Cost
}

// Errors of a request; test for them with errors.Is. None is a decision about a
// limit.
var (
	// ErrNotReady says that no policy is known yet: no coordinator was reached
	// since the process began, and none is stored. (HTTP 503, UNAVAILABLE.)
	ErrNotReady = errors.New("limiter: no policy is known yet")
	// ErrClosed says that the limiter was closed. (HTTP 503, UNAVAILABLE.)
	ErrClosed = errors.New("limiter: closed")
	// ErrUnknownDomain says that the policy has no such domain. (HTTP 404,
	// NOT_FOUND.)
	ErrUnknownDomain = errors.New("limiter: unknown domain")
	// ErrNegativeCost says that the cost is below 0. (HTTP 400, like all that
	// follow, INVALID_ARGUMENT.)
	ErrNegativeCost = errors.New("limiter: the cost is negative")
	// ErrTooManyQuotas says that more than 16 quotas match one request.
	ErrTooManyQuotas = errors.New("limiter: more than 16 quotas match the request")
	// ErrDuplicateEntry says that a descriptor names the same entry twice.
	ErrDuplicateEntry = policy.ErrDuplicateEntry
	// ErrTooManyEntries says that a descriptor has too many entries.
	ErrTooManyEntries = policy.ErrTooManyEntries
	// ErrKeyTooLong says that the values by which a quota tells buckets apart
	// are longer than 1 KiB together.
	ErrKeyTooLong = policy.ErrKeyTooLong
)

// BadRequest says that an error is the request's own fault: asked again in the
// same words, it will be an error again. Surfaces answer it with HTTP 400 and
// INVALID_ARGUMENT, and never let such a request pass.
func BadRequest(err error) bool {
	for _, own := range []error{ErrNegativeCost, ErrTooManyQuotas, ErrDuplicateEntry, ErrTooManyEntries, ErrKeyTooLong, ErrTooManyParts, ErrHasRules} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// OnError says what becomes of a request about which there is no decision:
// there is no policy yet, the limiter is closed, the domain is unknown. It is not
// about regions that are cut off: those decide, as the policy's partition mode
// says. The zero OnError is no choice, and refused.
type OnError uint8

// The choices.
const (
	_          OnError = iota
	FailClosed         // the request is refused
	FailOpen           // the request passes, unlimited
)

// ImpossibleError is what Wait returns for a cost that this region could never
// admit at once, however long one waits.
type ImpossibleError struct {
	Quota string
	Cost  int64
	Most  int64 // the largest cost that could be
}

// Error says what would be possible.
func (e *ImpossibleError) Error() string {
	return fmt.Sprintf("limiter: a cost of %d can never be admitted by quota %s; the most is %d", e.Cost, e.Quota, e.Most)
}
