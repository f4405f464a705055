package world

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// OpenLoop calls ask so many times at a fixed rate a second, whatever becomes of
// the calls before, and returns how long each took, in nanoseconds: from when
// it was due. A call that had to wait because those before it were slow counts
// its waiting (no coordinated omission). An error is the first of ask's.
func OpenLoop(calls, rate int, ask func(call int) error) (*hdrhistogram.Histogram, error) {
	const workers = 64
	due := make(chan time.Time, calls)
	histograms, errs := make([]*hdrhistogram.Histogram, workers), make([]error, workers)
	var working sync.WaitGroup
	for w := range workers {
		h := newHistogram()
		histograms[w] = h
		working.Go(func() {
			call := w
			for at := range due {
				if err := ask(call); err != nil && errs[w] == nil {
					errs[w] = err
				}
				// More than the histogram holds counts as the most that it does.
				_ = h.RecordValue(min(int64(time.Since(at)), longest))
				call += workers
			}
		})
	}
	start := time.Now()
	for i := range calls {
		at := start.Add(time.Duration(i) * time.Second / time.Duration(rate))
		if wait := time.Until(at); wait > 0 {
			time.Sleep(wait)
		}
		due <- at
	}
	close(due)
	working.Wait()
	all := newHistogram()
	for w := range workers {
		if errs[w] != nil {
			return nil, errs[w]
		}
		all.Merge(histograms[w])
	}
	return all, nil
}

// longest is the longest time that is told apart.
const longest = int64(time.Minute)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest, 3) }
