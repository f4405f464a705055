package wire

import (
	"github.com/a1009580/leasehold/lease"
)

// splitBytes is how large the parts of a split batch may get by a bound of
// their encoding: well below MaxMessageBytes.
const splitBytes = 3 << 20

// overBytes is how much of what was spent unreserved goes with a part of reports.
const overBytes = 512 << 10

// partBytes bounds the encoding of one part of a batch beside its names: up to
// sixteen numbers of at most eleven bytes each, and the frames around them.
const partBytes = 192

// SplitReports divides a batch that is too long for one message. The parts are
// sent in order; they share their time of sending, and so their echo. The first
// holds what was spent unreserved, alone if that is much: its echo says that it
// arrived. Only a goodbye, which nothing follows, may have so much of it that
// several parts do.
func SplitReports(b lease.ReportBatch) []lease.ReportBatch {
	var over int
	overSize := func(i int) int {
		return partBytes + len(b.Overspent[i].Bucket.Quota) + len(b.Overspent[i].Bucket.Key)
	}
	for i := range b.Overspent {
		over += overSize(i)
	}
	size := func(i int) int { return partBytes + len(b.Reports[i].Bucket.Quota) + len(b.Reports[i].Bucket.Key) }
	var parts []lease.ReportBatch
	if over > overBytes {
		for from, to := range pieces(len(b.Overspent), lease.MaxBatchReports, overSize) {
			part := b
			part.Reports, part.Overspent, part.Goodbye, part.Floors = nil, b.Overspent[from:to], false, nil
			parts = append(parts, part)
		}
	}
	alone := len(parts) > 0
	for from, to := range pieces(len(b.Reports), lease.MaxBatchReports, size) {
		part := b
		part.Reports, part.Goodbye, part.Floors = b.Reports[from:to], false, nil
		if alone || from > 0 {
			part.Overspent = nil
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return []lease.ReportBatch{b}
	}
	for i := 1; i < len(parts); i++ {
		parts[i].Part, parts[i].Cuts = uint32(i), nil
	}
	parts[len(parts)-1].Goodbye, parts[len(parts)-1].Floors = b.Goodbye, b.Floors
	return parts
}

// SplitGrants divides a batch that is too long for one message. The parts are
// sent in order; grants are absolute, so that each part stands by itself.
func SplitGrants(b lease.GrantBatch) []lease.GrantBatch {
	grants, recalls := len(b.Grants), len(b.Recalls)
	size := func(i int) int {
		switch {
		case i < grants:
			return partBytes + len(b.Grants[i].Bucket.Quota) + len(b.Grants[i].Bucket.Key)
		case i < grants+recalls:
			r := &b.Recalls[i-grants]
			return partBytes + len(r.Bucket.Quota) + len(r.Bucket.Key)
		default:
			return partBytes + len(b.Floors[i-grants-recalls].Quota)
		}
	}
	clip := func(i, before, n int) int { return min(max(i-before, 0), n) }
	var parts []lease.GrantBatch
	for from, to := range pieces(grants+recalls+len(b.Floors), 0, size) {
		part := b
		part.Grants = b.Grants[clip(from, 0, grants):clip(to, 0, grants)]
		part.Recalls = b.Recalls[clip(from, grants, recalls):clip(to, grants, recalls)]
		part.Floors = b.Floors[clip(from, grants+recalls, len(b.Floors)):clip(to, grants+recalls, len(b.Floors))]
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return []lease.GrantBatch{b}
	}
	return parts
}

// pieces yields consecutive ranges of n entries that each keep below splitBytes
// and hold at most so many entries; most 0 is no bound of their number.
func pieces(n, most int, size func(int) int) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		from, bytes := 0, 0
		for i := range n {
			s := size(i)
			if i > from && (bytes+s > splitBytes || i-from == most) {
				if !yield(from, i) {
					return
				}
				from, bytes = i, 0
			}
			bytes += s
		}
		if from < n {
			yield(from, n)
		}
	}
}
