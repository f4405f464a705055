package world

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// CPU is the unit of what CPUTime reports, as package benchfmt tidies it.
const CPU = "cpu-sec/op"

// CPUTime begins to measure the processor time that a benchmark takes, and
// returns what reports it: for each operation and core. On an idle machine
// that is the time that the operation takes; where others want the processors
// as well it still is, when a clock on the wall counts the others in.
func CPUTime(b *testing.B) (report func()) {
	b.Helper()
	before := CPUUsed(b)
	return func() {
		used := CPUUsed(b) - before
		b.ReportMetric(float64(used)/float64(b.N)/float64(runtime.GOMAXPROCS(0)), "cpu-ns/op")
	}
}

// CPUUsed is what this process used of all processors.
func CPUUsed(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
