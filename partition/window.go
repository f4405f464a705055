package partition

import (
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/policy"
)

const day = 24 * time.Hour

// clockChange is the most by which a zone's clock is taken to be put back within one window, which then is
// so much longer: the steps in use are up to 3 hours (Antarctica/Casey; IANA tz database, 2010 and later).
const clockChange = 3 * time.Hour

// longestWindow returns how long a window of the limit can be; a token bucket has one window that never ends.
func longestWindow(l policy.Limit) time.Duration {
	var d time.Duration
	switch l.Algorithm {
	case policy.TokenBucket:
		return bucket.Forever
	case policy.FixedWindow:
		return l.Per
	case policy.CalendarWindow:
	}
	switch l.Unit {
	case bucket.Minute:
		return time.Minute
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
