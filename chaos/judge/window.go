package judge

import (
	"fmt"
	"time"
)

// Window is the promise of a window quota: in each window, admitted <= Tokens.
// The windows are of one length, and begin at multiples of it. Sent and Received
// of the admissions are then times of the wall, since the moment at which
// window 0 began: for windows aligned to the epoch, since the epoch.
type Window struct {
	Tokens int64
	Length time.Duration
	// Slack is by how much the clocks of clients and coordinators may differ: an
	// admission so close to the edge of a window belongs to none for certain.
	Slack time.Duration
}

// Validate says what is wrong with the promise.
func (w Window) Validate() error {
	if w.Tokens < 0 || w.Length <= 0 || w.Slack < 0 {
		return fmt.Errorf("judge: %+v is no promise", w)
	}
	return nil
}

// Overshoot returns the window in which most was surely admitted. It panics for
// a promise that Validate refuses.
func (w Window) Overshoot(all []Admission) Finding {
	if err := w.Validate(); err != nil {
		panic(err)
	}
	sums := map[int64]int64{}
	for _, a := range all {
		if n, ok := w.surely(a); ok {
			sums[n] += a.Cost
		}
	}
	worst := Finding{Over: -w.Tokens}
	for n, sum := range sums {
		over := sum - w.Tokens
		from := time.Duration(n) * w.Length
		if over > worst.Over || over == worst.Over && (worst.To == 0 || from < worst.From) {
			worst = Finding{From: from, To: from + w.Length, Admitted: sum, Over: over}
		}
	}
	return worst
}

// surely returns the window in which an admission was decided, if that is
// certain.
func (w Window) surely(a Admission) (int64, bool) {
	first, last := w.index(a.Sent-w.Slack), w.index(a.Received+w.Slack)
	return first, first == last
}

// index numbers the window that a time belongs to.
func (w Window) index(t time.Duration) int64 {
	n := int64(t / w.Length)
	if t%w.Length < 0 {
		n--
	}
	return n
}
