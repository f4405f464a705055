package policy

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
)

const day = 24 * time.Hour

// clockChange is by how much a zone's clock may be put back within one window, which then is so much longer.
// The largest step in use is 3 hours (Antarctica/Casey, 2010 and later; IANA tz database). A zone that moved
// over the date line to repeat a day would need more; the last to do so was Kwajalein in 1969.
const clockChange = 3 * time.Hour

// LongestWindow returns how long a window of the limit can be: a calendar window with what a change of its
// zone's clock may add. A token bucket has none, which is as one that never ends: [bucket.Forever].
func (l Limit) LongestWindow() time.Duration {
	if l.Algorithm == FixedWindow {
		return l.Per
	}
	var d time.Duration
	switch l.Unit {
	case bucket.Minute:
		return time.Minute // a change of the clock ends minutes and hours
	case bucket.Hour:
		return time.Hour
	case bucket.Day:
		d = day
	case bucket.Week:
		d = 7 * day
	case bucket.Month:
		d = 31 * day
	case bucket.Year:
		d = 366 * day
	default:
		return bucket.Forever
	}
	if l.Zone != "UTC" {
		d += clockChange
	}
	return d
}
