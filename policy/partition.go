package policy

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Partition says what a region does while it is cut off from the coordinator.
type Partition struct {
	// Mode is LocalFloor by default. It has no meaning if the limit is unbounded.
	Mode Mode

	// Floor is the part of the limit that each listed region owns, 0 if none. By default it is 5%, or 50%
	// divided by the number of listed regions if that is less. All floors together are at most the limit.
	Floor       Fraction
	FloorTokens int64         // of each listed region, for each Limit.Per or window: Floor of Limit.Tokens, rounded down
	FloorBurst  int64         // of each listed region: Floor of Limit.Burst, rounded down; 0 for windows
	FloorLease  time.Duration // how long a floor is owned, 10s to 24h, default 10m; 0 without floors

	// Rate and Burst are what one holder, that is one regional process, may spend of each bucket while it is cut
	// off, beyond its lease: the rate of LocalFallback or the ceiling of FailOpen. Burst is 1 to 2^53, by default
	// one second of the rate, rounded up. They are zero in the exact modes, and if Unbounded.
	Rate  bucket.Rate
	Burst int64
	// For is how long after its cut began a holder may do so: 1s to 168h with LocalFallback. It is 0 with FailOpen,
	// which ends with the cut.
	For time.Duration
	// Unbounded is the literal word "unbounded" as the ceiling of FailOpen: while a holder is cut off it admits
	// everything. Nothing else sets it.
	Unbounded bool
}

// Mode is the failure mode of a quota.
type Mode uint8

// FailClosed and LocalFloor keep the limit exactly; the others trade it for availability.
const (
	FailClosed    Mode = iota // the lease, then nothing
	LocalFloor                // the lease, then the floor
	LocalFallback             // the lease, then an unreserved rate for a time
	FailOpen                  // the lease, then up to a ceiling
)

var modes = []string{"fail_closed", "local_floor", "local_fallback", "fail_open"}

// String returns the word of the policy.
func (m Mode) String() string { return word(modes, int(m)) }

const minFloorLease, maxFloorLease, defaultFloorLease = 10 * time.Second, 24 * time.Hour, 10 * time.Minute

// partition reads what becomes of q while a region is cut off. n is nil if the policy does not say.
func (d *decoder) partition(n *node, q *Quota) Partition {
	p := Partition{Mode: LocalFloor}
	o := &object{d: d}
	if n != nil {
		o = d.object(n, "partition", "mode", "floor", "floor_lease", "rate", "burst", "for", "ceiling")
	}
	if o == nil {
		return p
	}
	p.Mode = Mode(o.word("mode", modes, int(p.Mode)))
	d.unreserved(o, &p)
	if p.Mode != LocalFloor {
		const why = "only mode local_floor has one"
		o.refuse("floor", why)
		o.refuse("floor_lease", why)
		return p
	}
	d.floor(o, &p, q)
	return p
}

// floor reads and resolves the floors.
func (d *decoder) floor(o *object, p *Partition, q *Quota) {
	k := int64(len(q.Regions))
	p.Floor = defaultFloor(k)
	if n := o.get("floor"); n != nil {
		var ok bool
		if p.Floor, ok = parsePercent(n.text); !ok || !n.isText() {
			d.errorf(n, "partition.floor", "must be a percentage from 0%% to 100%% with at most 6 decimals, such as 2.5%%, not %s", n)
		} else if k == 0 && p.Floor.Num > 0 {
			d.errorf(n, "partition.floor", "no region is listed that could own it")
		} else if sum := p.Floor.times(k); sum.Num > sum.Den {
			d.errorf(n, "partition.floor", "%v for each of %d regions is %v of the limit; the most is 100%%", p.Floor, k, sum)
		}
	}
	p.FloorTokens = p.Floor.Of(q.Limit.Tokens)
	p.FloorBurst = p.Floor.Of(q.Limit.Burst)
	p.FloorLease = o.duration("floor_lease", minFloorLease, maxFloorLease, defaultFloorLease)
	if n := o.get("floor_lease"); n != nil && p.FloorLease > 0 && p.FloorLease < q.Lease.TTL {
		d.errorf(n, "partition.floor_lease", "%v is shorter than the lease of %v", p.FloorLease, q.Lease.TTL)
	}
}
