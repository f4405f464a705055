package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Limit is how much a quota admits.
type Limit struct {
	Tokens int64         // for each Per or window, 1 to 2^53; 0 if Unbounded
	Per    time.Duration // 1ms to 366 days; 0 for a calendar window
	Burst  int64         // of a token bucket, 1 to 2^53, default Tokens; 0 for the others
	// Algorithm is how the limit accrues.
	Algorithm Algorithm
	Unit      bucket.Unit // of a calendar window
	Zone      string      // of a calendar window: an IANA name, default UTC
	AnchorDay int         // 1 to 31, default 1, for calendar months; else 0

	// Unbounded is the literal word "unbounded" in the policy. All else is then zero.
	Unbounded bool
}

// Algorithm is how a limit accrues over time.
type Algorithm uint8

// TokenBucket is the default. Its promise holds over every interval, that of the windows for each window.
const (
	TokenBucket Algorithm = iota
	FixedWindow
	CalendarWindow
)

var algorithms = []string{"token_bucket", "fixed_window", "calendar_window"}

// String returns the word of the policy.
func (a Algorithm) String() string { return word(algorithms, int(a)) }

const (
	minPer = time.Millisecond
	maxPer = 366 * 24 * time.Hour
)

// Capacity is the most tokens that can be there at once: the burst of a token bucket, the tokens of a window.
// It is 0 for an unbounded limit, which has no bucket.
func (l Limit) Capacity() int64 {
	if l.Algorithm == TokenBucket {
		return l.Burst
	}
	return l.Tokens
}

// Rate is the refill of a token bucket.
func (l Limit) Rate() bucket.Rate { return bucket.Rate{Tokens: l.Tokens, Per: l.Per} }

// String describes the limit in words, such as "10000 per 1m0s, burst 500".
func (l Limit) String() string {
	switch {
	case l.Unbounded:
		return "unbounded"
	case l.Algorithm == FixedWindow:
		return fmt.Sprintf("%d per window of %v", l.Tokens, l.Per)
	case l.Algorithm == TokenBucket:
		return fmt.Sprintf("%d per %v, burst %d", l.Tokens, l.Per, l.Burst)
	}
	s := fmt.Sprintf("%d per calendar %v in %s", l.Tokens, l.Unit, l.Zone)
	if l.AnchorDay > 1 {
		s += fmt.Sprintf(" from day %d", l.AnchorDay)
	}
	return s
}

// limit reads the limit of a quota, and its windows if it has any.
func (d *decoder) limit(n *node) (l Limit, w bucket.Windows) {
	o := d.object(n, "limit", "tokens", "per", "burst", "algorithm", "zone", "anchor_day")
	if o == nil {
		return l, w
	}
	tokens := o.require("tokens")
	if tokens != nil && tokens.isText() && tokens.text == unbounded {
		for _, name := range []string{"per", "burst", "algorithm", "zone", "anchor_day"} {
			o.refuse(name, "an unbounded limit has none")
		}
		return Limit{Unbounded: true}, w
	}
	l.Tokens = d.tokens(tokens, "limit.tokens", ", or the word unbounded")
	l.Algorithm = Algorithm(o.word("algorithm", algorithms, int(TokenBucket)))
	if l.Algorithm == TokenBucket {
		l.Burst = l.Tokens
		if n := o.get("burst"); n != nil {
			l.Burst = d.tokens(n, "limit.burst", "")
		}
	} else {
		o.refuse("burst", "only a token_bucket has one")
	}
	if l.Algorithm == CalendarWindow {
		w = d.calendar(o, &l)
		return l, w
	}
	o.refuse("zone", "only a calendar_window has one")
	o.refuse("anchor_day", "only a calendar_window has one")
	per := o.require("per")
	if per != nil && per.isText() {
		if _, err := bucket.ParseUnit(per.text); err == nil {
			d.errorf(per, "limit.per", "%s is for algorithm calendar_window; here a duration such as 1m", per.text)
			return l, w
		}
	}
	l.Per = d.duration(per, "limit.per", minPer, maxPer)
	if l.Algorithm == FixedWindow && l.Per > 0 {
		var err error
		if w, err = bucket.FixedWindows(l.Per); err != nil {
			d.errorf(per, "limit.per", "%v", err)
		}
	}
	return l, w
}

// calendar reads what only calendar windows have.
func (d *decoder) calendar(o *object, l *Limit) (w bucket.Windows) {
	var err error
	per := o.require("per")
	if per == nil {
		return w
	}
	if l.Unit, err = bucket.ParseUnit(per.text); err != nil || !per.isText() {
		d.errorf(per, "limit.per", "must be minute, hour, day, week, month or year with calendar_window, not %s", per)
	}
	if l.Unit == bucket.Month {
		l.AnchorDay = int(o.integer("anchor_day", 31, 1))
	} else {
		o.refuse("anchor_day", "only a window of one month has one")
	}
	l.Zone = "UTC"
	zone := o.get("zone")
	if zone != nil && zone.isText() {
		l.Zone = zone.text
	}
	location, err := d.location(l.Zone)
	if err != nil || zone != nil && !zone.isText() {
		d.errorf(zone, "limit.zone", "must be an IANA time zone such as Europe/Berlin, not %s", zone)
		return w
	}
	if l.Unit != 0 {
		if w, err = bucket.CalendarWindows(l.Unit, location, l.AnchorDay); err != nil {
			d.errorf(per, "limit.per", "%v", err)
		}
	}
	return w
}

// location loads each zone once, because windows compare them by pointer.
func (d *decoder) location(name string) (*time.Location, error) {
	if zone := d.zones[name]; zone != nil {
		return zone, nil
	}
	if name == "" || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("zone %q differs between machines", name)
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		d.zones[name] = zone
	}
	return zone, err
}
