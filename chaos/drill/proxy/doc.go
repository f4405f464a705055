// Package proxy makes the way between two processes long, lossy or cut, by
// passing their TCP connections on in user space. It needs no rights at all.
//
// What it does is what TCP makes of a bad network: bytes come late and in order.
// A lost segment is one that comes a retransmission later, and a cut holds bytes
// back until it is healed, or until whoever sent them gives up. That is where it
// is weaker than a real cut: what has arrived at the proxy is acknowledged to its
// sender.
package proxy

import (
	"fmt"
	"time"
)

// Quality is how good a way is. The zero value is perfect.
type Quality struct {
	// RoundTrip is added to the time of both directions together.
	RoundTrip time.Duration
	// Loss is the share of segments that are lost and sent again, 0 to less
	// than 1. Each time costs a round trip and the least timeout of TCP, doubled
	// when it is lost again.
	Loss float64
}

// Validate says what is wrong with a quality.
func (q Quality) Validate() error {
	if q.RoundTrip < 0 || q.Loss < 0 || q.Loss >= 1 {
		return fmt.Errorf("proxy: a round trip of %v with a loss of %v: must be from 0, and the loss below 1", q.RoundTrip, q.Loss)
	}
	return nil
}

// Direction is one of the two of a way.
type Direction int

// The directions: Forth is from the one that dials to the one that listens.
const (
	Forth Direction = iota
	Back
)

// Stats are what a proxy did since it was made.
type Stats struct {
	Connections int64 // that were accepted
	Segments    int64 // that were passed on
	Lost        int64 // times that a segment was sent again
	// Held are the segments, and the connections that were to be made, that a
	// cut kept back.
	Held int64
}

// What is known of TCP: how much a segment holds, and how soon Linux sends one
// again at the earliest (TCP_RTO_MIN).
const (
	segmentBytes = 1448
	leastTimeout = 200 * time.Millisecond
	mostAttempts = 8
)

// lateness is how much later a segment of n bytes comes: each of the network's
// segments in it can be lost, again and again, and the one that is lost most
// often decides, since bytes come in order.
func (q Quality) lateness(n int, random func() float64) (late time.Duration, lost int64) {
	if q.Loss == 0 {
		return 0, 0
	}
	for ; n > 0; n -= segmentBytes {
		var d time.Duration
		timeout := q.RoundTrip + leastTimeout
		for i := 0; i < mostAttempts && random() < q.Loss; i++ {
			d += timeout
			timeout *= 2
			lost++
		}
		late = max(late, d)
	}
	return late, lost
}
