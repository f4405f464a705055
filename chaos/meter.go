package chaos

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// unit is how finely a meter counts: one token is so many units, so that a rate
// of tokens a second times (1+ρ) is a whole number of units a nanosecond.
const unit = 1_000_000_000_000_000

// regime is a limit that was the promise for some time. While a change of policy
// is under way, two of them are, and the larger counts (law 12).
type regime struct {
	policy int
	rate   int64 // units a nanosecond, (1+ρ) included
	burst  int64 // tokens; of a window quota: the quota
}

// limitOf makes the promise that a policy gives for a quota.
func limitOf(policy int, t *lease.Terms, ρ lease.Drift) regime {
	if t.Windowed {
		return regime{policy: policy, burst: t.Tokens}
	}
	perSecond := int64(time.Second / t.Per)
	return regime{policy: policy, rate: t.Tokens * perSecond * (1_000_000 + int64(ρ)), burst: t.Burst}
}

// track is the worst interval that began at or after some moment: excess is the
// most, over all of them, of admitted - (1+ρ)·r·T. It must never exceed B.
type track struct {
	excess int64 // units
	burst  int64 // tokens, the largest since the track began
	// The worst interval so far, for the measure of tightness.
	from     time.Duration
	admitted int64
	accrued  float64 // (1+ρ)·r·T since then, in tokens
}

// meter judges one bucket: a central bucket in debt, for every interval in one
// pass, in exact integers.
type meter struct {
	windowed bool
	at       time.Duration
	rate     int64
	regimes  []regime
	tracks   []track
	bonus    int64 // tokens that a store without its past granted before it was noticed
	total    int64

	windows []windowSum
	strays  []stray
	worst   float64 // of observed to bound

	// all counts what is spent unreserved as well; most is the worst of it.
	all   track
	allAt time.Duration
	most  int64 // units
}

type windowSum struct {
	window, spent, quota, bonus int64
}

// allow makes a limit count from now on, beside those that already do.
func (m *meter) allow(now time.Duration, g regime) {
	m.advance(now)
	m.regimes = append(m.regimes, g)
	m.update()
	if len(m.tracks) == 0 {
		m.tracks = append(m.tracks, track{burst: g.burst, from: now})
	}
}

// end has only the limit of one policy count from now on. Intervals that begin
// from now on are judged by it alone.
func (m *meter) end(now time.Duration, policy int) {
	m.advance(now)
	kept := m.regimes[:0]
	for _, g := range m.regimes {
		if g.policy == policy {
			kept = append(kept, g)
		}
	}
	m.regimes = kept
	if len(kept) == 0 {
		m.tracks = nil // the quota is gone: one that comes back later is promised anew
	}
	m.update()
	m.tracks = append(m.tracks, track{from: now})
	m.update()
}

// update takes the largest limit of those that count.
func (m *meter) update() {
	m.rate = 0
	var burst int64
	for _, g := range m.regimes {
		m.rate, burst = max(m.rate, g.rate), max(burst, g.burst)
	}
	for i := range m.tracks {
		m.tracks[i].burst = max(m.tracks[i].burst, burst)
	}
	for i := range m.windows {
		m.windows[i].quota = max(m.windows[i].quota, burst)
	}
}

// advance lets time pass.
func (m *meter) advance(now time.Duration) {
	hi, lo := bits.Mul64(uint64(m.rate), uint64(now-m.at))
	m.at = now
	for i := range m.tracks {
		t := &m.tracks[i]
		if hi > 0 || lo >= uint64(t.excess) {
			t.excess, t.from, t.admitted, t.accrued = 0, now, 0, 0
			continue
		}
		t.excess -= int64(lo)
		t.accrued += float64(lo) / unit
	}
}

// admit counts tokens that were admitted now.
func (m *meter) admit(now time.Duration, tokens int64) error {
	m.advance(now)
	m.total += tokens
	for i := range m.tracks {
		t := &m.tracks[i]
		if t.excess == 0 {
			t.from, t.admitted, t.accrued = now, 0, 0
		}
		t.excess += tokens * unit
		t.admitted += tokens
		if m.bonus > 5000 {
			return nil // nobody noticed for long: nothing is promised
		}
		if t.excess > (t.burst+m.bonus)*unit {
			return fmt.Errorf("the promise: %.3f tokens too many in %v: %d were admitted, the burst is %d",
				float64(t.excess)/unit-float64(t.burst), now-t.from, t.admitted, t.burst)
		}
		if m.bonus == 0 && len(m.tracks) == 1 && t.admitted > 0 {
			m.worst = max(m.worst, float64(t.admitted)/(float64(t.burst)+t.accrued))
		}
	}
	return nil
}

// takeBack counts tokens that were refunded now: a central bucket would have put
// them back, as far as it is not full.
func (m *meter) takeBack(now time.Duration, window, tokens int64) {
	if m.windowed {
		m.window(window).spent -= tokens
		return
	}
	m.all.excess = max(0, m.all.excess-tokens*unit)
	m.advance(now)
	for i := range m.tracks {
		t := &m.tracks[i]
		t.excess = max(0, t.excess-tokens*unit)
		t.admitted = max(0, t.admitted-tokens)
	}
}

// admitWindow counts tokens that were leased for a window.
func (m *meter) admitWindow(window, tokens int64) error {
	m.total += tokens
	s := m.window(window)
	s.spent += tokens
	bonus := s.bonus + m.strayed(window)
	if s.spent > s.quota+bonus {
		return fmt.Errorf("the promise: %d tokens were admitted in window %d, the quota is %d", s.spent, window, s.quota)
	}
	if bonus == 0 && s.quota > 0 {
		m.worst = max(m.worst, float64(s.spent)/float64(s.quota))
	}
	return nil
}

func (m *meter) window(window int64) *windowSum {
	for i := range m.windows {
		if m.windows[i].window == window {
			return &m.windows[i]
		}
	}
	s := windowSum{window: window}
	for _, g := range m.regimes {
		s.quota = max(s.quota, g.burst)
	}
	m.windows = append(m.windows, s)
	return &m.windows[len(m.windows)-1]
}

// exceed counts tokens that were admitted by right or unreserved. It is used where
// one limit counts all the time.
func (m *meter) exceed(now time.Duration, tokens int64) {
	hi, lo := bits.Mul64(uint64(m.rate), uint64(now-m.allAt))
	m.allAt = now
	if t := &m.all; hi > 0 || lo >= uint64(t.excess) {
		t.excess = 0
	} else {
		t.excess -= int64(lo)
	}
	m.all.excess += tokens * unit
	m.most = max(m.most, m.all.excess)
}

// overshoot is by how many tokens the promise was exceeded in the worst interval.
func (m *meter) overshoot() int64 {
	if len(m.regimes) == 0 {
		return 0
	}
	return max(0, (m.most+unit-1)/unit-m.regimes[0].burst)
}
