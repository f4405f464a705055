package bucket_test

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

func ExampleTokenBucket() {
	b := bucket.Full(0, bucket.Rate{Tokens: 10, Per: time.Second}, 5)
	fmt.Println(b.Take(0, 5).OK)

	r := b.Take(0, 3)
	fmt.Println(r.OK, r.RetryAfter)
	fmt.Println(b.Take(r.RetryAfter, 3).OK)
	fmt.Println(b.Take(r.RetryAfter, 6).Never)
	// Output:
	// true
	// false 300ms
	// true
	// true
}

func ExampleMeter() {
	m := bucket.NewMeter(0, bucket.Rate{Tokens: 60, Per: time.Minute})
	touched := m.Mark(0) // a bucket was last refilled now

	m.SetTokens(10*time.Second, 30) // for all buckets the rate halves
	tokens, rem := m.Since(touched, m.Mark(15*time.Second), 0, 1000)
	fmt.Println(tokens, time.Duration(rem))
	// Output: 12 30s
}

func ExampleWindows() {
	w, err := bucket.CalendarWindows(bucket.Month, time.UTC, 31)
	if err != nil {
		panic(err)
	}
	index := w.Index(time.Date(2028, time.February, 10, 12, 0, 0, 0, time.UTC))
	for range 3 {
		start, end := w.Bounds(index)
		fmt.Println(start.Format(time.DateOnly), end.Format(time.DateOnly))
		index = w.Next(index)
	}
	// Output:
	// 2028-01-31 2028-02-29
	// 2028-02-29 2028-03-31
	// 2028-03-31 2028-04-30
}

func ExampleWindowCounter() {
	w, err := bucket.FixedWindows(time.Minute)
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, time.March, 1, 10, 0, 45, 0, time.UTC)
	var c bucket.WindowCounter
	fmt.Println(c.Take(w, at, 100, 100).OK)
	r := c.Take(w, at, 100, 1)
	fmt.Println(r.OK, r.RetryAfter)
	// Output:
	// true
	// false 15s
}
