package bucket_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/a1009580/leasehold/bucket"
)

// hot are the operations that a decision or a refill is made of. Each returns something that depends on all of
// its work, and none may allocate.
func hot(tb testing.TB) map[string]func() int64 {
	rate := bucket.Rate{Tokens: 1_000_003, Per: time.Minute}
	b, now := bucket.Full(0, rate, 1_000_003), time.Duration(0)
	rem, mark := uint64(0), bucket.Mark{}
	m := bucket.NewMeter(0, rate)
	wall := time.Unix(1_760_000_000, 0)
	var c bucket.WindowCounter
	minute := fixed(tb, time.Minute)
	hour := calendar(tb, bucket.Hour, "Australia/Lord_Howe", 0)
	month := calendar(tb, bucket.Month, "Europe/Berlin", 31)
	return map[string]func() int64{
		"Take": func() int64 {
			now += 50_000
			return b.Take(now, 1).Remaining
		},
		"Accrue": func() (n int64) {
			n, rem = rate.Accrue(77_777, rem, 1_000)
			return n
		},
		"Meter.Since": func() (n int64) {
			now += 77_777
			to := m.Mark(now)
			n, rem = m.Since(mark, to, rem, 1_000)
			mark = to
			return n
		},
		"Windows.Index/fixed":          func() int64 { return minute.Index(wall) },
		"Windows.Index/calendar hour":  func() int64 { return hour.Index(wall) },
		"Windows.Index/calendar month": func() int64 { return month.Index(wall) },
		"WindowCounter.Take":           func() int64 { return c.Take(minute, wall, 1_000, 1).Remaining },
	}
}

func TestHotOperationsAllocateNothing(t *testing.T) {
	for name, op := range hot(t) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { op() }), name)
	}
}

func BenchmarkHot(b *testing.B) {
	for name, op := range hot(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				op()
			}
		})
	}
}
