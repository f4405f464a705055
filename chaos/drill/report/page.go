package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
)

// page is what the template of a report is given.
type page struct {
	R         *result.Result
	Title     string
	Outcome   string
	Closest   *bucketRow
	WorstName string // what to call the interval of Closest
	Buckets   []bucketRow
	Bar       boundBar
	Timeline  timeline
	AnyFailed bool
	PhaseRows []phaseRow
	TimeRows  []timeRow
	Latency   latencies
	Blast     blastRadius
	Raw, Size string
	RawCount  int64 // admissions in the result
	RawPart   bool  // there were more
}

// bucketRow is a bucket with what templates cannot compute.
type bucketRow struct {
	result.Overshoot
	Name     string
	Length   float64
	Margin64 int64 // 0 without a margin
}

func newBucketRow(name string, o *result.Overshoot) bucketRow {
	row := bucketRow{Overshoot: *o, Name: name, Length: o.Worst.ToSeconds - o.Worst.FromSeconds}
	row.Closest = verdict.Over(o)
	if o.Margin != nil {
		row.Margin64 = *o.Margin
	}
	return row
}

func newPage(r *result.Result) (*page, error) {
	var raw bytes.Buffer
	if err := r.Write(&raw); err != nil {
		return nil, err
	}
	p := &page{
		R: r, Title: fmt.Sprintf("%s · %s · Leasehold drill", r.Verdict.Outcome, r.Scenario.Name), Outcome: string(r.Verdict.Outcome),
		Timeline: newTimeline(r), PhaseRows: phaseRows(r), TimeRows: timeRows(r),
		Latency: newLatencies(r), Blast: newBlastRadius(r),
		Raw: strings.TrimSuffix(raw.String(), "\n"), Size: humanize.IBytes(uint64(raw.Len())),
	}
	for i, name := range r.BucketNames() {
		p.Buckets = append(p.Buckets, newBucketRow(name, &r.Overshoots[i]))
	}
	if i := closest(r); i >= 0 {
		o, row := &r.Overshoots[i], p.Buckets[i]
		p.Closest, p.Bar, p.WorstName = &row, newBoundBar("bound-alt", o), worstName(o)
	}
	p.RawCount, p.RawPart = int64(len(r.Raw.Admissions.Sent)), rawIsPart(r)
	for _, l := range p.Timeline.Lanes {
		p.AnyFailed = p.AnyFailed || l.Failed != l.Denied
	}
	return p, nil
}

// rawIsPart says that the result holds fewer tokens in its raw admissions than its
// timeline counts: a long run keeps but a part of them.
func rawIsPart(r *result.Result) bool {
	var counted, kept int64
	for _, l := range r.Timeline.Regions {
		for _, n := range l.Admitted {
			counted += n
		}
	}
	for _, n := range r.Raw.Admissions.Cost {
		kept += n
	}
	return kept < counted
}

// worstName is what to call the interval that decides about a bucket.
func worstName(o *result.Overshoot) string {
	if verdict.Over(o) > 0 {
		return "worst interval"
	}
	return "closest interval"
}
