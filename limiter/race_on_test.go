//go:build race

package limiter_test

// raceEnabled says that the race detector is on.
const raceEnabled = true
