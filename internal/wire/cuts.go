package wire

import (
	"time"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/lease"
)

// fromCuts encodes what a batch tells of the times when its holder was cut off.
func fromCuts(out *pb.ReportBatch, b lease.ReportBatch) {
	for _, c := range b.Cuts {
		out.Cuts = append(out.Cuts, &pb.CutReport{Number: c.Number, Count: c.Count, Length: int64(c.Length), Closed: c.Closed})
	}
	for i := range b.Overspent {
		o := &b.Overspent[i]
		out.Overspent = append(out.Overspent, &pb.Overspend{
			Bucket: &pb.BucketId{Quota: o.Bucket.Quota, Key: []byte(o.Bucket.Key)},
			Cut:    o.Cut, Window: o.Window, Tokens: o.Tokens, Span: int64(o.Span),
		})
	}
}

func toCuts(out *lease.ReportBatch, b *pb.ReportBatch) error {
	if err := count("cuts", len(b.Cuts), lease.MaxBatchReports); err != nil {
		return err
	}
	if err := count("overspent", len(b.Overspent), lease.MaxBatchReports); err != nil {
		return err
	}
	for i, c := range b.Cuts {
		switch {
		case c == nil:
			return within(invalid("cut", "is missing"), "cuts", i)
		case c.Number == 0:
			return within(invalid("number", "is 0"), "cuts", i)
		}
		if err := natural(amount{"count", c.Count}, amount{"length", c.Length}); err != nil {
			return within(err, "cuts", i)
		}
		out.Cuts = append(out.Cuts, lease.CutReport{Number: c.Number, Count: c.Count, Length: time.Duration(c.Length), Closed: c.Closed})
	}
	for i, o := range b.Overspent {
		overspend, err := toOverspend(o)
		if err != nil {
			return within(err, "overspent", i)
		}
		out.Overspent = append(out.Overspent, overspend)
	}
	return nil
}

func toOverspend(o *pb.Overspend) (lease.Overspend, error) {
	if o == nil {
		return lease.Overspend{}, invalid("overspend", "is missing")
	}
	bucket, err := toBucket(o.Bucket)
	if err != nil {
		return lease.Overspend{}, err
	}
	if err := natural(amount{"tokens", o.Tokens}, amount{"span", o.Span}); err != nil {
		return lease.Overspend{}, err
	}
	return lease.Overspend{Bucket: bucket, Cut: o.Cut, Window: o.Window, Tokens: o.Tokens, Span: time.Duration(o.Span)}, nil
}
