package bucket_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/bucket"
)

func TestWindowCounterAnswers(t *testing.T) {
	w := fixed(t, time.Minute)
	at := parse(t, "2026-03-01T10:00:20Z")
	const left = 40 * time.Second
	var c bucket.WindowCounter

	assert.Equal(t, bucket.Result{OK: true, Remaining: 5}, c.Take(w, at, 5, 0))
	assert.Equal(t, bucket.Result{OK: true, Remaining: 2, Reset: left}, c.Take(w, at, 5, 3))
	assert.Equal(t, bucket.Result{Remaining: 2, RetryAfter: left, Reset: left}, c.Take(w, at, 5, 3))
	assert.Equal(t, bucket.Result{Remaining: 2, Never: true, RetryAfter: bucket.Forever, Reset: left}, c.Take(w, at, 5, 6))
	assert.Equal(t, bucket.Result{Remaining: 2, Invalid: true, RetryAfter: bucket.Forever, Reset: left}, c.Take(w, at, 5, -1))
	assert.Equal(t, bucket.Result{OK: true, Reset: left}, c.Take(w, at, 5, 2))
	assert.Equal(t, bucket.Result{RetryAfter: left, Reset: left}, c.Take(w, at, 5, 0), "a cost of 0 when drained")
	assert.Equal(t, bucket.WindowCounter{Index: w.Index(at), Used: 5}, c)
	assert.Zero(t, c.Take(w, at, 3, 1).Remaining, "the limit was cut below what is used")
	assert.True(t, c.Take(w, at.Add(left), 5, 5).OK)
}

func TestWindowCounterDoesNotWrap(t *testing.T) {
	w, at := fixed(t, time.Minute), parse(t, "2026-03-01T10:00:20Z")
	ends := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	for _, used := range ends {
		for _, limit := range ends {
			for _, n := range ends {
				c := bucket.WindowCounter{Index: w.Index(at), Used: used}
				r := c.Take(w, at, limit, n)
				assert.GreaterOrEqual(t, r.Remaining, int64(0))
				assert.LessOrEqual(t, r.Remaining, max(limit, 0))
				assert.LessOrEqual(t, c.Used, max(used, limit))
			}
		}
	}
}

// However the clock jumps, no window admits more than its limit, and none runs twice.
func TestWindowCounterAgainstALedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := someWindows().Draw(t, "windows")
		limit := rapid.Int64Range(0, 20).Draw(t, "limit")
		used := map[int64]int64{}
		newest := int64(0)
		var c bucket.WindowCounter
		at := time.Unix(1_760_000_000, 0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(48*time.Hour)).Draw(t, "jump")))
			n := rapid.Int64Range(-1, 8).Draw(t, "n")
			newest = max(newest, w.Index(at))
			want := n >= 0 && used[newest]+max(n, 1) <= limit
			r := c.Take(w, at, limit, n)
			assert.Equal(t, want, r.OK)
			if r.OK {
				used[newest] += n
			}
			assert.Equal(t, limit-used[newest], r.Remaining)
			if !r.OK && !r.Never && !r.Invalid {
				soon, ripe := c, c
				assert.False(t, soon.Take(w, at.Add(r.RetryAfter-1), limit, n).OK)
				assert.True(t, ripe.Take(w, at.Add(r.RetryAfter), limit, n).OK)
			}
		}
	})
}
