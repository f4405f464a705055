//go:build !linux

package clock

import "time"

// gap is not known on this system.
func gap() (time.Duration, bool) { return 0, false }
