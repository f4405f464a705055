package wire

import (
	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/lease"
)

func fromEpoch(e lease.Epoch) *pb.Epoch {
	return &pb.Epoch{History: e.History, Revision: e.Revision}
}

func toEpoch(field string, e *pb.Epoch) (lease.Epoch, error) {
	if e == nil {
		return lease.Epoch{}, invalid(field, "is missing")
	}
	if err := natural(amount{field + ".revision", e.Revision}); err != nil {
		return lease.Epoch{}, err
	}
	return lease.Epoch{History: e.History, Revision: e.Revision}, nil
}

func fromSession(s lease.Session) *pb.Session {
	return &pb.Session{Epoch: fromEpoch(s.Epoch), Number: s.N}
}

func toSession(s *pb.Session) (lease.Session, error) {
	switch {
	case s == nil:
		return lease.Session{}, invalid("session", "is missing")
	case s.Number == 0:
		return lease.Session{}, invalid("session.number", "is 0")
	}
	e, err := toEpoch("session.epoch", s.Epoch)
	return lease.Session{Epoch: e, N: s.Number}, err
}

func fromHolder(h lease.HolderID) *pb.HolderId {
	return &pb.HolderId{Region: h.Region, Node: h.Node, Incarnation: append([]byte(nil), h.Incarnation[:]...)}
}

func toHolder(h *pb.HolderId) (lease.HolderID, error) {
	if h == nil {
		return lease.HolderID{}, invalid("holder", "is missing")
	}
	if err := name("holder.region", h.Region); err != nil {
		return lease.HolderID{}, err
	}
	if err := short("holder.node", h.Node); err != nil {
		return lease.HolderID{}, err
	}
	if len(h.Incarnation) != incarnation {
		return lease.HolderID{}, invalid("holder.incarnation", "%d bytes, must be %d", len(h.Incarnation), incarnation)
	}
	return lease.HolderID{Region: h.Region, Node: h.Node, Incarnation: [incarnation]byte(h.Incarnation)}, nil
}

func toBucket(b *pb.BucketId) (lease.BucketID, error) {
	if b == nil {
		return lease.BucketID{}, invalid("bucket", "is missing")
	}
	if err := name("bucket.quota", b.Quota); err != nil {
		return lease.BucketID{}, err
	}
	if err := key(b.Key); err != nil {
		return lease.BucketID{}, err
	}
	return lease.BucketID{Quota: b.Quota, Key: string(b.Key)}, nil
}
