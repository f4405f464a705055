package partition

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Line is one part of a bound: Holders · Cuts · (Burst + (1+ρ)·Rate·Time), each product rounded up.
type Line struct {
	Kind   Kind
	Region string // of a cut
	Holder string // of one cut that took place, if it is known
	Note   string // what else is to be known of it
	// Holders and Cuts are at least 1.
	Holders, Cuts int
	Burst         int64
	Rate          bucket.Rate
	Drift         lease.Drift
	Time          time.Duration // of each cut, what counts: at most the policy's for, or the window
	Tokens        int64         // in all; the largest int64 if Unbounded, or if it is beyond that
	Unbounded     bool
}

// Kind says where a line comes from.
type Kind uint8

// The kinds of a line.
const (
	ByCut   Kind = iota // cuts that are supposed, or that ended
	Open                // a cut that goes on
	Lowered             // a limit that was lowered, while leases of the larger one can still be spent
	Told                // what was reported of cuts whose terms are not known
)

// String returns the kind as a word.
func (k Kind) String() string {
	switch k {
	case ByCut:
		return "cut"
	case Open:
		return "open"
	case Lowered:
		return "lowered"
	case Told:
		return "told"
	}
	return "unknown(" + strconv.Itoa(int(k)) + ")"
}

// newLine returns what some cuts add.
func newLine(q *policy.Quota, ρ lease.Drift, c Cut) Line {
	p := &q.Partition
	l := Line{
		Region: c.Region, Holders: max(0, c.Holders), Cuts: max(1, c.Count), Drift: ρ,
		Burst: p.Burst, Rate: p.Rate, Time: p.Counted(min(c.For, q.Limit.LongestWindow())),
	}
	each := p.PerCut(ρ, l.Time)
	l.Tokens = times(times(each, int64(l.Holders)), int64(l.Cuts))
	l.Unbounded = l.Tokens > 0 && (p.Unbounded || q.Limit.Unbounded)
	return l
}

// Text returns the line for people: "eu: 2 holders x (100 + 1.001 x 50/s x 600 s) = 60260". A burst or a
// rate of 0 is left out.
func (l Line) Text() string {
	if l.Unbounded {
		return l.subject() + ": no bound"
	}
	var sum []string
	if l.Burst > 0 {
		sum = append(sum, strconv.FormatInt(l.Burst, 10))
	}
	if l.Rate.Tokens > 0 {
		sum = append(sum, fmt.Sprintf("%s x %s x %s s", factor(l.Drift), rateText(l.Rate), seconds(l.Time)))
	}
	each := strings.Join(sum, " + ")
	times := ""
	if l.Holders > 1 {
		times = fmt.Sprintf("%d holders x ", l.Holders)
	}
	if l.Cuts > 1 {
		times += fmt.Sprintf("%d cuts x ", l.Cuts)
	}
	if times != "" {
		each = times + "(" + each + ")"
	}
	total := strconv.FormatInt(l.Tokens, 10)
	if each != total {
		total = each + " = " + total
	}
	if l.Tokens == math.MaxInt64 {
		total += " or more"
	}
	return l.subject() + ": " + total
}

// subject says of whom the line is.
func (l Line) subject() string {
	switch l.Kind {
	case Lowered:
		return "limit lowered"
	case Told:
		return "reported of cuts under a policy that is not known here"
	case ByCut, Open:
	}
	who := l.Region
	if l.Holder != "" {
		who += " " + l.Holder
	}
	if l.Kind == Open {
		who += ", goes on"
	}
	if l.Note != "" {
		who += ", " + l.Note
	}
	return who
}

// factor returns 1+ρ, such as "1.001".
func factor(ρ lease.Drift) string {
	const million = 1_000_000
	s := fmt.Sprintf("%d.%06d", 1+ρ/million, ρ%million)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// rateText returns "50/s", "5/min", "5/h" or "5 per 1m30s".
func rateText(r bucket.Rate) string {
	unit, short := map[time.Duration]string{time.Second: "s", time.Minute: "min", time.Hour: "h"}[r.Per]
	if short {
		return fmt.Sprintf("%d/%s", r.Tokens, unit)
	}
	return fmt.Sprintf("%d per %v", r.Tokens, r.Per)
}

// seconds returns a duration in seconds with as many decimals as it has, at most three, rounded up.
func seconds(d time.Duration) string {
	ms := (d-1)/time.Millisecond + 1
	if d <= 0 {
		ms = 0
	}
	s := fmt.Sprintf("%d.%03d", ms/1000, ms%1000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
