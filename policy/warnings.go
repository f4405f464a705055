package policy

import (
	"cmp"
	"fmt"
	"math/bits"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Warning is something that a valid policy asks for and may not expect.
type Warning struct {
	Quota        string // ID
	File         string // as given to Parse
	Line, Column int
	Text         string
}

// String returns "line:column: quota: text".
func (w Warning) String() string {
	return fmt.Sprintf("%d:%d: %s: %s", w.Line, w.Column, w.Quota, w.Text)
}

// Warnings returns what may surprise about the policy, by ID. roundTrip is the longest time between a region
// and the coordinator and back, reportInterval how long a region waits before it reports. Four things are
// warned of:
//
//   - a burst that is worth less time than two times round trip and report interval: what is on the way
//     counts against the burst, so leasing cannot carry the whole rate, unless floors do;
//   - a floor that is rounded down to nothing for each node, so that a region that is cut off denies;
//   - a floor of windows that are hardly longer than a round trip: for so long around each boundary a region
//     does not know the window, and spends from none;
//   - a failure mode whose worst case, all regions cut off for as long as the mode lasts or for 10 minutes,
//     admits more beyond the limit than the limit itself, or that has no bound.
func (s *Set) Warnings(roundTrip, reportInterval time.Duration) []Warning {
	var all []Warning
	for _, d := range s.Domains {
		for _, q := range d.Quotas {
			for _, text := range []string{q.slowBurst(roundTrip, reportInterval), q.emptyFloor(), q.shortWindow(roundTrip), q.overrun()} {
				if text != "" {
					all = append(all, Warning{q.ID, q.File, q.Line, q.Column, text})
				}
			}
		}
	}
	return all
}

// LeasedThroughput is about the most tokens that leasing can carry in each Limit.Per of a token bucket:
// Burst for each delay (round trip + report interval), at most Tokens.
func (l Limit) LeasedThroughput(delay time.Duration) int64 {
	if delay <= 0 {
		return l.Tokens
	}
	return min(l.Tokens, bucket.Scale(l.Burst, int64(l.Per), int64(delay)))
}

// slowBurst compares what the burst is worth, Burst/(Tokens/Per), with two delays.
func (q *Quota) slowBurst(roundTrip, reportInterval time.Duration) string {
	l, delay := q.Limit, roundTrip+reportInterval
	if l.Unbounded || l.Algorithm != TokenBucket || delay <= 0 || q.floorsCarryAll() ||
		compareProducts(l.Burst, int64(l.Per), l.Tokens, int64(2*delay)) >= 0 {
		return ""
	}
	worth, _ := l.Rate().TimeFor(l.Burst, 0)
	carries := "barely the rate"
	if most := l.LeasedThroughput(delay); most < l.Tokens {
		carries = fmt.Sprintf("at most about %d of the %d per %v", most, l.Tokens, l.Per)
	}
	enough := bucket.Scale(l.Tokens, int64(2*delay), int64(l.Per))
	if compareProducts(enough, int64(l.Per), l.Tokens, int64(2*delay)) < 0 {
		enough++
	}
	return fmt.Sprintf("a burst of %d is worth %v of the rate, less than two times the %v that leasing takes (round trip %v and report interval %v); "+
		"leasing carries %s. Remedies: a burst of %d or more, or floors that add up to the whole rate",
		l.Burst, worth, delay, roundTrip, reportInterval, carries, enough)
}

// floorsCarryAll reports whether the floors of all regions are the whole limit.
func (q *Quota) floorsCarryAll() bool {
	return q.Partition.Floor.times(int64(len(q.Regions))) == Fraction{1, 1}
}

func (q *Quota) emptyFloor() string {
	if q.Partition.Floor.Num == 0 {
		return ""
	}
	for _, r := range q.Regions {
		switch tokens, burst := q.NodeFloor(r.Name); {
		case q.Limit.Algorithm != TokenBucket && tokens == 0:
			return fmt.Sprintf("a floor of %v is rounded down to 0 per window for each of %d nodes in %s: cut off, it denies. Remedies: a larger floor, or mode fail_closed to say so",
				q.Partition.Floor, r.Nodes, r.Name)
		case q.Limit.Algorithm == TokenBucket && (tokens == 0 || burst == 0):
			return fmt.Sprintf("a floor of %v is rounded down to %d per %v and a burst of %d for each of %d nodes in %s: cut off, it denies. Remedies: a larger floor, or mode fail_closed to say so",
				q.Partition.Floor, tokens, q.Limit.Per, burst, r.Nodes, r.Name)
		}
	}
	return ""
}

// shortWindow looks for floors that can be spent less than half of the time.
func (q *Quota) shortWindow(roundTrip time.Duration) string {
	if q.Limit.Algorithm != FixedWindow || q.Partition.FloorTokens == 0 || q.Limit.Per >= 2*roundTrip {
		return ""
	}
	return fmt.Sprintf("a floor is spent only while the window is sure, which a window of %v is not for a round trip of %v at each boundary: cut off, a region denies for most of the time. Remedies: longer windows, or mode fail_closed to say so",
		q.Limit.Per, roundTrip)
}

// compareProducts compares a·b with c·d. All are 0 or more.
func compareProducts(a, b, c, d int64) int {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	if h1 != h2 {
		return cmp.Compare(h1, h2)
	}
	return cmp.Compare(l1, l2)
}
