package bucket_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/a1009580/leasehold/bucket"
)

func TestWIN01_OldCountDoesNotLeakIntoTheNextWindow(t *testing.T) {
	w := fixed(t, time.Minute)
	var c bucket.WindowCounter
	for range 4 {
		assert.True(t, c.Take(w, parse(t, "2026-03-01T10:00:58.7Z"), 5, 1).OK)
	}
	for range 5 {
		assert.True(t, c.Take(w, parse(t, "2026-03-01T10:01:00.1Z"), 5, 1).OK)
	}
	assert.False(t, c.Take(w, parse(t, "2026-03-01T10:01:59.9Z"), 5, 1).OK)
}

func TestWIN03_TrafficDoesNotExtendTheWindow(t *testing.T) {
	start := parse(t, "2026-03-01T10:00:07Z")
	for _, w := range []bucket.Windows{fixed(t, time.Minute), calendar(t, bucket.Minute, "Asia/Kathmandu", 0)} {
		var c bucket.WindowCounter
		for at := start; at.Before(start.Add(time.Hour)); at = at.Add(10 * time.Second) {
			assert.True(t, c.Take(w, at, 10, 1).OK, "%v", at)
		}
	}
}

func TestWIN07_CalendarWindowIsNotBornExpired(t *testing.T) {
	w := calendar(t, bucket.Hour, "Europe/Berlin", 0)
	at := parse(t, "2026-03-01T10:20:00Z")
	var c bucket.WindowCounter
	admitted := 0
	for range 10 {
		r := c.Take(w, at, 3, 1)
		if r.OK {
			admitted++
		}
		assert.True(t, parse(t, "2026-03-01T11:00:00Z").Equal(at.Add(r.Reset)), "%v", r.Reset)
		at = at.Add(5 * time.Millisecond)
	}
	assert.Equal(t, 3, admitted)
}

func TestCAL01_MonthsAnchoredOnTheLastDays(t *testing.T) {
	for _, c := range []struct {
		anchor int
		starts []string
	}{
		{31, []string{"2026-12-31", "2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"}},
		{31, []string{"2027-12-31", "2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30"}},
		{30, []string{"2028-01-30", "2028-02-29", "2028-03-30", "2028-04-30"}},
		{29, []string{"2026-12-29", "2027-01-29", "2027-02-28", "2027-03-29"}},
		{29, []string{"2028-01-29", "2028-02-29", "2028-03-29"}},
		{31, []string{"2100-01-31", "2100-02-28", "2100-03-31"}},
	} {
		w := calendar(t, bucket.Month, "UTC", c.anchor)
		for i, s := range c.starts[:len(c.starts)-1] {
			from, to := parse(t, s+"T00:00:00Z"), parse(t, c.starts[i+1]+"T00:00:00Z")
			for at := from; at.Before(to); at = at.AddDate(0, 0, 1) { // no day twice, none skipped
				start, end := w.Bounds(w.Index(at))
				assert.Equal(t, from, start, "anchor %d at %v", c.anchor, at)
				assert.Equal(t, to, end, "anchor %d at %v", c.anchor, at)
			}
		}
	}
}

func TestCAL03_WindowUsageAndResetAreOfOneMoment(t *testing.T) {
	w := calendar(t, bucket.Month, "America/New_York", 0)
	april := parse(t, "2026-04-01T04:00:00Z") // midnight there
	var c bucket.WindowCounter
	assert.True(t, c.Take(w, april.Add(-time.Hour), 5, 3).OK)

	r := c.Take(w, april.Add(-1), 5, 1)
	assert.EqualValues(t, 1, r.Remaining, "the usage of March")
	assert.Equal(t, time.Duration(1), r.Reset, "with the reset of March")
	r = c.Take(w, april, 5, 1)
	assert.EqualValues(t, 4, r.Remaining, "the usage of April")
	assert.True(t, parse(t, "2026-05-01T04:00:00Z").Equal(april.Add(r.Reset)), "with the reset of April")
}

func TestCLK01_WallTimeRunningBackOpensNoOldWindow(t *testing.T) {
	w, at := fixed(t, time.Minute), parse(t, "2026-03-01T10:01:00Z")
	var c bucket.WindowCounter
	assert.True(t, c.Take(w, at, 10, 10).OK)
	for range 1000 {
		r := c.Take(w, at.Add(-time.Second), 10, 1)
		assert.False(t, r.OK)
		assert.Equal(t, 61*time.Second, r.RetryAfter, "until the newest window ends, by the clock as it is")
		assert.False(t, c.Take(w, at, 10, 1).OK)
	}
	assert.Equal(t, w.Index(at), c.Index)
}

func TestCLK03_NoWindowRunsTwiceWhileTheWallClockJumps(t *testing.T) {
	w, start := fixed(t, time.Minute), parse(t, "2026-03-01T10:00:00Z")
	var c bucket.WindowCounter
	admitted := map[int64]int{}
	for step := range 100 {
		at := start.Add(time.Duration(step) * 3 * time.Second)
		if step%2 == 1 {
			at = at.Add(11 * time.Second)
		}
		for c.Take(w, at, 100, 1).OK {
			admitted[c.Index]++
		}
	}
	for index, n := range admitted {
		assert.LessOrEqual(t, n, 100, "window %d", index)
	}
	assert.Len(t, admitted, 6, "five minutes, and the one that the jump looked into")
}

func TestSkippedDateHasNoWindow(t *testing.T) {
	w := calendar(t, bucket.Day, "Pacific/Apia", 0)
	before := w.Index(parse(t, "2011-12-29T12:00:00-10:00"))
	after, _ := w.Bounds(w.Next(before))
	assert.Equal(t, "2011-12-31T00:00:00+14:00", after.Format(time.RFC3339))
}

func TestRepeatedHourIsTwoWindows(t *testing.T) {
	w := calendar(t, bucket.Hour, "Europe/Berlin", 0)
	var c bucket.WindowCounter
	assert.True(t, c.Take(w, parse(t, "2026-10-25T02:30:00+02:00"), 5, 5).OK)
	assert.True(t, c.Take(w, parse(t, "2026-10-25T02:30:00+01:00"), 5, 5).OK)
	assert.False(t, c.Take(w, parse(t, "2026-10-25T02:59:59+01:00"), 5, 1).OK)
}
