package wire

import (
	"time"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/lease"
)

// FromGrantBatch encodes a GrantBatch. The parts of a large batch lie in few
// allocations.
func FromGrantBatch(b lease.GrantBatch) *pb.GrantBatch {
	out := &pb.GrantBatch{
		Session: fromSession(b.Session), Echo: int64(b.Echo),
		PolicyRevision: b.PolicyRevision, StoreRevision: b.StoreRevision, Wall: b.Wall, Made: int64(b.Made),
	}
	if n := len(b.Grants); n > 0 {
		out.Grants = make([]*pb.Grant, n)
		grants, buckets := make([]pb.Grant, n), make([]pb.BucketId, n)
		for i := range b.Grants {
			g, to := &b.Grants[i], &grants[i]
			buckets[i].Quota, buckets[i].Key = g.Bucket.Quota, []byte(g.Bucket.Key)
			to.Bucket, to.Account, to.Granted = &buckets[i], g.Account, g.Granted
			to.Ttl, to.Echo, to.Window = int64(g.TTL), int64(g.Echo), g.Window
			to.Pool, to.Wait, to.Closed = g.Pool, int64(g.Wait), g.Closed
			out.Grants[i] = to
		}
	}
	for _, r := range b.Recalls {
		out.Recalls = append(out.Recalls, &pb.Recall{
			Bucket:  &pb.BucketId{Quota: r.Bucket.Quota, Key: []byte(r.Bucket.Key)},
			Account: r.Account, Keep: r.Keep, FloorGrant: r.FloorGrant, FloorSeen: r.FloorSeen, FloorWindow: r.FloorWindow,
		})
	}
	for _, f := range b.Floors {
		out.Floors = append(out.Floors, &pb.FloorGrant{
			Quota: f.Quota, Slot: f.Slot, Grant: f.Grant, Tokens: f.Tokens, Burst: f.Burst,
			Ttl: int64(f.TTL), Echo: int64(f.Echo), First: f.First, Wall: f.Wall,
		})
	}
	return out
}

// ToGrantBatch decodes a GrantBatch.
func ToGrantBatch(b *pb.GrantBatch) (lease.GrantBatch, error) {
	if b == nil {
		return lease.GrantBatch{}, invalid("grants", "is missing")
	}
	session, err := toSession(b.Session)
	if err != nil {
		return lease.GrantBatch{}, err
	}
	if err := natural(amount{"echo", b.Echo}, amount{"store_revision", b.StoreRevision}, amount{"wall", b.Wall}, amount{"made", b.Made}); err != nil {
		return lease.GrantBatch{}, err
	}
	out := lease.GrantBatch{
		Session: session, Echo: time.Duration(b.Echo), PolicyRevision: b.PolicyRevision, StoreRevision: b.StoreRevision,
		Wall: b.Wall, Made: time.Duration(b.Made),
	}
	if n := len(b.Grants); n > 0 {
		out.Grants = make([]lease.Grant, n)
	}
	for i, g := range b.Grants {
		if err := toGrant(&out.Grants[i], g); err != nil {
			return lease.GrantBatch{}, within(err, "grants", i)
		}
	}
	for i, r := range b.Recalls {
		recall, err := toRecall(r)
		if err != nil {
			return lease.GrantBatch{}, within(err, "recalls", i)
		}
		out.Recalls = append(out.Recalls, recall)
	}
	for i, f := range b.Floors {
		floor, err := toFloorGrant(f)
		if err != nil {
			return lease.GrantBatch{}, within(err, "floors", i)
		}
		out.Floors = append(out.Floors, floor)
	}
	return out, nil
}

func toGrant(to *lease.Grant, g *pb.Grant) (err error) {
	if g == nil {
		return invalid("grant", "is missing")
	}
	if to.Bucket, err = toBucket(g.Bucket); err != nil {
		return err
	}
	if g.Account == 0 {
		return invalid("account", "is 0")
	}
	if err := natural(
		amount{"granted", g.Granted}, amount{"ttl", g.Ttl}, amount{"echo", g.Echo},
		amount{"pool", g.Pool}, amount{"wait", g.Wait},
	); err != nil {
		return err
	}
	to.Account, to.Granted, to.Window = g.Account, g.Granted, g.Window
	to.TTL, to.Echo = time.Duration(g.Ttl), time.Duration(g.Echo)
	to.Pool, to.Wait, to.Closed = g.Pool, time.Duration(g.Wait), g.Closed
	if to.Echo+to.TTL < 0 {
		return invalid("ttl", "%v from %v on is beyond all time", to.TTL, to.Echo)
	}
	return nil
}

func toRecall(r *pb.Recall) (lease.Recall, error) {
	if r == nil {
		return lease.Recall{}, invalid("recall", "is missing")
	}
	bucket, err := toBucket(r.Bucket)
	if err != nil {
		return lease.Recall{}, err
	}
	if r.Account == 0 && r.FloorGrant == 0 {
		return lease.Recall{}, invalid("account", "is 0")
	}
	if err := natural(amount{"keep", r.Keep}, amount{"floor_seen", r.FloorSeen}); err != nil {
		return lease.Recall{}, err
	}
	return lease.Recall{
		Bucket: bucket, Account: r.Account, Keep: r.Keep, FloorGrant: r.FloorGrant, FloorSeen: r.FloorSeen,
		FloorWindow: r.FloorWindow,
	}, nil
}

func toFloorGrant(f *pb.FloorGrant) (lease.FloorGrant, error) {
	if f == nil {
		return lease.FloorGrant{}, invalid("floor", "is missing")
	}
	if err := name("quota", f.Quota); err != nil {
		return lease.FloorGrant{}, err
	}
	if err := natural(
		amount{"slot", int64(f.Slot)}, amount{"tokens", f.Tokens}, amount{"burst", f.Burst},
		amount{"ttl", f.Ttl}, amount{"echo", f.Echo}, amount{"wall", f.Wall},
	); err != nil {
		return lease.FloorGrant{}, err
	}
	out := lease.FloorGrant{
		Quota: f.Quota, Slot: f.Slot, Grant: f.Grant, Tokens: f.Tokens, Burst: f.Burst,
		TTL: time.Duration(f.Ttl), Echo: time.Duration(f.Echo), First: f.First, Wall: f.Wall,
	}
	if out.Echo+out.TTL < 0 {
		return lease.FloorGrant{}, invalid("ttl", "%v from %v on is beyond all time", out.TTL, out.Echo)
	}
	return out, nil
}
