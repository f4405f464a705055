// Package load asks regions for more than a limit allows, and writes down what
// each request came to. It believes its own clock and the answers alone: what is
// counted here is independent of what the system says of itself.
package load

import "time"

// Outcome is what a request came to.
type Outcome uint8

// The outcomes. A request that failed was not decided, as far as its client knows.
const (
	Failed Outcome = iota
	Denied
	Admitted
)

// Request is one that was sent, or was to be sent. Times are since the load
// began, by one monotonic clock for all clients.
type Request struct {
	Sent, Received time.Duration
	Region         int // an index into the regions that were given
	Outcome        Outcome
}

const (
	// Timeout is how long a request may take. It is long, so that a region that
	// stood still and goes on is seen with all that it answers then.
	Timeout = 10 * time.Second
	// mostUnderWay bounds the requests of one region that wait for an answer. What
	// would be sent beyond them counts as failed.
	mostUnderWay = 256
	// step is how often a client looks what is due.
	step = 5 * time.Millisecond
	// catchUp is the most that a client makes up for when it was held up.
	catchUp = 250 * time.Millisecond
)
