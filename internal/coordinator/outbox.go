package coordinator

import (
	"sync"

	"github.com/a1009580/leasehold/lease"
)

// What may wait for one holder to read it: far more than a holder that lives
// leaves unread, and little enough for one that does not.
const (
	maxQueuedBatches = 1_024
	maxQueuedEntries = 200_000
)

// outbox holds what is to be sent on one stream. The loop must never wait for a
// reader, so that a full one refuses.
type outbox struct {
	news chan struct{} // receives when there is something to take
	most int           // entries

	mu      sync.Mutex
	queue   []lease.GrantBatch
	entries int
}

func newOutbox(most int) outbox { return outbox{news: make(chan struct{}, 1), most: most} }

// push adds a batch, and returns false when the reader is too slow.
func (o *outbox) push(b lease.GrantBatch) bool {
	n := len(b.Grants) + len(b.Recalls) + len(b.Floors)
	o.mu.Lock()
	full := len(o.queue) >= maxQueuedBatches || len(o.queue) > 0 && o.entries+n > o.most
	if !full {
		o.queue = append(o.queue, b)
		o.entries += n
	}
	o.mu.Unlock()
	if full {
		return false
	}
	select {
	case o.news <- struct{}{}:
	default:
	}
	return true
}

// take returns all that waits.
func (o *outbox) take() []lease.GrantBatch {
	o.mu.Lock()
	defer o.mu.Unlock()
	queue := o.queue
	o.queue, o.entries = nil, 0
	return queue
}
