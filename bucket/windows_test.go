package bucket_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/bucket"
)

func zone(t require.TestingT, name string) *time.Location {
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func fixed(t require.TestingT, length time.Duration) bucket.Windows {
	w, err := bucket.FixedWindows(length)
	require.NoError(t, err)
	return w
}

func calendar(t require.TestingT, unit bucket.Unit, zoneName string, anchorDay int) bucket.Windows {
	w, err := bucket.CalendarWindows(unit, zone(t, zoneName), anchorDay)
	require.NoError(t, err)
	return w
}

func parse(t require.TestingT, s string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, s)
	require.NoError(t, err)
	return at
}

func TestWindowsRefuseBadSettings(t *testing.T) {
	utc := time.UTC
	for _, length := range []time.Duration{math.MinInt64, -1, 0, 1, time.Millisecond - 1, 1_500_000} {
		_, err := bucket.FixedWindows(length)
		assert.ErrorIs(t, err, bucket.ErrWindows, "%v", length)
	}
	for _, c := range []struct {
		says   string
		unit   bucket.Unit
		zone   *time.Location
		anchor int
	}{
		{"unit Unit(0)", 0, utc, 0},
		{"unit Unit(7)", 7, utc, 0},
		{"zone: missing", bucket.Day, nil, 0},
		{"zone Local", bucket.Day, time.Local, 0},
		{"offset of 93600 s", bucket.Day, time.FixedZone("far", 26*60*60), 0},
		{"anchor day -1", bucket.Month, utc, -1},
		{"anchor day 32", bucket.Month, utc, 32},
		{"a week has none", bucket.Week, utc, 2},
	} {
		_, err := bucket.CalendarWindows(c.unit, c.zone, c.anchor)
		assert.ErrorIs(t, err, bucket.ErrWindows)
		assert.ErrorContains(t, err, c.says)
	}
}

func TestWindowsAreComparable(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	a, _ := bucket.CalendarWindows(bucket.Month, berlin, 0)
	b, _ := bucket.CalendarWindows(bucket.Month, berlin, 1)
	c, _ := bucket.CalendarWindows(bucket.Month, berlin, 2)
	seen := map[bucket.Windows]string{a: "first of the month", c: "second of the month"}
	assert.Equal(t, "first of the month", seen[b])
	assert.Len(t, seen, 2)
}

func TestZeroWindowsNeverReset(t *testing.T) {
	var w bucket.Windows
	assert.Equal(t, w.Index(parse(t, "1900-01-01T00:00:00Z")), w.Index(parse(t, "2100-01-01T00:00:00Z")))
	var c bucket.WindowCounter
	assert.True(t, c.Take(w, parse(t, "2026-01-01T00:00:00Z"), 1, 1).OK)
	assert.False(t, c.Take(w, parse(t, "2999-01-01T00:00:00Z"), 1, 1).OK)
}

func TestFixedWindowsTable(t *testing.T) {
	for _, c := range []struct {
		length         time.Duration
		at, start, end string
	}{
		{time.Minute, "2026-03-01T10:59:59.999999999Z", "2026-03-01T10:59:00Z", "2026-03-01T11:00:00Z"},
		{time.Minute, "2026-03-01T11:00:00Z", "2026-03-01T11:00:00Z", "2026-03-01T11:01:00Z"},
		{7 * time.Second, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:07Z"},
		{7 * time.Second, "1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:53Z", "1970-01-01T00:00:00Z"},
		{24 * time.Hour, "1969-12-30T00:00:00Z", "1969-12-30T00:00:00Z", "1969-12-31T00:00:00Z"},
		{time.Millisecond, "2026-03-01T00:00:00.0019Z", "2026-03-01T00:00:00.001Z", "2026-03-01T00:00:00.002Z"},
		{7 * 24 * time.Hour, "2026-03-01T00:00:00Z", "2026-02-26T00:00:00Z", "2026-03-05T00:00:00Z"}, // from a Thursday
	} {
		w := fixed(t, c.length)
		start, end := w.Bounds(w.Index(parse(t, c.at)))
		assert.Equal(t, parse(t, c.start), start, c.at)
		assert.Equal(t, parse(t, c.end), end, c.at)
	}
}

// someWindows draws windows of every kind.
func someWindows() *rapid.Generator[bucket.Windows] {
	return rapid.Custom(func(t *rapid.T) bucket.Windows {
		if rapid.Bool().Draw(t, "fixed") {
			ms := rapid.OneOf(rapid.Int64Range(1, 100_000), rapid.Int64Range(1, math.MaxInt64/1_000_000)).Draw(t, "ms")
			return fixed(t, time.Duration(ms)*time.Millisecond)
		}
		unit := bucket.Unit(rapid.IntRange(int(bucket.Minute), int(bucket.Year)).Draw(t, "unit"))
		anchor := 0
		if unit == bucket.Month {
			anchor = rapid.IntRange(0, 31).Draw(t, "anchor")
		}
		return calendar(t, unit, rapid.SampledFrom(oddZones).Draw(t, "zone"), anchor)
	})
}

// oddZones have changed their clocks in about every way there is.
var oddZones = []string{
	"UTC", "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Sao_Paulo",
	"America/Havana", "America/Juneau", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein", "Asia/Manila",
	"Asia/Kathmandu", "Asia/Pyongyang", "Africa/Monrovia", "Africa/Cairo", "Africa/Casablanca", "Antarctica/Troll",
	"Asia/Gaza", "America/Caracas", "Pacific/Kiritimati",
}

func moments() *rapid.Generator[time.Time] {
	second := rapid.OneOf(
		rapid.Int64Range(0, 2_000_000_000),
		rapid.Int64Range(-5_000_000_000, 5_000_000_000),
		rapid.Int64Range(-62_135_596_800, 253_402_300_799),
	)
	return rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(second.Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
	})
}

func TestWindowsTileTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, at := someWindows().Draw(t, "windows"), moments().Draw(t, "at")
		index := w.Index(at)
		start, end := w.Bounds(index)
		assert.Equal(t, index, start.UnixMilli(), "the index is the start")
		assert.False(t, at.Before(start), "%v starts after %v", start, at)
		assert.True(t, at.Before(end), "%v ends before %v", end, at)
		if end.Year() > 9999 || start.Year() < 1 {
			return
		}
		assert.Equal(t, index, w.Index(start))
		assert.Equal(t, index, w.Index(end.Add(-1)))
		assert.Equal(t, w.Next(index), w.Index(end), "a gap or an overlap after it")
		assert.Less(t, index, w.Index(end))
		inside := rapid.Int64Range(index, w.Next(index)-1).Draw(t, "inside")
		again, _ := w.Bounds(inside)
		assert.Equal(t, start, again, "any moment stands for its window")
		if start.Year() > 1 {
			before := w.Index(start.Add(-1))
			assert.Less(t, before, index)
			assert.Equal(t, index, w.Next(before))
		}
	})
}

func TestIndexNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, a, b := someWindows().Draw(t, "windows"), moments().Draw(t, "a"), moments().Draw(t, "b")
		if a.After(b) {
			a, b = b, a
		}
		assert.LessOrEqual(t, w.Index(a), w.Index(b))
	})
}

func TestIndexDoesNotDependOnTheZoneOfTheArgument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, at := someWindows().Draw(t, "windows"), moments().Draw(t, "at")
		assert.Equal(t, w.Index(at.UTC()), w.Index(at.In(zone(t, "Pacific/Apia"))))
	})
}

func TestFarAwayTimesCountAsTheEnds(t *testing.T) {
	kinds := []bucket.Windows{fixed(t, time.Millisecond), fixed(t, time.Hour), fixed(t, math.MaxInt64/1_000_000*1_000_000)}
	for unit := bucket.Minute; unit <= bucket.Year; unit++ {
		kinds = append(kinds, calendar(t, unit, "Australia/Lord_Howe", 0))
	}
	first, last := parse(t, "0001-01-01T00:00:00Z"), parse(t, "9999-12-31T23:59:59Z")
	for _, w := range kinds {
		for _, past := range []time.Time{{}, time.Unix(math.MinInt64, 0), time.Unix(-1<<62, 0), first.Add(-1)} {
			assert.Equal(t, w.Index(first), w.Index(past))
		}
		for _, future := range []time.Time{time.Unix(math.MaxInt64, 0), time.Unix(1<<62, 0), last.Add(time.Second)} {
			assert.Equal(t, w.Index(last), w.Index(future))
		}
		for _, index := range []int64{math.MinInt64, math.MaxInt64} {
			start, end := w.Bounds(index)
			assert.True(t, start.Before(end))
			w.Next(index)
		}
	}
}

func TestSameComparesZonesByName(t *testing.T) {
	a, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	b, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	x, err := bucket.CalendarWindows(bucket.Day, a, 0)
	require.NoError(t, err)
	y, err := bucket.CalendarWindows(bucket.Day, b, 0)
	require.NoError(t, err)
	require.True(t, x.Same(y))
	week, err := bucket.CalendarWindows(bucket.Week, a, 0)
	require.NoError(t, err)
	require.False(t, x.Same(week))
	fixed, err := bucket.FixedWindows(time.Hour)
	require.NoError(t, err)
	require.False(t, x.Same(fixed))
	require.True(t, bucket.Windows{}.Same(bucket.Windows{}))
}
