package wire

import (
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/lease"
)

// FromWelcome encodes a Welcome.
func FromWelcome(w lease.Welcome) *pb.Welcome {
	return &pb.Welcome{
		Cluster: w.Cluster, Session: fromSession(w.Session), StoreRevision: w.StoreRevision,
		DriftPpm: int64(w.Drift), ReportInterval: durationpb.New(w.ReportInterval),
		PolicyRevision: w.PolicyRevision, Policy: w.Policy,
	}
}

// ToWelcome decodes a Welcome. The policy is still to be parsed.
func ToWelcome(w *pb.Welcome) (lease.Welcome, error) {
	if w == nil {
		return lease.Welcome{}, invalid("welcome", "is missing")
	}
	if err := name("cluster", w.Cluster); err != nil {
		return lease.Welcome{}, err
	}
	session, err := toSession(w.Session)
	if err != nil {
		return lease.Welcome{}, err
	}
	if err := natural(amount{"store_revision", w.StoreRevision}, amount{"drift_ppm", w.DriftPpm}); err != nil {
		return lease.Welcome{}, err
	}
	if w.DriftPpm > maxDrift {
		return lease.Welcome{}, invalid("drift_ppm", "%d, at most %d", w.DriftPpm, maxDrift)
	}
	if err := w.ReportInterval.CheckValid(); err != nil {
		return lease.Welcome{}, invalid("report_interval", "%v", err)
	}
	interval := w.ReportInterval.AsDuration()
	switch {
	case interval < leastInterval || interval > maxInterval:
		return lease.Welcome{}, invalid("report_interval", "%v, must be from %v to %v", interval, leastInterval, maxInterval)
	case w.PolicyRevision == 0:
		return lease.Welcome{}, invalid("policy_revision", "is 0")
	case len(w.Policy) == 0:
		return lease.Welcome{}, invalid("policy", "is empty")
	}
	return lease.Welcome{
		Cluster: w.Cluster, Session: session, StoreRevision: w.StoreRevision, Drift: lease.Drift(w.DriftPpm),
		ReportInterval: interval, PolicyRevision: w.PolicyRevision, Policy: w.Policy,
	}, nil
}
