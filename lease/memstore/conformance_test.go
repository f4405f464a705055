package memstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/memstore"
	"github.com/a1009580/leasehold/lease/storetest"
)

// clock is one that a test moves.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Duration      { return time.Duration(c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

func newStore() (*memstore.Store, *clock) {
	c := &clock{}
	return memstore.New(memstore.Options{Now: c.now}), c
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness {
		s, c := newStore()
		return storetest.Harness{
			Store:   s,
			Elector: s,
			DeleteKey: func(context.Context, lease.LeaderKey) error {
				s.DeleteLeader()
				return nil
			},
			EndSession: func(_ context.Context, name string) error { return s.EndSession(name) },
			Standing:   func(context.Context) ([]string, error) { return s.Standing(), nil },
			Elapse:     func(d time.Duration) { c.advance(d); s.Wake() },
		}
	})
}
