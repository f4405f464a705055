package partition_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

// greedy is a holder that spends all that it may while it is cut off, computed by its own clock in exact fractions.
// It shares only the Link with what is tested.
type greedy struct {
	id      lease.HolderID
	ppm     int64 // by how much its clock runs fast
	link    partition.Link
	quota   *policy.Quota
	session uint64
	silence int // steps for which nothing came
	dead    bool

	clocked  bool
	made, at time.Duration // of the last message
	echo     time.Duration
	sent     time.Duration // what the coordinator processed last

	own   *partition.History
	cuts  []greedyCut
	level *big.Rat
	last  time.Duration // until when it accrued
}

type greedyCut struct {
	lease.CutReport

	since time.Duration
	spent int64
	told  *lease.CutReport // in this session
	saw   int64            // of spent, what was told
}

// greedyWorld is a coordinator's board, and holders behind ways that break in each direction.
type greedyWorld struct {
	board    *partition.Board
	now      time.Duration
	quotas   []*policy.Set
	inForce  int
	holders  []*greedy
	sessions uint64
	observed map[string]int64
	spent    []int64 // in all, after each step
	total    int64
}

const (
	step = 100 * time.Millisecond
	// lag is how late a cut may be supposed whose holder does not tell of it: our Suspect and its CutOff together.
	lag       = 61
	maxGreedy = 8
)

func (h *greedy) clock(now time.Duration) time.Duration {
	return now + now*time.Duration(h.ppm)/1_000_000
}

// step has one holder live through one step; up and down say which ways work.
func (w *greedyWorld) step(h *greedy, up, down bool) {
	now, mine := w.now, h.clock(w.now)
	h.link.Tick(mine)
	h.note(mine)
	h.spend(mine)
	switch {
	case h.session == 0 && up && down:
		w.open(h, mine)
	case h.session != 0:
		w.speak(h, mine, up, down)
	}
	if h.silence++; h.session != 0 && h.silence > 35 {
		h.link.Broken(mine, "silent")
		if up {
			w.board.Broken(now, h.id, h.session, "it broke off")
		}
		h.session = 0
	}
	h.note(mine)
	w.total = 0
	for _, g := range w.holders {
		for i := range g.cuts {
			w.total += g.cuts[i].spent
		}
	}
}

// spend takes what accrued in the cut that goes on, if it may. It accrues also while the link heals.
func (h *greedy) spend(now time.Duration) {
	n := len(h.cuts)
	if n == 0 || h.cuts[n-1].Closed || h.quota.Partition.Mode.Exact() {
		h.last = now
		return
	}
	c, p := &h.cuts[n-1], &h.quota.Partition
	until := now
	if p.For > 0 {
		until = min(until, c.since+p.For-1)
	}
	if until > h.last {
		h.level.Add(h.level, new(big.Rat).Mul(big.NewRat(p.Rate.Tokens, int64(p.Rate.Per)), big.NewRat(int64(until-h.last), 1)))
	}
	if most := big.NewRat(p.Burst, 1); h.level.Cmp(most) > 0 {
		h.level.Set(most)
	}
	h.last = now
	if p.For > 0 && now >= c.since+p.For || !h.link.Unreserved() {
		return
	}
	all := new(big.Int).Quo(h.level.Num(), h.level.Denom())
	h.level.Sub(h.level, new(big.Rat).SetInt(all))
	c.spent += all.Int64()
}

// note takes over what the link says of cuts, as lease.Holder does.
func (h *greedy) note(now time.Duration) {
	h.own.Own(now, h.id, &h.link)
	number, since, open := h.link.Cut()
	n := len(h.cuts)
	if open && (n == 0 || h.cuts[n-1].Number < number) {
		h.cuts = append(h.cuts, greedyCut{CutReport: lease.CutReport{Number: number, Count: 1}, since: since})
		h.level, h.last = big.NewRat(h.quota.Partition.Burst, 1), now
		n++
	}
	if n == 0 {
		return
	}
	c := &h.cuts[n-1]
	if h.link.Unreserved() {
		c.Length = now - since
	}
	c.Closed = c.Closed || !open
}

func (w *greedyWorld) open(h *greedy, mine time.Duration) {
	w.sessions++
	h.session, h.clocked, h.silence, h.made, h.echo = w.sessions, false, 0, 0, 0
	h.link.Opened(mine)
	h.link.Proof(mine)
	h.note(mine)
	if h.level != nil {
		h.spend(mine) // nothing, but what accrued did so under the old terms
	}
	h.quota = w.quotas[w.inForce].Quota("api/q")
	h.own.Adopt(mine, h.id, w.quotas[w.inForce])
	for i := range h.cuts {
		h.cuts[i].told, h.cuts[i].saw = nil, 0
	}
	w.board.Hello(w.now, h.id, h.session)
	h.clocked, h.made, h.at = true, w.now, mine // the answer
}

// speak sends a report, if that way works, and hears the answer, if that way does.
func (w *greedyWorld) speak(h *greedy, mine time.Duration, up, down bool) {
	if up {
		r := &lease.ReportBatch{Sent: mine, Clock: h.made + (mine - h.at), Answered: h.made}
		for i := range h.cuts {
			c := &h.cuts[i]
			if c.told == nil || *c.told != c.CutReport || c.saw != c.spent {
				told := c.CutReport
				c.told, c.saw = &told, c.spent
				r.Cuts = append(r.Cuts, told)
				w.observed[fmt.Sprint(h.id, c.Number)] = c.spent
			}
		}
		w.board.Report(w.now, h.id, r)
		h.sent = mine
	}
	if down {
		h.silence, h.made, h.at = 0, w.now, mine
		if h.sent > h.echo {
			h.echo = h.sent
			h.link.Proof(mine)
		} else {
			h.link.Heard(mine)
		}
	}
}

func (w *greedyWorld) bound() partition.Result {
	return w.board.Picture(w.now).Bound("api/q", w.now, 0)
}

func (w *greedyWorld) check(t *rapid.T) {
	w.spent = append(w.spent, w.total)
	var observed int64
	for _, n := range w.observed {
		observed += n
	}
	r := w.bound()
	require.GreaterOrEqual(t, r.Tokens, observed, "what is observed is in the bound:\n%s", texts(r))
	for _, h := range w.holders {
		var own int64
		for _, c := range h.cuts {
			own += c.spent
		}
		bound := h.own.Bound("api/q", h.clock(w.now))
		require.GreaterOrEqual(t, bound.Tokens, own, "by what the holder itself knows:\n%s", texts(bound))
	}
	if n := len(w.spent); n > lag {
		require.GreaterOrEqual(t, r.Tokens, w.spent[n-lag-1], "and what was spent until six seconds ago, told or not:\n%s", texts(r))
	}
}

func greedyPolicies(t testing.TB) (all []*policy.Set) {
	for _, p := range []string{
		"partition: {mode: local_fallback, rate: {tokens: 50, per: 1s}, burst: 100, for: 10s}",
		"partition: {mode: local_fallback, rate: {tokens: 5, per: 1s}, burst: 300, for: 1m}",
		"partition: {mode: fail_open, ceiling: {tokens: 70, per: 1s}, burst: 10}",
		"partition: {mode: fail_closed}",
	} {
		all = append(all, set(t, limit+p))
	}
	return all
}

func newGreedyWorld(t *rapid.T, policies []*policy.Set, first int) *greedyWorld {
	w := &greedyWorld{now: time.Hour, quotas: policies, inForce: first, observed: map[string]int64{}}
	var err error
	w.board, err = partition.NewBoard(partition.WatchTiming(), lease.DefaultDrift, policies[first], true)
	require.NoError(t, err)
	for i := range rapid.IntRange(1, 3).Draw(t, "holders") {
		w.join(t, i, 0)
	}
	return w
}

func (w *greedyWorld) join(t *rapid.T, i int, incarnation byte) {
	h := &greedy{
		id: who("eu", fmt.Sprint("eu-", i), incarnation), ppm: rapid.Int64Range(-1000, 1000).Draw(t, "ppm"),
		quota: w.quotas[w.inForce].Quota("api/q"), own: partition.NewHistory(lease.DefaultDrift, w.quotas[w.inForce]),
	}
	w.holders = append(w.holders, h)
}

// What is observed never exceeds the bound, nor does what holders had spent six seconds ago, though nobody was told of it yet: whatever breaks, in either direction, whoever dies, and however the policy changes meanwhile.
func TestGreedyHoldersNeverExceedTheBoard(t *testing.T) {
	policies := greedyPolicies(t)
	rapid.Check(t, func(t *rapid.T) {
		w := newGreedyWorld(t, policies, rapid.IntRange(0, len(policies)-1).Draw(t, "policy"))
		for range rapid.IntRange(1, 12).Draw(t, "episodes") {
			ways := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3}), maxGreedy, maxGreedy).Draw(t, "ways")
			switch rapid.IntRange(0, 7).Draw(t, "event") {
			case 0: // one dies, and its successor comes
				i := rapid.IntRange(0, len(w.holders)-1).Draw(t, "who")
				if h := w.holders[i]; !h.dead && len(w.holders) < maxGreedy {
					h.dead = true
					w.join(t, i, byte(len(w.holders)))
				}
			case 1:
				w.inForce = rapid.IntRange(0, len(policies)-1).Draw(t, "policy")
				w.board.SetPolicy(w.now, policies[w.inForce])
				for _, h := range w.holders {
					if h.session != 0 {
						w.board.Parted(w.now, h.id, h.session)
						h.link.Broken(h.clock(w.now), "a new policy")
						h.session = 0
					}
				}
			}
			for range rapid.SampledFrom([]int{1, 5, 25, 40, 80, 150}).Draw(t, "steps") {
				w.now += step
				for i, h := range w.holders {
					if !h.dead {
						w.step(h, ways[i]&1 == 0, ways[i]&2 == 0)
					}
				}
				w.board.Tick(w.now)
				w.check(t)
			}
		}
	})
}

// When all is well again, the bound is that of the cuts as they were, each counted once: the sum that a dumb twin
// makes of them.
func TestAfterTheHealTheBoardHasEachCutOnce(t *testing.T) {
	policies := greedyPolicies(t)[:1]
	rapid.Check(t, func(t *rapid.T) {
		w := newGreedyWorld(t, policies, 0)
		for range rapid.IntRange(1, 8).Draw(t, "episodes") {
			up, down := rapid.Bool().Draw(t, "up"), rapid.Bool().Draw(t, "down")
			for range rapid.SampledFrom([]int{5, 40, 150}).Draw(t, "steps") {
				w.now += step
				for _, h := range w.holders {
					w.step(h, up, down)
				}
				w.check(t)
			}
		}
		for range 200 {
			w.now += step
			for _, h := range w.holders {
				w.step(h, true, true)
			}
			w.check(t)
		}
		var want int64
		for _, h := range w.holders {
			for _, c := range h.cuts {
				require.True(t, c.Closed)
				fallen := new(big.Int).Mul(big.NewInt(50*1001), big.NewInt(int64(min(c.Length, 10*time.Second))))
				fallen.Add(fallen, big.NewInt(1000*int64(time.Second)-1)).Div(fallen, big.NewInt(1000*int64(time.Second)))
				want += 100 + fallen.Int64()
			}
		}
		require.Equal(t, want, w.bound().Tokens, texts(w.bound()))
		require.LessOrEqual(t, w.total, want)
	})
}
