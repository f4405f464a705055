package bucket

import "fmt"

// Unit is a unit of the calendar. The zero Unit is none.
type Unit uint8

// The units of the calendar. A Week starts on Monday (ISO 8601).
const (
	Minute Unit = iota + 1
	Hour
	Day
	Week
	Month
	Year
)

// ParseUnit reads a unit by its name: minute, hour, day, week, month or year, in lower case. An unknown name
// gives an error that wraps ErrWindows.
func ParseUnit(name string) (Unit, error) {
	for u := Minute; u.valid(); u++ {
		if u.String() == name {
			return u, nil
		}
	}
	return 0, fmt.Errorf("%w: unit %q: must be minute, hour, day, week, month or year", ErrWindows, name)
}

// String returns the name that ParseUnit reads, or Unit(n) for a value that is none.
func (u Unit) String() string {
	switch u {
	case Minute:
		return "minute"
	case Hour:
		return "hour"
	case Day:
		return "day"
	case Week:
		return "week"
	case Month:
		return "month"
	case Year:
		return "year"
	}
	return fmt.Sprintf("Unit(%d)", uint8(u))
}

func (u Unit) valid() bool { return u >= Minute && u <= Year }
