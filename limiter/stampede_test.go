package limiter_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// arrivals notes when anybody dials.
type arrivals struct {
	mu    sync.Mutex
	since time.Time
	slots map[int]int // by tenths of a second
}

func (a *arrivals) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since, a.slots = time.Now(), map[int]int{}
}

func (a *arrivals) dial(c *limitertest.Coordinator) grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		a.mu.Lock()
		a.slots[int(time.Since(a.since)/(100*time.Millisecond))]++
		a.mu.Unlock()
		return c.DialContext(ctx)
	})
}

// most is the largest number of arrivals in a slot from one on, and how many there are in all.
func (a *arrivals) most(from int) (most, all int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for slot, n := range a.slots {
		if slot >= from {
			most, all = max(most, n), all+n
		}
	}
	return most, all
}

// After a failover of five seconds a hundred regions do not come back in step: by then the jitter of their attempts
// has spread them over more than half a second, and all are back about a second after the coordinator is.
func TestRegionsThatComeBackDoNotStampede(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const regions = 100
		c := limitertest.New(t, limitertest.Options{Policy: perKey("{tokens: 1000, per: 1s, burst: 1000}"), Delay: 20 * time.Millisecond})
		a := &arrivals{}
		a.restart()
		var all []*limiter.Limiter
		for i := range regions {
			all = append(all, region(t, c, func(o *limiter.Options) {
				o.Node, o.DialOptions = fmt.Sprint("n", i), []grpc.DialOption{a.dial(c)}
			}))
		}
		for _, l := range all {
			ready(t, l)
		}
		c.SetFaults(limitertest.Faults{Refusing: true})
		c.Break()
		time.Sleep(5 * time.Second)
		most, tries := a.most(20)
		assert.Less(t, most, regions/2, "in any tenth of a second, once the first two seconds have spread them")
		assert.Less(t, tries, regions*3*4, "about one and a half a second each")

		a.restart()
		granted := c.Granted()
		c.SetFaults(limitertest.Faults{})
		time.Sleep(1200 * time.Millisecond)
		most, tries = a.most(0)
		assert.Less(t, most, regions/2)
		t.Logf("at most %d of %d in a tenth of a second", most, tries)
		assert.LessOrEqual(t, tries, regions+5, "one attempt each")
		for _, l := range all {
			require.True(t, l.Connected())
		}
		assert.Equal(t, granted, c.Granted(), "nobody asks for what it does not need")
	})
}

// When all of them want tokens at once after a heal, the pool is shared and granted once: what they want together is
// many times what there is.
func TestARushAfterAHealIsGrantedNoMoreThanThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const regions = 30
		c := limitertest.New(t, limitertest.Options{Policy: perKey("{tokens: 100, per: 1s, burst: 100}"), Delay: 20 * time.Millisecond})
		var all []*limiter.Limiter
		for i := range regions {
			all = append(all, region(t, c, func(o *limiter.Options) { o.Node, o.ColdWait = fmt.Sprint("n", i), -1 }))
		}
		for _, l := range all {
			ready(t, l)
		}
		c.SetFaults(limitertest.Faults{Refusing: true})
		c.Break()
		time.Sleep(10 * time.Second) // longer than any lease
		c.SetFaults(limitertest.Faults{})
		var admitted int64
		begun := time.Now()
		for time.Since(begun) < 5*time.Second {
			for _, l := range all {
				d, err := l.Allow(t.Context(), key("k"))
				require.NoError(t, err)
				if d.Allowed {
					admitted++
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		assert.LessOrEqual(t, admitted, int64(100+5*100+1))
		assert.GreaterOrEqual(t, admitted, int64(250), "and it is used")
	})
}
