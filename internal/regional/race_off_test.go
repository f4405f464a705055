//go:build !race

package regional

// raceEnabled says that the race detector is on.
const raceEnabled = false
