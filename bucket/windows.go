package bucket

import (
	"errors"
	"fmt"
	"time"
)

// ErrWindows is what the errors of FixedWindows, CalendarWindows and ParseUnit wrap.
var ErrWindows = errors.New("invalid windows")

// The wall time that windows are told apart in, in Unix seconds: the years 1 to 9999 in UTC, the range of
// RFC 3339. Times outside count as its first or last second.
const (
	firstSecond int64 = -62_135_596_800
	lastSecond  int64 = 253_402_300_799
)

// Windows divides wall time into numbered windows, without gap or overlap. Make one with FixedWindows or
// CalendarWindows. The zero Windows is a single window that never ends, so that a forgotten one admits too
// little and not too much.
//
// A window's index is the Unix time of its start in milliseconds. Indexes grow with time but are not
// consecutive: [Windows.Next] gives the one that follows. So indexes of different partitions can be compared, an
// index stays what it is when the rules of a zone change, and a local hour that runs twice is told apart.
//
// Windows is a comparable value. As == compares zones by pointer, load each zone once.
type Windows struct {
	length int64 // of fixed windows, in milliseconds
	unit   Unit  // of calendar windows
	anchor int   // day of the month that a Month starts on
	zone   *time.Location
}

// FixedWindows returns windows of one length, aligned to the Unix epoch. The length is a multiple of a
// millisecond, and not 0; else the error wraps ErrWindows.
func FixedWindows(length time.Duration) (Windows, error) {
	if length < time.Millisecond || length%time.Millisecond != 0 {
		return Windows{}, fmt.Errorf("%w: length %v: must be a multiple of 1ms, above 0", ErrWindows, length)
	}
	return Windows{length: length.Milliseconds()}, nil
}

// CalendarWindows returns the minutes, hours, days, weeks, months or years of a zone.
//
// Minutes and hours are those of the local clock, and a change of the zone's offset ends them: a local hour
// that is repeated is two windows, and where the clock moves by half an hour some window is half as long.
// Days and longer begin at the first moment whose local date is that of their start or later, and never
// again: days have 23 to 25 hours around a change of the clock, a midnight that is skipped or repeated moves
// or repeats no window, a date that is skipped altogether has none, and a date that is lived twice has one.
//
// anchorDay, from 1 to 31, is the day on which a month's window starts, 0 meaning 1; a month without that day
// starts on its last one, and the next month goes back to the anchor. For other units it is 0 or 1.
//
// The error wraps ErrWindows. The zone time.Local is refused, because it differs between machines.
func CalendarWindows(unit Unit, zone *time.Location, anchorDay int) (Windows, error) {
	switch {
	case !unit.valid():
		return Windows{}, fmt.Errorf("%w: unit %v: is none", ErrWindows, unit)
	case zone == nil:
		return Windows{}, fmt.Errorf("%w: zone: missing", ErrWindows)
	case zone == time.Local:
		return Windows{}, fmt.Errorf("%w: zone %v: must be named", ErrWindows, zone)
	case anchorDay < 0 || anchorDay > 31:
		return Windows{}, fmt.Errorf("%w: anchor day %d: must be from 1 to 31", ErrWindows, anchorDay)
	case anchorDay > 1 && unit != Month:
		return Windows{}, fmt.Errorf("%w: anchor day %d: a %v has none", ErrWindows, anchorDay, unit)
	}
	if s := stretchAt(zone, 0); s.offset <= -maxOffset || s.offset >= maxOffset {
		return Windows{}, fmt.Errorf("%w: zone %v: offset of %d s", ErrWindows, zone, s.offset)
	}
	return Windows{unit: unit, zone: zone, anchor: max(anchorDay, 1)}, nil
}

// Same says whether two partitions are the same windows. Unlike == it compares zones by their names.
func (w Windows) Same(o Windows) bool {
	return w.length == o.length && w.unit == o.unit && w.anchor == o.anchor && w.zone.String() == o.zone.String()
}

// Index returns the index of the window that contains wall. It never falls as wall grows, and rises with each
// window. It is part of the identity of whatever is counted in that window.
func (w Windows) Index(wall time.Time) int64 {
	start, _ := w.around(clampMilli(wall.Unix(), wall.UnixMilli()))
	return start
}

// Bounds returns the window with this index: start inclusive, end exclusive, in the zone of the calendar or
// in UTC. For a number that is no window's index, it returns the window that contains that moment.
func (w Windows) Bounds(index int64) (start, end time.Time) {
	from, to := w.around(clampMilli(floorDiv(index, 1000), index))
	zone := w.zone
	if zone == nil {
		zone = time.UTC
	}
	return time.UnixMilli(from).In(zone), time.UnixMilli(to).In(zone)
}

// Next returns the index of the window after the one with this index; for the last window, its end.
func (w Windows) Next(index int64) int64 {
	_, end := w.around(clampMilli(floorDiv(index, 1000), index))
	return end
}

// around returns the window that contains ms, as [start, end). All are Unix milliseconds.
func (w Windows) around(ms int64) (start, end int64) {
	switch {
	case w.unit != 0:
		start, end = w.calendar(floorDiv(ms, 1000))
		return start * 1000, end * 1000
	case w.length != 0:
		start = floorDiv(ms, w.length) * w.length
		return start, start + w.length
	default:
		return firstSecond * 1000, (lastSecond + 1) * 1000
	}
}

// clampMilli returns milli, or the end of the range if its second lies outside. The second comes apart because
// the milliseconds of a far away time.Time have wrapped.
func clampMilli(second, milli int64) int64 {
	switch {
	case second < firstSecond:
		return firstSecond * 1000
	case second > lastSecond:
		return lastSecond * 1000
	default:
		return milli
	}
}
