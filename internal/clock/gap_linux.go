package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// gap returns by how much the clock that counts suspended time is ahead of the
// monotonic one. It fails when the readings could not be taken close enough
// together.
func gap() (time.Duration, bool) {
	for range 5 {
		before, ok1 := read(unix.CLOCK_MONOTONIC)
		boot, ok2 := read(unix.CLOCK_BOOTTIME)
		after, ok3 := read(unix.CLOCK_MONOTONIC)
		if ok1 && ok2 && ok3 && after-before < noise/2 {
			return boot - before - (after-before)/2, true
		}
	}
	return 0, false
}

func read(clock int32) (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
