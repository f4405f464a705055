package bucket_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/a1009580/leasehold/bucket"
)

// Worked out by hand from the tz database and a printed calendar.
func TestCalendarTable(t *testing.T) {
	for _, c := range []struct {
		name           string
		unit           bucket.Unit
		zone           string
		anchor         int
		at, start, end string
	}{
		{"a minute", bucket.Minute, "UTC", 0, "2026-03-01T10:11:12Z", "2026-03-01T10:11:00Z", "2026-03-01T10:12:00Z"},
		{"an hour off the full hour of UTC", bucket.Hour, "Asia/Kathmandu", 0, "2026-03-01T10:14:59+05:45", "2026-03-01T10:00:00+05:45", "2026-03-01T11:00:00+05:45"},
		{"a day by its zone", bucket.Day, "Asia/Tokyo", 0, "2026-03-01T23:00:00Z", "2026-03-02T00:00:00+09:00", "2026-03-03T00:00:00+09:00"},
		{"a day before 1970", bucket.Day, "UTC", 0, "1969-12-31T23:59:59Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"the leap day", bucket.Day, "UTC", 0, "2028-02-29T12:00:00Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"},
		{"a week starts on Monday", bucket.Week, "UTC", 0, "2026-03-01T12:00:00Z", "2026-02-23T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"a week over the new year", bucket.Week, "UTC", 0, "2027-01-01T00:00:00Z", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},
		{"a week before 1970", bucket.Week, "UTC", 0, "1969-12-28T23:59:59Z", "1969-12-22T00:00:00Z", "1969-12-29T00:00:00Z"},
		{"a month", bucket.Month, "UTC", 0, "2026-02-28T23:59:59Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"},
		{"a month anchored on its first day", bucket.Month, "UTC", 1, "2026-02-28T23:59:59Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"},
		{"a month around the new year", bucket.Month, "UTC", 15, "2027-01-03T00:00:00Z", "2026-12-15T00:00:00Z", "2027-01-15T00:00:00Z"},
		{"a month with a change of the clock", bucket.Month, "Europe/Berlin", 0, "2026-03-31T22:30:00Z", "2026-04-01T00:00:00+02:00", "2026-05-01T00:00:00+02:00"},
		{"a year by its zone", bucket.Year, "America/New_York", 0, "2027-01-01T04:59:59Z", "2026-01-01T00:00:00-05:00", "2027-01-01T00:00:00-05:00"},
		{"a day of 23 hours", bucket.Day, "Europe/Berlin", 0, "2026-03-29T12:00:00+02:00", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"a day of 25 hours", bucket.Day, "Europe/Berlin", 0, "2026-10-25T12:00:00+01:00", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"the hour before the skipped one", bucket.Hour, "Europe/Berlin", 0, "2026-03-29T01:30:00+01:00", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"},
		{"an hour the first time", bucket.Hour, "Europe/Berlin", 0, "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+02:00"},
		{"the same hour again", bucket.Hour, "Europe/Berlin", 0, "2026-10-25T02:30:00+01:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"},
		{"half an hour skipped", bucket.Hour, "Australia/Lord_Howe", 0, "2026-10-04T02:40:00+11:00", "2026-10-04T02:30:00+11:00", "2026-10-04T03:00:00+11:00"},
		{"half an hour repeated", bucket.Hour, "Australia/Lord_Howe", 0, "2026-04-05T01:40:00+10:30", "2026-04-05T01:30:00+10:30", "2026-04-05T02:00:00+10:30"},
		{"the hour it repeats", bucket.Hour, "Australia/Lord_Howe", 0, "2026-04-05T01:40:00+11:00", "2026-04-05T01:00:00+11:00", "2026-04-05T02:00:00+11:00"},
		{"a day of 24 hours and a half", bucket.Day, "Australia/Lord_Howe", 0, "2026-04-05T12:00:00+10:30", "2026-04-05T00:00:00+11:00", "2026-04-06T00:00:00+10:30"},
		{"the day before the skipped date", bucket.Day, "Pacific/Apia", 0, "2011-12-29T12:00:00-10:00", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{"the day after the skipped date", bucket.Day, "Pacific/Apia", 0, "2011-12-31T00:00:00+14:00", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"},
		{"a month anchored on the skipped date", bucket.Month, "Pacific/Apia", 30, "2011-12-29T12:00:00-10:00", "2011-11-30T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{"a midnight that was skipped", bucket.Day, "America/Sao_Paulo", 0, "2018-11-04T12:00:00-02:00", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{"an hour before midnight repeated", bucket.Day, "America/Sao_Paulo", 0, "2018-02-17T23:30:00-03:00", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00"},
		{"put back over midnight: the new day has begun", bucket.Day, "America/St_Johns", 0, "2010-11-06T23:30:00-03:30", "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30"},
		{"a minute past midnight, before it is put back", bucket.Hour, "America/St_Johns", 0, "2010-11-07T00:00:30-02:30", "2010-11-07T00:00:00-02:30", "2010-11-07T00:01:00-02:30"},
		{"new rules, same offset: the hour goes on", bucket.Hour, "America/St_Johns", 0, "1945-08-14T20:45:00-02:30", "1945-08-14T20:00:00-02:30", "1945-08-14T21:00:00-02:30"},
		{"new rules, same offset: seen from before", bucket.Hour, "America/St_Johns", 0, "1945-08-14T20:15:00-02:30", "1945-08-14T20:00:00-02:30", "1945-08-14T21:00:00-02:30"},
		{"a clock put back by seconds", bucket.Minute, "America/New_York", 0, "1883-11-18T17:00:00Z", "1883-11-18T17:00:00Z", "1883-11-18T17:01:00Z"},
		{"local mean time, minutes off those of UTC", bucket.Minute, "America/New_York", 0, "1883-11-18T16:59:59Z", "1883-11-18T16:59:02Z", "1883-11-18T17:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := calendar(t, c.unit, c.zone, c.anchor)
			start, end := w.Bounds(w.Index(parse(t, c.at)))
			assert.True(t, parse(t, c.start).Equal(start), "start %v", start)
			assert.True(t, parse(t, c.end).Equal(end), "end %v", end)
			assert.Equal(t, c.zone, start.Location().String())
		})
	}
}

// The zone rules of Go 1.26 lose the last day of leap years; a search that trusts them never ends.
func TestLastDayOfLeapYears(t *testing.T) {
	for _, name := range oddZones {
		for _, unit := range []bucket.Unit{bucket.Minute, bucket.Hour, bucket.Day, bucket.Week, bucket.Month, bucket.Year} {
			w := calendar(t, unit, name, 0)
			for year := 2028; year <= 2100; year += 4 {
				at := time.Date(year, 12, 31, 12, 0, 30, 0, zone(t, name))
				start, end := w.Bounds(w.Index(at))
				assert.False(t, at.Before(start), "%v of %s", unit, name)
				assert.True(t, at.Before(end), "%v of %s", unit, name)
				if unit == bucket.Day {
					assert.Equal(t, time.Date(year+1, 1, 1, 0, 0, 0, 0, zone(t, name)).Unix(), end.Unix(), name)
				}
			}
		}
	}
}

// walker finds windows by looking at the local calendar minute after minute, as a person would.
type walker struct {
	unit   bucket.Unit
	anchor int
	newest int
	offset int
}

// label is a number that grows with the local period; only the walker knows it.
func (k *walker) label(local time.Time) int {
	y, m, d := local.Date()
	switch k.unit {
	case bucket.Day, bucket.Week:
		day := 0
		for year := 1940; year < y; year++ {
			day += time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
		}
		day += local.YearDay()
		if k.unit == bucket.Week { // 1940-01-01, day 1, was a Monday
			return (day + 6) / 7
		}
		return day
	case bucket.Month:
		last := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
		begun := d >= k.anchor || d == last
		if begun {
			return y*12 + int(m)
		}
		return y*12 + int(m) - 1
	default:
		return y
	}
}

// step looks at a minute and tells whether a window starts with it.
func (k *walker) step(local time.Time) bool {
	_, offset := local.Zone()
	var starts bool
	switch k.unit {
	case bucket.Minute:
		starts = true
	case bucket.Hour:
		starts = local.Minute() == 0 || offset != k.offset
	default:
		label := k.label(local)
		starts = label > k.newest
		k.newest = max(k.newest, label)
	}
	k.offset = offset
	return starts
}

// Around each odd change of a clock, every minute is in the window that a walk along the calendar finds.
func TestCalendarAgainstAWalk(t *testing.T) {
	for _, c := range []struct{ zone, around string }{
		{"Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-10-25T01:00:00Z"},
		{"America/New_York", "2026-11-01T06:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},
		{"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z"},
		{"Pacific/Kwajalein", "1993-08-21T12:00:00Z"},
		{"America/St_Johns", "2010-11-07T02:31:00Z"},
		{"America/St_Johns", "1945-08-14T23:00:00Z"},
		{"America/Sao_Paulo", "2018-02-18T02:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T03:00:00Z"},
		{"America/Havana", "2025-11-02T05:00:00Z"},
		{"Asia/Pyongyang", "2018-05-04T15:00:00Z"},
		{"America/Caracas", "2016-05-01T07:00:00Z"},
		{"Antarctica/Troll", "2026-10-25T01:00:00Z"},
		{"Africa/Casablanca", "2026-02-15T02:00:00Z"},
		{"Asia/Gaza", "2011-08-01T21:00:00Z"},
		{"Africa/Cairo", "2010-09-30T21:00:00Z"},
		{"America/New_York", "2028-12-31T12:00:00Z"},
		{"Australia/Lord_Howe", "2048-12-31T12:00:00Z"},
		{"UTC", "2028-02-29T00:00:00Z"},
		{"UTC", "1970-01-01T00:00:00Z"},
	} {
		for unit := bucket.Minute; unit <= bucket.Year; unit++ {
			anchors := []int{1}
			if unit == bucket.Month {
				day := parse(t, c.around).In(zone(t, c.zone)).Day()
				anchors = []int{1, 15, 29, 30, 31, day, max(day-1, 1)}
			}
			for _, anchor := range anchors {
				walk(t, c.zone, parse(t, c.around), unit, anchor)
			}
		}
	}
}

func walk(t *testing.T, zoneName string, around time.Time, unit bucket.Unit, anchor int) {
	t.Helper()
	z, w := zone(t, zoneName), calendar(t, unit, zoneName, anchor)
	at := around.Add(-30 * time.Hour)
	k := walker{unit: unit, anchor: anchor}
	k.step(at.In(z))
	_, k.offset = at.Add(-time.Minute).In(z).Zone()
	index, end := w.Index(at), w.Next(w.Index(at))
	for at = at.Add(time.Minute); at.Before(around.Add(30 * time.Hour)); at = at.Add(time.Minute) {
		local := at.In(z)
		starts, got := k.step(local), w.Index(at)
		if starts {
			if end != at.UnixMilli() {
				assert.Fail(t, "wrong end", "%v of %s should end at %v", unit, zoneName, local)
				return
			}
			index, end = at.UnixMilli(), w.Next(got)
		}
		if got != index {
			assert.Fail(t, "wrong window", "%v of %s, anchor %d, at %v", unit, zoneName, anchor, local)
			return
		}
	}
}

// A century of days, month by month and in a row: each day belongs to exactly one window.
func TestCalendarAgainstACenturyOfDays(t *testing.T) {
	for _, anchor := range []int{1, 28, 29, 30, 31} {
		for _, unit := range []bucket.Unit{bucket.Day, bucket.Week, bucket.Month, bucket.Year} {
			if unit != bucket.Month && anchor != 1 {
				continue
			}
			w := calendar(t, unit, "UTC", anchor)
			k := walker{unit: unit, anchor: anchor}
			at := time.Date(1950, 1, 1, 12, 0, 0, 0, time.UTC)
			k.step(at)
			for last := w.Index(at); at.Year() < 2050; last = w.Index(at) {
				at = at.AddDate(0, 0, 1)
				if starts := k.step(at); starts != (w.Index(at) != last) {
					assert.Fail(t, "wrong window", "%v, anchor %d, at %v", unit, anchor, at)
					return
				}
			}
		}
	}
}
