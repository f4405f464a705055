package bucket

import (
	"math"
	"time"
)

// In this file, moments are Unix seconds, a day is a count of days since 1970-01-01 without regard to zones,
// and local seconds are moment + offset.

const secondsOfDay int64 = 24 * 60 * 60

// maxOffset is above every offset from UTC. A zone file states offsets above -25 and below +26 hours (RFC
// 9636, local time type records); the largest in use, past ones included, is under 16.
const maxOffset int64 = 26 * 60 * 60

// stretch is a time [from, to) in which a zone keeps its offset. The neighbors may have the same one.
type stretch struct {
	offset   int64
	from, to int64
}

// stretchAt returns a stretch that contains the moment. ZoneBounds alone does not promise this: where a zone goes on
// by rule, Go 1.26 ends each year after 365 days (golang/go#81583), so on 31 December of a leap year the end it
// states is past. Such a year really ends, its offset unchanged, at the next midnight in UTC.
func stretchAt(zone *time.Location, moment int64) stretch {
	t := time.Unix(moment, 0).In(zone)
	_, offset := t.Zone()
	s := stretch{offset: int64(offset), from: math.MinInt64, to: math.MaxInt64}
	from, to := t.ZoneBounds()
	if !from.IsZero() {
		s.from = from.Unix()
	}
	if !to.IsZero() {
		s.to = to.Unix()
	}
	if s.to <= moment {
		s.to = (floorDiv(moment, secondsOfDay) + 1) * secondsOfDay
	}
	s.from = min(s.from, moment) // for the same reason, should a start be wrong: searches then still end
	return s
}

// calendar returns the window [start, end) around a moment.
func (w Windows) calendar(moment int64) (start, end int64) {
	switch w.unit {
	case Minute:
		return w.byClock(moment, 60)
	case Hour:
		return w.byClock(moment, 60*60)
	default:
		return w.byDate(moment)
	}
}

// byClock cuts the local clock into sizes, and ends them where the offset changes. A change of the rules that
// leaves the offset alone ends nothing: St. John's renamed its time at 20:30 on 14 August 1945.
func (w Windows) byClock(moment, size int64) (start, end int64) {
	s := stretchAt(w.zone, moment)
	local := moment + s.offset
	start = floorDiv(local, size)*size - s.offset
	end = start + size
	for start < s.from {
		before := stretchAt(w.zone, s.from-1)
		if before.offset != s.offset {
			start = s.from
			break
		}
		s.from = before.from
	}
	for end > s.to {
		after := stretchAt(w.zone, s.to)
		if after.offset != s.offset {
			end = s.to
			break
		}
		s.to = after.to
	}
	return start, end
}

// byDate finds the period of the local date. The clock may have been put back over the start of the next
// period: that one has begun all the same, and does not end again.
func (w Windows) byDate(moment int64) (start, end int64) {
	local := moment + stretchAt(w.zone, moment).offset
	first := w.first(floorDiv(local, secondsOfDay))
	next := w.next(first)
	end = w.dawn(next)
	for end <= moment {
		first, next = next, w.next(next)
		end = w.dawn(next)
	}
	return w.dawn(first), end
}

// dawn returns the first moment whose local date is day or later.
func (w Windows) dawn(day int64) int64 {
	midnight := day * secondsOfDay
	for moment := midnight - maxOffset; ; {
		s := stretchAt(w.zone, moment)
		at := max(moment, midnight-s.offset)
		if at < s.to {
			return at
		}
		moment = s.to
	}
}

// first returns the first day of the period that day is in.
func (w Windows) first(day int64) int64 {
	switch w.unit {
	case Week:
		return floorDiv(day+3, 7)*7 - 3 // day 0 was a Thursday, three days after a Monday
	case Month:
		y, m, _ := civil(day)
		if start := w.anchored(y, m); start <= day {
			return start
		}
		return w.anchored(y, m-1)
	case Year:
		y, _, _ := civil(day)
		return firstOf(y, time.January)
	default:
		return day
	}
}

// next returns the first day of the period after the one that starts on day first.
func (w Windows) next(first int64) int64 {
	switch w.unit {
	case Week:
		return first + 7
	case Month:
		y, m, _ := civil(first)
		return w.anchored(y, m+1)
	case Year:
		y, _, _ := civil(first)
		return firstOf(y+1, time.January)
	default:
		return first + 1
	}
}

// anchored returns the day that a month's window starts on: the anchor, or the last day of a shorter month.
func (w Windows) anchored(y int, m time.Month) int64 {
	return min(firstOf(y, m)+int64(w.anchor)-1, firstOf(y, m+1)-1)
}

// civil returns the date of a day.
func civil(day int64) (int, time.Month, int) {
	return time.Unix(day*secondsOfDay, 0).UTC().Date()
}

// firstOf returns the first day of a month; month 0 is December before, 13 January after.
func firstOf(y int, m time.Month) int64 {
	return floorDiv(time.Date(y, m, 1, 0, 0, 0, 0, time.UTC).Unix(), secondsOfDay)
}
