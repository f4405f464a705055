package lab

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// traceHeader is the first line of a trace.
var traceHeader = []string{"time_ms", "region", "key", "cost"}

// ReadTrace reads a trace of real traffic: CSV with the header
// time_ms,region,key,cost, one request a line in the order of time. All keys are
// taken together as one bucket, and regions are numbered in the order of their
// names. Where nobody asks for longer than longestGap, so much of the time is left out;
// cut is how much that is in all.
//
// Errors name the file and the line.
func ReadTrace(name string, r io.Reader) (t Trace, cut time.Duration, err error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord, in.ReuseRecord = len(traceHeader), true
	fail := func(err error) (Trace, time.Duration, error) {
		line, _ := in.FieldPos(0)
		return Trace{}, 0, fmt.Errorf("%s:%d: %w", name, line, err)
	}
	header, err := in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return Trace{}, 0, fmt.Errorf("%s: the file is empty", name)
	case err != nil:
		return Trace{}, 0, fmt.Errorf("%s: %w", name, err)
	case !slices.Equal(header, traceHeader):
		return fail(fmt.Errorf("the header is %q, want %q", header, traceHeader))
	}
	var regions []string
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Trace{}, 0, fmt.Errorf("%s: %w", name, err)
		}
		q, err := parseRow(row, &regions)
		if err != nil {
			return fail(err)
		}
		if n := len(t.Requests); n > 0 && q.At < t.Requests[n-1].At {
			return fail(fmt.Errorf("time_ms %q is before the line above", row[0]))
		}
		t.Requests = append(t.Requests, q)
	}
	if len(t.Requests) == 0 {
		return Trace{}, 0, fmt.Errorf("%s: no requests", name)
	}
	cut = t.fit(regions)
	return t, cut, nil
}

// parseRow reads one request; its region is an index into regions.
func parseRow(row []string, regions *[]string) (Request, error) {
	ms, err := strconv.ParseInt(row[0], 10, 64)
	if err != nil || ms < 0 || ms > int64(100*365*24*time.Hour/time.Millisecond) {
		return Request{}, fmt.Errorf("time_ms is %q, want a whole number from 0 to 100 years", row[0])
	}
	if row[1] == "" {
		return Request{}, errors.New("region is empty")
	}
	cost, err := strconv.ParseInt(row[3], 10, 64)
	if err != nil || cost < 1 || cost > 1<<53 {
		return Request{}, fmt.Errorf("cost is %q, want a whole number from 1 to 2^53", row[3])
	}
	i := slices.Index(*regions, row[1])
	if i < 0 {
		i = len(*regions)
		*regions = append(*regions, row[1]) // a copy: strings of a record are the caller's
	}
	return Request{At: time.Duration(ms) * time.Millisecond, Region: i, Cost: cost}, nil
}

// longestGap is how long a trace may be silent: longer than leases and all that is
// remembered of a bucket that nobody uses.
const longestGap = 30 * time.Second

// fit numbers the regions by name, moves the requests behind Lead, and shortens
// the gaps. It returns how much time it left out.
func (t *Trace) fit(regions []string) (cut time.Duration) {
	sorted := slices.Sorted(slices.Values(regions))
	t.K = len(sorted)
	last := t.Requests[0].At
	at := Lead
	for i := range t.Requests {
		q := &t.Requests[i]
		q.Region, _ = slices.BinarySearch(sorted, regions[q.Region])
		gap := q.At - last
		last = q.At
		at += min(gap, longestGap)
		cut += max(0, gap-longestGap)
		q.At = at
	}
	t.End = at + time.Second
	return cut
}

// limit is a limit that the trace just about reaches: its mean rate, with a
// burst of ten seconds or of four of the largest requests.
func (t *Trace) limit() Limit {
	var sum, largest int64
	for i := range t.Requests {
		sum += t.Requests[i].Cost
		largest = max(largest, t.Requests[i].Cost)
	}
	rate := max(1, int64(float64(sum)/(t.End-Lead).Seconds()))
	return Limit{Rate: rate, Burst: max(10*rate, 4*largest)}
}
