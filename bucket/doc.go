// Package bucket says how a limit accrues and is spent over time.
//
// It knows two kinds of limit. A token bucket accrues: [Rate] is the exact arithmetic, [Meter] the same
// for a rate that changes under many buckets at once, [TokenBucket] one bucket with a level. A window
// quota starts afresh at the boundaries of wall time: [Windows] are the boundaries, [WindowCounter] one
// counter within them.
//
// The package is pure. It reads no clock, starts no goroutine and allocates nothing to decide; every
// method takes the time as an argument, reads it once, and does not let it run back. Monotonic time is a
// [time.Duration] since a start that the caller chose; wall time is a [time.Time]. Nothing here is safe
// for concurrent use while someone writes; values are plain, comparable and cheap to copy.
//
// Tokens are int64 and never floats. Products are taken in 128 bits, and what does not fit saturates to the
// side that admits less, so no input wraps and none panics. What is not a whole token yet is carried as a
// remainder in token-nanoseconds, always less than one period: no rounding ever adds up.
//
// Zones come from the caller as *time.Location. A program that must not depend on the zone data of its
// machine imports time/tzdata in its main package; this package leaves that choice alone.
package bucket
