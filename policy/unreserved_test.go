package policy

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// Two quotas of one domain choose differently, and what they chose reaches the protocol.
func TestModesReachTheTerms(t *testing.T) {
	set := mustParse(t, head+`
  - {name: fallback, match: {}, limit: {tokens: 1000, per: 1s}, partition: {mode: local_fallback, rate: {tokens: 50, per: 1s}, burst: 100, for: 10m}, regions: {eu: {}}}
  - {name: floor, match: {}, limit: {tokens: 1000, per: 1s}, regions: {eu: {}}}
  - {name: free, match: {}, limit: {tokens: 1000, per: 1s}, partition: {mode: fail_open, ceiling: unbounded}}
  - {name: login, match: {}, limit: {tokens: 1000, per: 1s}, partition: {mode: fail_closed}}
  - {name: open, match: {}, limit: {tokens: 1000, per: 1s}, partition: {mode: fail_open, ceiling: {tokens: 7, per: 2s}}, regions: {eu: {}}}
  - {name: window, match: {}, limit: {tokens: 1000, per: 1h, algorithm: fixed_window}, partition: {mode: local_fallback, rate: {tokens: 1, per: 1s}, for: 1m}}
`)
	want := []lease.Unreserved{
		{Rate: bucket.Rate{Tokens: 50, Per: time.Second}, Burst: 100, For: 10 * time.Minute},
		{},
		{Unbounded: true},
		{},
		{Rate: bucket.Rate{Tokens: 7, Per: 2 * time.Second}, Burst: 4},
		{Rate: bucket.Rate{Tokens: 1, Per: time.Second}, Burst: 1, For: time.Minute},
	}
	for i, terms := range set.Terms() {
		equal(t, terms.Unreserved, want[i])
		equal(t, terms.Unreserved.Allows(), want[i] != lease.Unreserved{})
		equal(t, len(terms.Floors) > 0, strings.HasSuffix(terms.Quota, "floor"))
	}
	equal(t, set.Quota("api/fallback").Partition.Floor, Fraction{})
}

func TestDefaultBurstIsOneSecondOfTheRate(t *testing.T) {
	for _, c := range []struct {
		rate bucket.Rate
		want int64
	}{
		{bucket.Rate{Tokens: 50, Per: time.Second}, 50},
		{bucket.Rate{Tokens: 61, Per: time.Minute}, 2},
		{bucket.Rate{Tokens: 1, Per: maxPer}, 1},
		{bucket.Rate{Tokens: 5, Per: time.Millisecond}, 5000},
		{bucket.Rate{Tokens: bucket.MaxTokens, Per: time.Millisecond}, bucket.MaxTokens},
	} {
		equal(t, defaultBurst(c.rate), c.want)
	}
}

func TestPerCut(t *testing.T) {
	p := &Partition{Mode: LocalFallback, Rate: bucket.Rate{Tokens: 50, Per: time.Second}, Burst: 100, For: 10 * time.Minute}
	open := &Partition{Mode: FailOpen, Rate: p.Rate, Burst: 100}
	for _, c := range []struct {
		p    *Partition
		cut  time.Duration
		want int64
	}{
		{p, 10 * time.Minute, 100 + 30030},
		{p, time.Hour, 100 + 30030},
		{open, time.Hour, 100 + 180180},
		{p, 0, 100},
		{p, -time.Hour, 100},
		{p, 1, 101}, // rounded up
		{open, bucket.Forever, 100 + 461629770445},
		{&Partition{Mode: FailOpen, Rate: bucket.Rate{Tokens: bucket.MaxTokens, Per: 1}, Burst: 1}, time.Hour, math.MaxInt64},
		{&Partition{Mode: FailOpen, Unbounded: true}, 0, math.MaxInt64},
		{&Partition{Mode: FailOpen}, 0, math.MaxInt64}, // nothing means no bound only where no policy can lead
		{&Partition{Mode: LocalFloor, Rate: p.Rate, Burst: 5}, time.Hour, 0},
		{&Partition{}, time.Hour, 0},
	} {
		equal(t, c.p.PerCut(lease.DefaultDrift, c.cut), c.want)
	}
	equal(t, p.PerCut(0, time.Minute), 100+3000)
}

func TestPromise(t *testing.T) {
	bucketed := Limit{Tokens: 10, Per: time.Second, Burst: 5}
	equal(t, bucketed.Promise(lease.DefaultDrift, time.Minute), 5+601)
	equal(t, bucketed.Promise(lease.DefaultDrift, 0), 5)
	equal(t, Limit{Tokens: 10, Per: time.Second, Algorithm: FixedWindow}.Promise(lease.DefaultDrift, time.Minute), 10)
	equal(t, Limit{Unbounded: true}.Promise(lease.DefaultDrift, 0), math.MaxInt64)
	equal(t, Limit{Tokens: bucket.MaxTokens, Per: time.Millisecond, Burst: bucket.MaxTokens}.Promise(0, time.Hour), math.MaxInt64)
}

// The longest windows of the zones that change their clocks most, found by going through 18 years, are within
// what is said, and what is said is no more than 3 hours beyond.
func TestLongestWindow(t *testing.T) {
	from, to := time.Date(2008, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ unit, zone string }{
		{"minute", "UTC"},
		{"hour", "Australia/Lord_Howe"},
		{"day", "UTC"},
		{"day", "Antarctica/Casey"},
		{"day", "Antarctica/Troll"},
		{"day", "Asia/Magadan"},
		{"week", "Europe/Berlin"},
		{"month", "Antarctica/Casey"},
		{"month", "UTC"},
		{"year", "UTC"},
		{"year", "Antarctica/Casey"},
	} {
		q := one(t, "match: {}, limit: {tokens: 9, per: "+c.unit+", zone: "+c.zone+", algorithm: calendar_window}")
		w, longest := q.Windows(), time.Duration(0)
		for i, n := w.Index(from), 0; i < to.UnixMilli() && n < 7000; i, n = w.Next(i), n+1 {
			start, end := w.Bounds(i)
			longest = max(longest, end.Sub(start))
		}
		if said := q.Limit.LongestWindow(); longest > said || longest+clockChange < said {
			t.Errorf("%v: a window of %v, said %v", c, longest, said)
		}
	}
	equal(t, Limit{Per: time.Hour, Algorithm: FixedWindow}.LongestWindow(), time.Hour)
	equal(t, Limit{Per: time.Hour}.LongestWindow(), bucket.Forever)
	equal(t, Limit{Algorithm: CalendarWindow, Unit: bucket.Month, Zone: "UTC"}.LongestWindow(), 31*24*time.Hour)
	equal(t, Limit{Algorithm: CalendarWindow, Unit: bucket.Day, Zone: "Europe/Berlin"}.LongestWindow(), 27*time.Hour)
}
