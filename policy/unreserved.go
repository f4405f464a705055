package policy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// minFor and maxFor are the range of Partition.For: from one second to a week, which is longer than anybody
// should need to notice a cut. A fallback of months is a limit that nobody keeps.
const minFor, maxFor = time.Second, 7 * 24 * time.Hour

// Exact says that a cut adds nothing to the promise: leases are in the books, and floors are taken out of the
// limit before anything is leased.
func (m Mode) Exact() bool { return m == FailClosed || m == LocalFloor }

// PerCut returns the most tokens that one holder adds to a bucket's promise in one cut of the true length d:
//
//	Burst + (1+ρ)·Rate·min(d, For), rounded up
//
// (section 6 of the design). In the exact modes it is 0. A cut of no length still has its burst, and a d
// below 0 counts as 0. It saturates at the largest int64, which is also the answer without a bound.
func (p *Partition) PerCut(ρ lease.Drift, d time.Duration) int64 {
	switch {
	case p.Mode.Exact():
		return 0
	case p.Unbounded || p.Rate.Tokens <= 0 || p.Rate.Per <= 0:
		return math.MaxInt64 // no mode has a rate of nothing: say too much rather than nothing
	}
	return satAdd(p.Burst, ρ.AtMost(p.Rate, p.Counted(d)))
}

// Counted returns how much of a cut of length d is spent unreserved: at most For, if there is one.
func (p *Partition) Counted(d time.Duration) time.Duration {
	if p.For > 0 {
		d = min(d, p.For)
	}
	return max(0, d)
}

// Unreserved returns what a cut-off holder may spend beside its lease and floor: nothing in the exact modes.
func (p *Partition) Unreserved() lease.Unreserved {
	if p.Mode.Exact() {
		return lease.Unreserved{}
	}
	return lease.Unreserved{Rate: p.Rate, Burst: p.Burst, For: p.For, Unbounded: p.Unbounded}
}

// Promise returns the most that the limit itself allows in a true time d: Burst + (1+ρ)·r·d for a token
// bucket, rounded up, and Tokens for a window quota, whatever d is. It saturates at the largest int64, which
// is also that of an unbounded limit.
func (l Limit) Promise(ρ lease.Drift, d time.Duration) int64 {
	switch {
	case l.Unbounded:
		return math.MaxInt64
	case l.Algorithm != TokenBucket:
		return l.Tokens
	}
	return satAdd(l.Burst, ρ.AtMost(l.Rate(), d))
}

// satAdd adds what is 0 or more.
func satAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// adds says in words what each holder adds to the promise in each cut.
func (p *Partition) adds() string {
	switch {
	case p.Mode.Exact():
		return "0"
	case p.Unbounded:
		return "no bound"
	}
	s := fmt.Sprintf("a burst of %d and then %d per %v", p.Burst, p.Rate.Tokens, p.Rate.Per)
	if p.For > 0 {
		s += fmt.Sprintf(" for at most %v", p.For)
	}
	return s
}

// unreserved reads what a cut-off holder may spend beyond its share. What would make it unbounded by accident
// is refused: only the literal word does, and only as the ceiling of fail_open.
func (d *decoder) unreserved(o *object, p *Partition) {
	own := map[Mode][]string{LocalFallback: {"rate", "burst", "for"}, FailOpen: {"ceiling", "burst"}}[p.Mode]
	for _, name := range []string{"rate", "ceiling", "burst", "for"} {
		if !slices.Contains(own, name) {
			o.refuse(name, "mode "+p.Mode.String()+" has none")
		}
	}
	switch p.Mode {
	case FailClosed, LocalFloor:
		return
	case LocalFallback:
		p.Rate = d.rate(o.need("rate", "a mapping such as {tokens: 50, per: 1s}"), "partition.rate", "")
		p.For = d.duration(o.need("for", "how long a cut-off region may use it, such as 10m"), "partition.for", minFor, maxFor)
	case FailOpen:
		n := o.need("ceiling", "a mapping such as {tokens: 50, per: 1s}, or the word unbounded")
		if p.Unbounded = n != nil && n.isText() && n.text == unbounded; p.Unbounded {
			o.refuse("burst", "an unbounded ceiling has none")
			return
		}
		p.Rate = d.rate(n, "partition.ceiling", ", or the word unbounded")
	}
	p.Burst = defaultBurst(p.Rate)
	if n := o.get("burst"); n != nil {
		p.Burst = d.tokens(n, "partition.burst", "")
	}
}

// defaultBurst is one second of the rate, rounded up: enough for even traffic, and little beside any bound.
func defaultBurst(r bucket.Rate) int64 {
	return min(lease.Drift(0).AtMost(r, time.Second), bucket.MaxTokens)
}

// need is get for a field that the mode must have; what says what belongs there.
func (o *object) need(name, what string) *node {
	n := o.get(name)
	if n == nil {
		mode := o.get("mode") // there, because the modes that need anything are no default
		o.d.errorf(mode, o.at("mode"), "%s needs %s: %s", mode.text, name, what)
	}
	return n
}

// rate reads {tokens, per}. or is what else might stand there.
func (d *decoder) rate(n *node, path, or string) bucket.Rate {
	if n == nil {
		return bucket.Rate{}
	}
	if n.kind != mapping {
		d.errorf(n, path, "must be a mapping such as {tokens: 50, per: 1s}%s, not %s", or, n)
		return bucket.Rate{}
	}
	o := d.object(n, path, "tokens", "per")
	return bucket.Rate{
		Tokens: d.tokens(o.require("tokens"), o.at("tokens"), ""),
		Per:    d.duration(o.require("per"), o.at("per"), minPer, maxPer),
	}
}
