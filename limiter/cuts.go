package limiter

import (
	"time"

	"github.com/a1009580/leasehold/partition"
)

// Cuts is what a limiter knows of its own cuts since it was made. It does not change.
type Cuts struct {
	Now     time.Duration // of the limiter's monotonic clock
	Since   time.Time     // when the limiter was made
	History *partition.History
}

// Bound returns by how much this process can have exceeded a quota's limit by its cuts, in tokens of the worst
// bucket. In the exact modes it is 0.
func (c *Cuts) Bound(quota string) partition.Result { return c.History.Bound(quota, c.Now) }

// Cuts returns what is known of the cuts of this process, each under the policy that it had then.
func (l *Limiter) Cuts() Cuts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Cuts{Now: l.now(), Since: l.began, History: l.history.Clone()}
}
