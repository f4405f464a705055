// Package partition says what a cut can do to a limit: the most by which the
// promise can be exceeded, computed from the policy and never written by hand.
//
// The package is pure.
package partition

import "github.com/a1009580/leasehold/policy"

// Bound is the most, in tokens, by which what all regions together admit can
// exceed the promise of a quota in any interval, whatever fails.
type Bound struct {
	Tokens    int64
	Unbounded bool // the policy says so, with that word
}

// Of returns the bound of a quota. A cut adds nothing in the modes fail_closed
// and local_floor: leases are in the books, and floors are taken out of the
// limit before anything is leased. The other modes have no bound here, because
// no policy with them is accepted; they count as unbounded rather than as
// harmless.
func Of(q *policy.Quota) Bound {
	if q.Limit.Unbounded {
		return Bound{Unbounded: true}
	}
	switch q.Partition.Mode {
	case policy.FailClosed, policy.LocalFloor:
		return Bound{Tokens: 0}
	case policy.LocalFallback, policy.FailOpen:
	}
	return Bound{Unbounded: true}
}
