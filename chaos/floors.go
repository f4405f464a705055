package chaos

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// floorWatch is one ownership of one slot as its messages tell it.
type floorWatch struct {
	quota    string
	slot     int32
	grant    uint64
	region   *region
	gen      int
	deadline time.Duration // by its owner's clock
}

func (w *World) floorWatch(r *region, quota string, slot int32, grant uint64) *floorWatch {
	for _, f := range w.floors {
		if f.slot == slot && f.grant == grant && f.region == r && f.gen == r.gen && f.quota == quota {
			return f
		}
	}
	return nil
}

// floorTaken notes that a region was given a floor.
func (w *World) floorTaken(r *region, g *lease.FloorGrant) {
	if g.Grant == 0 {
		return
	}
	f := w.floorWatch(r, g.Quota, g.Slot, g.Grant)
	if f == nil {
		f = &floorWatch{quota: g.Quota, slot: g.Slot, grant: g.Grant, region: r, gen: r.gen}
		w.floors = append(w.floors, f)
		if g.Grant > 1 {
			w.count(FloorMoved)
		}
	}
	f.deadline = max(f.deadline, g.Echo+g.TTL)
}

// floorSpent judges tokens that a region spent from its floor: it was given it,
// and nobody else can spend from the same slot now.
func (w *World) floorSpent(r *region, id lease.BucketID, v *lease.CellView, at time.Duration) error {
	f := w.floorWatch(r, id.Quota, v.FloorSlot, v.FloorGrant)
	switch {
	case f == nil:
		return fmt.Errorf("law 11: %s spends from floor %d of %s, which it was not given", r.name, v.FloorSlot, id.Quota)
	case at >= f.deadline:
		return fmt.Errorf("law 11: %s spends from floor %d of %s %v after its end", r.name, v.FloorSlot, id.Quota, at-f.deadline)
	case w.now < w.censusFrom || w.lost:
		return nil
	}
	for _, o := range w.regions {
		if o == r || !o.up {
			continue
		}
		if c, ok := o.holder.Lookup(id.Quota, []byte(id.Key)); ok {
			if ov := c.View(); ov.FloorGrant > 0 && ov.FloorSlot == v.FloorSlot && o.clock() < ov.FloorDeadline {
				return fmt.Errorf("law 11: both %s and %s can spend from floor %d of %s", r.name, o.name, v.FloorSlot, id.Quota)
			}
		}
	}
	return nil
}
