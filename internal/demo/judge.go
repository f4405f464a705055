package demo

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/chaos/judge"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// bucketJudge judges one bucket, of whichever kind its limit is.
type bucketJudge struct {
	stream  *judge.Stream
	windows *judge.WindowStream
	which   bucket.Windows
}

func newBucketJudge(q *policy.Quota, drift int64) *bucketJudge {
	l := q.Limit
	if l.Algorithm != policy.TokenBucket {
		return &bucketJudge{windows: judge.NewWindowStream(l.Tokens), which: q.Windows()}
	}
	return &bucketJudge{stream: judge.NewStream(judge.TokenBucket{
		Tokens: l.Tokens, Per: l.Per, Burst: l.Burst, DriftPPM: drift,
	})}
}

func (b *bucketJudge) add(sent, received lease.Moment, cost int64) {
	if b.windows != nil {
		b.windows.Add(b.which.Index(sent.Wall), b.which.Index(received.Wall), cost)
		return
	}
	b.stream.Add(judge.Admission{Sent: sent.Mono, Received: received.Mono, Cost: cost})
}

func (b *bucketJudge) advance(before time.Duration) {
	if b.stream != nil {
		b.stream.Advance(before)
	}
}

func (b *bucketJudge) over() int64 {
	if b.windows != nil {
		return b.windows.Worst().Over
	}
	return b.stream.Worst().Over
}
