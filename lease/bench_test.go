package lease_test

import (
	"testing"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// BenchmarkDecide measures a decision on a held cell, with the real clock, on
// one core and on all.
func BenchmarkDecide(b *testing.B) {
	start := time.Now()
	now := func() time.Duration { return time.Since(start) }
	cells := func(b *testing.B) []*lease.Cell {
		h := lease.NewHolder(lease.HolderConfig{ID: lease.HolderID{Region: "us"}, Plan: exactly}, lease.State{})
		t := perMinute(1<<53, 1<<53)
		h.Adopt(1, []lease.QuotaLimits{{Terms: t, MaxKeys: 10}})
		s := lease.Session{Epoch: lease.Epoch{History: 1, Revision: 1}, N: 1}
		if _, err := h.Welcome(0, lease.Welcome{Session: s, ReportInterval: time.Second}); err != nil {
			b.Fatal(err)
		}
		c := h.Cell(t.Quota, "k")
		g := lease.Grant{Bucket: c.ID(), Account: 1 << 33, Granted: 1 << 53, TTL: time.Hour}
		if err := h.Grants(0, lease.GrantBatch{Session: s, Grants: []lease.Grant{g}}); err != nil {
			b.Fatal(err)
		}
		return []*lease.Cell{c}
	}
	b.Run("held", func(b *testing.B) {
		c := cells(b)
		b.ReportAllocs()
		for b.Loop() {
			if lease.Decide(now, c, 1).Outcome != lease.Admitted {
				b.Fatal("refused")
			}
		}
	})
	b.Run("held, all cores", func(b *testing.B) {
		c := cells(b)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				lease.Decide(now, c, 1)
			}
		})
	})
	b.Run("clock alone", func(b *testing.B) {
		for b.Loop() {
			now()
		}
	})
}
