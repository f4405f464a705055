package policy

import (
	"strings"
	"time"
)

// Unit is a unit of time of envoyproxy/ratelimit. Its months have 30 days and its years 365, and its windows
// begin at multiples of the unit since the Unix epoch, as they do there.
type Unit uint8

// The units, from 1.
const (
	_ Unit = iota
	Second
	Minute
	Hour
	Day
	Week
	Month
	Year
)

var unitNames = []string{"none", "second", "minute", "hour", "day", "week", "month", "year"}

// String returns the unit in lower case.
func (u Unit) String() string { return word(unitNames, int(u)) }

// Length is how long the unit is, 0 for none.
func (u Unit) Length() time.Duration {
	return []time.Duration{0, time.Second, time.Minute, time.Hour, day, 7 * day, 30 * day, 365 * day, 0}[min(u, Year+1)]
}

// parseUnit reads a unit in any case; 0 if it is none.
func parseUnit(s string) Unit {
	for u := Second; u <= Year; u++ {
		if strings.EqualFold(s, u.String()) {
			return u
		}
	}
	return 0
}
