package wire

import (
	"time"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/lease"
)

// FromReportBatch encodes a ReportBatch. The parts of a large batch lie in few
// allocations.
func FromReportBatch(b lease.ReportBatch) *pb.ReportBatch {
	out := &pb.ReportBatch{
		Session: fromSession(b.Session), Sent: int64(b.Sent), Goodbye: b.Goodbye, Part: b.Part, Clock: int64(b.Clock),
		Answered: int64(b.Answered), Owes: b.Owes,
	}
	fromCuts(out, b)
	for _, f := range b.Floors {
		out.Floors = append(out.Floors, &pb.FloorReturn{Quota: f.Quota, Slot: f.Slot, Grant: f.Grant, Window: f.Window})
	}
	if len(b.Reports) == 0 {
		return out
	}
	out.Reports = make([]*pb.Report, len(b.Reports))
	reports := make([]pb.Report, len(b.Reports))
	buckets := make([]pb.BucketId, len(b.Reports))
	for i := range b.Reports {
		r, to := &b.Reports[i], &reports[i]
		buckets[i].Quota, buckets[i].Key = r.Bucket.Quota, []byte(r.Bucket.Key)
		to.Bucket, to.Account, to.Spent, to.Returned, to.Refunded = &buckets[i], r.Account, r.Spent, r.Returned, r.Refunded
		to.GrantSeen, to.EchoSeen, to.Close = r.GrantSeen, int64(r.EchoSeen), r.Close
		to.Demand, to.Want, to.Need = r.Ask.Demand, r.Ask.Want, r.Ask.Need
		to.FloorGrant, to.FloorReturned, to.FloorWindow = r.FloorGrant, r.FloorReturned, r.FloorWindow
		to.FloorSpent, to.Span = r.FloorSpent, int64(r.Span)
		out.Reports[i] = to
	}
	return out
}

// ToReportBatch decodes a ReportBatch.
func ToReportBatch(b *pb.ReportBatch) (lease.ReportBatch, error) {
	if b == nil {
		return lease.ReportBatch{}, invalid("reports", "is missing")
	}
	session, err := toSession(b.Session)
	if err != nil {
		return lease.ReportBatch{}, err
	}
	if err := natural(amount{"sent", b.Sent}, amount{"clock", b.Clock}, amount{"answered", b.Answered}); err != nil {
		return lease.ReportBatch{}, err
	}
	if err := count("reports", len(b.Reports), lease.MaxBatchReports); err != nil {
		return lease.ReportBatch{}, err
	}
	out := lease.ReportBatch{
		Session: session, Sent: time.Duration(b.Sent), Goodbye: b.Goodbye,
		Part: b.Part, Clock: time.Duration(b.Clock), Answered: time.Duration(b.Answered), Owes: b.Owes,
	}
	if err := toCuts(&out, b); err != nil {
		return lease.ReportBatch{}, err
	}
	if out.Floors, err = toFloorReturns(b.Floors); err != nil {
		return lease.ReportBatch{}, err
	}
	if len(b.Reports) == 0 {
		return out, nil
	}
	out.Reports = make([]lease.Report, len(b.Reports))
	for i, r := range b.Reports {
		if err := toReport(&out.Reports[i], r); err != nil {
			return lease.ReportBatch{}, within(err, "reports", i)
		}
	}
	return out, nil
}

func toFloorReturns(floors []*pb.FloorReturn) ([]lease.FloorReturn, error) {
	if err := count("floors", len(floors), maxFloors); err != nil || len(floors) == 0 {
		return nil, err
	}
	out := make([]lease.FloorReturn, len(floors))
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
		out[i] = lease.FloorReturn{Quota: f.Quota, Slot: f.Slot, Grant: f.Grant, Window: f.Window}
	}
	return out, nil
}

func toReport(to *lease.Report, r *pb.Report) (err error) {
	if r == nil {
		return invalid("report", "is missing")
	}
	if to.Bucket, err = toBucket(r.Bucket); err != nil {
		return err
	}
	if err := natural(
		amount{"spent", r.Spent}, amount{"returned", r.Returned}, amount{"refunded", r.Refunded},
		amount{"grant_seen", r.GrantSeen}, amount{"echo_seen", r.EchoSeen},
		amount{"demand", r.Demand}, amount{"want", r.Want}, amount{"need", r.Need},
		amount{"floor_returned", r.FloorReturned}, amount{"floor_spent", r.FloorSpent}, amount{"span", r.Span},
	); err != nil {
		return err
	}
	to.Account, to.Spent, to.Returned, to.Refunded = r.Account, r.Spent, r.Returned, r.Refunded
	to.GrantSeen, to.EchoSeen, to.Close = r.GrantSeen, time.Duration(r.EchoSeen), r.Close
	to.Ask = lease.Ask{Demand: r.Demand, Want: r.Want, Need: r.Need}
	to.FloorGrant, to.FloorReturned, to.FloorWindow = r.FloorGrant, r.FloorReturned, r.FloorWindow
	to.FloorSpent, to.Span = r.FloorSpent, time.Duration(r.Span)
	return nil
}
