package wire

import (
	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/lease"
)

// FromHello encodes one piece of a Hello.
func FromHello(h lease.Hello) *pb.Hello {
	out := &pb.Hello{
		Session: fromSession(h.Session), Cluster: h.Cluster, Holder: fromHolder(h.Holder),
		SeenEpoch: fromEpoch(h.SeenEpoch), SeenRevision: h.SeenRevision, PolicyRevision: h.PolicyRevision,
		Piece: h.Piece, Last: h.Last,
	}
	for _, c := range h.Claims {
		out.Claims = append(out.Claims, &pb.Claim{
			Bucket:  &pb.BucketId{Quota: c.Bucket.Quota, Key: []byte(c.Bucket.Key)},
			Session: fromSession(c.Session), Account: c.Account,
			Spent: c.Spent, Returned: c.Returned, Refunded: c.Refunded, Unspent: c.Unspent, Window: c.Window,
		})
	}
	for _, f := range h.Floors {
		out.Floors = append(out.Floors, &pb.FloorClaim{Quota: f.Quota, Slot: f.Slot, Grant: f.Grant})
	}
	return out
}

// ToHello decodes one piece of a Hello.
func ToHello(h *pb.Hello) (lease.Hello, error) {
	if h == nil {
		return lease.Hello{}, invalid("hello", "is missing")
	}
	out := lease.Hello{
		Cluster: h.Cluster, SeenRevision: h.SeenRevision, PolicyRevision: h.PolicyRevision, Piece: h.Piece, Last: h.Last,
	}
	var err error
	if out.Session, err = toSession(h.Session); err != nil {
		return lease.Hello{}, err
	}
	if err := short("cluster", h.Cluster); err != nil {
		return lease.Hello{}, err
	}
	if out.Holder, err = toHolder(h.Holder); err != nil {
		return lease.Hello{}, err
	}
	if out.SeenEpoch, err = toEpoch("seen_epoch", h.SeenEpoch); err != nil {
		return lease.Hello{}, err
	}
	if err := natural(amount{"seen_revision", h.SeenRevision}); err != nil {
		return lease.Hello{}, err
	}
	if out.Claims, err = toClaims(h.Claims); err != nil {
		return lease.Hello{}, err
	}
	if out.Floors, err = toFloorClaims(h.Floors); err != nil {
		return lease.Hello{}, err
	}
	return out, nil
}

func toClaims(claims []*pb.Claim) ([]lease.Claim, error) {
	if err := count("claims", len(claims), lease.MaxBatchReports); err != nil || len(claims) == 0 {
		return nil, err
	}
	out := make([]lease.Claim, len(claims))
	for i, c := range claims {
		var err error
		if out[i], err = toClaim(c); err != nil {
			return nil, within(err, "claims", i)
		}
	}
	return out, nil
}

func toClaim(c *pb.Claim) (lease.Claim, error) {
	if c == nil {
		return lease.Claim{}, invalid("claim", "is missing")
	}
	bucket, err := toBucket(c.Bucket)
	if err != nil {
		return lease.Claim{}, err
	}
	session, err := toSession(c.Session)
	if err != nil {
		return lease.Claim{}, err
	}
	if err := natural(amount{"spent", c.Spent}, amount{"returned", c.Returned}, amount{"refunded", c.Refunded}, amount{"unspent", c.Unspent}); err != nil {
		return lease.Claim{}, err
	}
	return lease.Claim{
		Bucket: bucket, Session: session, Account: c.Account,
		Spent: c.Spent, Returned: c.Returned, Refunded: c.Refunded, Unspent: c.Unspent, Window: c.Window,
	}, nil
}

func toFloorClaims(floors []*pb.FloorClaim) ([]lease.FloorClaim, error) {
	if err := count("floors", len(floors), maxFloors); err != nil || len(floors) == 0 {
		return nil, err
	}
	out := make([]lease.FloorClaim, len(floors))
	for i, f := range floors {
		if f == nil {
			return nil, within(invalid("floor", "is missing"), "floors", i)
		}
		if err := name("quota", f.Quota); err != nil {
			return nil, within(err, "floors", i)
		}
		if err := natural(amount{"slot", int64(f.Slot)}); err != nil {
			return nil, within(err, "floors", i)
		}
		out[i] = lease.FloorClaim{Quota: f.Quota, Slot: f.Slot, Grant: f.Grant}
	}
	return out, nil
}
