package limiter

import "time"

// Decision is the answer to a request.
type Decision struct {
	Allowed bool
	Reason  Reason
	// Quota is the one that decided, as domain/name: of an admitted request the
	// one with the fewest tokens left. It is empty if none matched.
	Quota string
	// Limit is the most tokens that the quota's bucket can hold, Remaining how
	// many it could still admit as far as is known here: 0 <= Remaining <= Limit.
	// For an admitted request these are the tokens of this region and those
	// that the coordinator had left when it last told; for a denied one they
	// are those of this region. Both are 0 without a bucket.
	Limit     int64
	Remaining int64
	// Reset is how long until the bucket is whole again if nothing is admitted
	// meanwhile; of a window quota, how long until its window ends.
	Reset time.Duration
	// RetryAfter is how long until a denied request could be admitted: exact
	// as far as this region knows, and never before. It is 0 for an admitted
	// request, and for one that is denied for good.
	RetryAfter time.Duration
	// Most is, for Impossible, the largest cost that could ever be admitted.
	Most int64
}

// Reason says why a request was admitted or denied.
type Reason uint8

// The reasons. The zero Reason is none of them: it belongs to no decision.
const (
	_           Reason = iota
	WithinQuota        // every quota that matches had enough tokens
	NoQuota            // no quota matches, and the domain lets such requests pass
	Unbounded          // the quotas that match are unbounded
	Exhausted          // the quota is used up, as far as this region can know
	NoLease            // this region has no tokens of the bucket yet, and none came in time
	CutOff             // no coordinator is reached, and too little is held here
	Impossible         // the cost is above what this region could ever admit at once
	Unmatched          // no quota matches, and the domain denies such requests
	Unreserved         // no coordinator is reached, and the quota lets requests pass beyond its limit then
	Advised            // a rule that only watches had too little
	reasons
)

var reasonNames = [reasons]string{
	"none", "within_quota", "no_quota", "unbounded", "exhausted", "no_lease", "cut_off", "impossible", "unmatched",
	"unreserved", "advised",
}

// String returns the reason as a word with underscores.
func (r Reason) String() string {
	if r >= reasons {
		return reasonNames[0]
	}
	return reasonNames[r]
}

// Allows says whether a request is admitted for this reason.
func (r Reason) Allows() bool {
	return r == WithinQuota || r == NoQuota || r == Unbounded || r == Unreserved || r == Advised
}
