package lab

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Request is one decision to be made: a region asks for tokens.
type Request struct {
	At     time.Duration
	Region int
	Cost   int64 // tokens, at least 1
}

// Trace is what all systems of a scenario are asked, in the order of time.
type Trace struct {
	K        int // regions
	Requests []Request
	End      time.Duration
}

// Lead is the quiet beginning of every run, in which sessions open. The first
// request of a trace comes after it.
const Lead = 2 * time.Second

// Limit is the limit that a run keeps: so many tokens a second, and a burst.
type Limit struct {
	Rate  int64
	Burst int64
}

// bucket is the limit as a full bucket at the time 0.
func (l Limit) bucket() bucket.TokenBucket { return l.part(1) }

// part is a full bucket of a part of the limit, between 0 and 1.
func (l Limit) part(share float64) bucket.TokenBucket {
	return bucket.Full(0, perSecond(share*float64(l.Rate)), l.burstOf(share))
}

// burstOf is the part of the burst that goes with a share of the rate: at least
// one token, or nothing could ever be admitted.
func (l Limit) burstOf(share float64) int64 { return max(1, int64(share*float64(l.Burst))) }

// perSecond is a rate of tokens a second, to a thousandth of a token.
func perSecond(tokens float64) bucket.Rate {
	return bucket.Rate{Tokens: int64(tokens*1000 + 0.5), Per: 1000 * time.Second}
}
