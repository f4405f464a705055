package lease_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// tenths is a window quota of which each of some regions owns a tenth.
func tenths(t *testing.T, tokens int64, length time.Duration, regions ...string) lease.Terms {
	terms := perWindow(t, tokens, length)
	terms.FloorTTL = 10 * time.Minute
	for _, r := range regions {
		terms.Floors = append(terms.Floors, lease.FloorTerms{Region: r, Tokens: tokens / 10})
	}
	return terms
}

// member makes a process of a region that joins by another name.
func (r *rig) member(name, region string) {
	id := lease.HolderID{Region: region, Node: name}
	copy(id.Incarnation[:], name)
	r.holders[name] = lease.NewHolder(lease.HolderConfig{ID: id, Plan: r.plan}, lease.State{})
	r.join(name)
}

// sever has nothing go from or to a holder any more.
func (r *rig) sever(names ...string) {
	if r.closed == nil {
		r.closed = map[string]bool{}
	}
	for _, n := range names {
		r.closed[n] = true
	}
}

// minute lets time pass to the next full minute of the leader's wall clock, and
// a little more.
func (r *rig) minute() {
	wall := r.moment().Wall
	r.run(wall.Truncate(time.Minute).Add(time.Minute).Sub(wall) + time.Second)
}

// windows is what was admitted of a key, by the window that it counts in.
type windows map[int64]int64

// take drains a key at a holder, and notes in which windows.
func (w windows) take(r *rig, holder, key string) (n int64) {
	c := r.holders[holder].Cell(r.terms[0].Quota, key)
	floor := c.View().FloorSpent
	for lease.Decide(r.clock, []*lease.Cell{c}, 1).Outcome == lease.Admitted {
		v := c.View()
		if v.FloorSpent > floor {
			w[c.WindowFloor().Window]++
		} else {
			w[v.Window]++
		}
		floor = v.FloorSpent
		n++
	}
	return n
}

// hammer is rig.hammer that notes the windows.
func (w windows) hammer(r *rig, d time.Duration, key string, holders ...string) (n int64) {
	for end := r.now + d; r.now < end; {
		for _, h := range holders {
			n += w.take(r, h, key)
		}
		r.step(100 * time.Millisecond)
	}
	return n
}

// most is what was admitted in the fullest window.
func (w windows) most() (n int64) {
	for _, v := range w {
		n = max(n, v)
	}
	return n
}

func TestLaw11_AFloorOfAWindowBeginsWithTheNextOne(t *testing.T) {
	r := newRig(t, tenths(t, 100, time.Minute, "us", "eu"))
	for _, n := range []string{"us", "eu", "ap"} {
		r.join(n)
	}
	r.run(time.Second)
	require.Equal(t, 2, r.quota().Floors)
	r.sever("us", "eu")
	require.Equal(t, int64(100), r.hammer(10*time.Second, "k", "ap"), "what nobody owned when it opened reserves nothing")
	require.Zero(t, r.drain("us", "k"))
	r.minute()
	require.Equal(t, int64(80), r.hammer(5*time.Second, "k", "ap"))
	require.Equal(t, int64(10), r.drain("us", "k"))
	require.Equal(t, int64(10), r.drain("eu", "k"))
	require.Zero(t, r.hammer(40*time.Second, "k", "us", "eu", "ap"))
}

func TestLaw11_AHolderThatIsCutOffSpendsItsFloorInEveryWindowOfItsLease(t *testing.T) {
	r := newRig(t, tenths(t, 100, time.Minute, "us"))
	r.join("us")
	r.join("ap")
	r.run(58 * time.Second)
	r.sever("us")
	for range 10 {
		r.minute()
		require.Equal(t, int64(90), r.hammer(5*time.Second, "k", "ap"))
		require.Equal(t, int64(10), r.drain("us", "k"))
		require.Equal(t, int64(10), r.drain("us", "another key"), "of every bucket")
	}
	r.minute()
	require.Zero(t, r.drain("us", "k"), "its lease has ended")
	r.minute()
	require.Equal(t, int64(100), r.hammer(5*time.Second, "k", "ap"), "and reserves nothing in a later window")
}

func TestLaw11_ARestartedProcessSpendsFromNoWindowOfItsPredecessor(t *testing.T) {
	r := newRig(t, tenths(t, 100, time.Minute, "us"))
	r.join("us")
	r.join("ap")
	r.run(2 * time.Minute)
	r.sever("us") // it goes on spending, and nobody knows
	r.member("us again", "us")
	all, again := windows{}, int64(0)
	for range 14 * 60 {
		r.step(time.Second)
		all.take(r, "ap", "k")
		all.take(r, "us", "k")
		again = r.holders["us again"].Cell("api/key", "k").View().FloorSpent
		all.take(r, "us again", "k")
	}
	require.LessOrEqual(t, all.most(), int64(100))
	require.Positive(t, again, "in the end the floor is its own")
}

func TestLaw11_AFloorIsAnothersAtOnceAfterAGoodbye(t *testing.T) {
	r := newRig(t, tenths(t, 100, time.Minute, "us"))
	us := r.join("us")
	r.join("ap")
	r.run(2*time.Minute + 10*time.Second)
	require.Equal(t, int64(10), r.drain("us", "k"))
	require.NoError(t, r.ledger.Report(r.moment(), us.Drain(r.now)))
	r.settle()
	r.sever("us")
	r.member("us again", "us")
	r.run(time.Second)
	require.Equal(t, 1, r.quota().Floors)
	r.sever("us again")
	require.Zero(t, r.drain("us again", "k"))
	require.Equal(t, int64(90), r.hammer(5*time.Second, "k", "ap"), "what the first one spent stays reserved")
	r.minute()
	require.Equal(t, int64(10), r.drain("us again", "k"))
	require.Equal(t, int64(90), r.hammer(5*time.Second, "k", "ap"))
}

func TestLaw11_AGoodbyeGivesUpWhatAFloorDidNotSpend(t *testing.T) {
	r := newRig(t, tenths(t, 100, time.Hour, "us"))
	us := r.join("us")
	r.join("ap")
	r.run(time.Second)
	r.now += time.Hour
	r.run(6 * time.Second)
	require.Equal(t, int64(90), r.hammer(time.Second, "spent in part", "ap"))
	require.Equal(t, int64(10), r.drain("us", "spent in part"), "all of it")
	for range 4 {
		require.Equal(t, lease.Admitted, r.ask("us", "spent in part too", 1).Outcome)
	}
	require.Equal(t, int64(90), r.hammer(time.Second, "never seen in us", "ap"))
	require.NoError(t, r.ledger.Report(r.moment(), us.Drain(r.now)))
	r.settle()
	r.sever("us")
	require.Zero(t, r.hammer(2*time.Second, "spent in part", "ap"))
	require.Equal(t, int64(96), r.hammer(2*time.Second, "spent in part too", "ap"))
	require.Equal(t, int64(10), r.hammer(2*time.Second, "never seen in us", "ap"), "there all of it comes back")
}

// The first leader's wall clock is ahead of the second one's: the owner of the
// floor comes to windows that the second one has still to open.
func TestLaw5_NobodyGainsFromLeadersWhoseClocksAreApart(t *testing.T) {
	for name, d := range map[string]time.Duration{"ahead": 150 * time.Second, "behind": -150 * time.Second} {
		t.Run("the first is "+name, func(t *testing.T) {
			r := newRig(t, tenths(t, 100, time.Minute, "us"))
			r.skew = d
			r.lead()
			r.join("us")
			r.join("ap")
			r.run(4 * time.Minute)
			r.sever("us")
			r.skew = 0
			r.lead()
			r.join("ap")
			r.member("us again", "us")
			all := windows{}
			for range 40 * 60 {
				r.step(time.Second)
				all.take(r, "us", "k")
				all.take(r, "us again", "k")
				all.take(r, "ap", "k")
			}
			require.LessOrEqual(t, all.most(), int64(100))
			require.Equal(t, int64(100), all.most())
			require.Positive(t, r.holders["us again"].Cell("api/key", "k").View().FloorSpent)
		})
	}
}

func TestLaw5_ATakeoverInTheMiddleOfAWindowKnowsWhatFloorsMaySpend(t *testing.T) {
	r := newRig(t, tenths(t, 100, time.Minute, "us", "eu"))
	for _, n := range []string{"us", "eu", "ap"} {
		r.join(n)
	}
	r.run(58 * time.Second)
	r.sever("us", "eu")
	r.minute()
	all := windows{}
	all.hammer(r, time.Second, "k", "ap", "us")
	r.lead()
	r.join("ap")
	all.hammer(r, 20*time.Second, "k", "ap", "us", "eu")
	all.hammer(r, 20*time.Second, "one that has no record", "ap", "us", "eu")
	require.Equal(t, windows{start.Add(r.now).Truncate(time.Minute).UnixMilli(): 200}, all)
}

func TestLaw11_AnIdleFloorOfAWindowComesBackAsTheWindowRuns(t *testing.T) {
	r := newRig(t, tenths(t, 10_000, time.Minute, "us", "eu"))
	us, eu := r.join("us"), r.join("eu")
	r.run(time.Minute)
	n := r.hammer(30*time.Second, "k", "us")
	gone := eu.Cell("api/key", "k").WindowFloor().Gone
	require.InDelta(t, 500, gone, 20, "half of it by the middle")
	require.InDelta(t, 9_000+500, n, 20)
	require.Equal(t, 1000-gone, r.drain("eu", "k"), "what was handed back is not there any more")
	n += 1000 - gone + r.hammer(29*time.Second, "k", "us", "eu")
	require.LessOrEqual(t, n, int64(10_000))
	require.GreaterOrEqual(t, n, int64(9_990))
	require.Positive(t, us.Cell("api/key", "k").View().FloorSpent)
}

func TestLaw11_ABusyRegionGetsTheLimitOfAWindow(t *testing.T) {
	r := newRig(t, tenths(t, 60_000, time.Minute, "us", "eu", "ap"))
	for _, n := range []string{"us", "eu", "ap"} {
		r.join(n)
	}
	r.run(time.Minute)
	for range 3 {
		n := r.hammer(time.Minute, "k", "us")
		t.Logf("%d of 60,000", n)
		require.GreaterOrEqual(t, n, int64(60_000*99/100), "also for a key that the other regions never saw")
		require.LessOrEqual(t, n, int64(60_000))
	}
}

func TestLaw5_AHandbackOfAWindowIsNoneOfTheNext(t *testing.T) {
	r := newRig(t, tenths(t, 10_000, time.Minute, "us", "eu"))
	r.join("us")
	eu := r.join("eu")
	r.run(time.Minute)
	r.hammer(58*time.Second, "k", "us")
	r.now += 500 * time.Millisecond
	batch, ok := eu.Tick(r.now)
	require.True(t, ok)
	require.Len(t, batch.Reports, 1)
	require.Positive(t, batch.Reports[0].FloorReturned)
	r.sever("eu")
	r.run(2 * time.Second)
	r.hammer(time.Second, "k", "us")
	id := lease.BucketID{Quota: "api/key", Key: "k"}
	before, ok := r.ledger.View(id)
	require.True(t, ok)
	require.Greater(t, before.Window, batch.Reports[0].FloorWindow)
	require.NoError(t, r.ledger.Report(r.moment(), batch))
	after, _ := r.ledger.View(id)
	require.Equal(t, before.Used, after.Used)
}

func TestLaw11_WhatWasHandedBackOfAWindowIsCreditedOnce(t *testing.T) {
	r := newRig(t, tenths(t, 10_000, time.Minute, "us", "eu"))
	r.join("us")
	eu := r.join("eu")
	r.run(time.Minute)
	all := windows{}
	all.hammer(r, 20*time.Second, "k", "us")
	r.now += 500 * time.Millisecond
	batch, ok := eu.Tick(r.now)
	require.True(t, ok)
	for range 3 {
		require.NoError(t, r.ledger.Report(r.moment(), batch))
		all.hammer(r, time.Second, "k", "us")
	}
	r.join("eu") // a new session counts from 0 again, and what is gone stays gone
	all.hammer(r, 20*time.Second, "k", "us")
	all.take(r, "eu", "k")
	all.hammer(r, 5*time.Second, "k", "us")
	require.LessOrEqual(t, all.most(), int64(10_000))
	require.Greater(t, all.most(), int64(9_950))
}

func TestLaw12_AChangeOfAWindowsFloorsMintsNothing(t *testing.T) {
	for name, c := range map[string]struct{ tokens, part int64 }{
		"larger floors": {100, 30}, "no floors": {100, 0}, "a smaller limit": {50, 5}, "a larger limit": {200, 20},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tenths(t, 100, time.Minute, "us"))
			r.join("us")
			r.join("ap")
			r.run(58 * time.Second)
			r.sever("us")
			r.minute()
			all := map[string]windows{"k": {}, "one that has no record": {}}
			all["k"].hammer(r, 10*time.Second, "k", "ap")
			next := tenths(t, c.tokens, time.Minute, "us")
			if next.Floors[0].Tokens = c.part; c.part == 0 {
				next.Floors = nil
			}
			r.setPolicy(next)
			r.join("ap")
			r.member("us again", "us")
			for range 14 * 60 { // the floor's lease ends meanwhile
				r.step(time.Second)
				for _, h := range []string{"ap", "us", "us again"} {
					for key := range all {
						all[key].take(r, h, key)
					}
				}
			}
			r.sever("us again")
			r.minute()
			for key := range all {
				require.LessOrEqual(t, all[key].most(), max(100, c.tokens), "the larger limit")
				require.Equal(t, c.tokens-c.part, all[key].hammer(r, 5*time.Second, key, "ap"), "the new one at last")
				require.Equal(t, c.part, all[key].take(r, "us again", key))
			}
		})
	}
}

func TestLaw11_ACellThatSpentItsPartOfAWindowIsNotForgottenInIt(t *testing.T) {
	r := newRig(t, tenths(t, 100, time.Minute, "us"))
	us := r.join("us")
	r.run(time.Minute)
	r.sever("us")
	tick := func(d time.Duration) {
		for end := r.now + d; r.now < end; r.now += 100 * time.Millisecond {
			us.Tick(r.now)
		}
	}
	tick(time.Second)
	require.Equal(t, int64(10), r.drain("us", "k"))
	tick(40 * time.Second)
	require.Zero(t, r.drain("us", "k"))
	require.Equal(t, int64(1), us.Sums(r.now)[0].Cells)
	tick(40 * time.Second)
	require.Zero(t, us.Sums(r.now)[0].Cells, "the next window has begun")
	require.Equal(t, int64(10), r.drain("us", "k"))
}

func TestLaw5_AMonthIsCrossedByTheClockOfAHolderThatIsCutOff(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	terms := tenths(t, 100, time.Minute, "us")
	terms.FloorTTL = 24 * time.Hour
	terms.Windows, err = bucket.CalendarWindows(bucket.Month, berlin, 0)
	require.NoError(t, err)
	r := newRig(t, terms)
	r.skew = 30*24*time.Hour + 8*time.Hour // 21:00 in UTC on the last day of March, 23:00 in Berlin
	r.lead()
	r.join("us")
	r.join("ap")
	r.run(time.Second)
	require.Equal(t, int64(100), r.hammer(time.Second, "k", "ap"))
	r.sever("us")
	r.now += 59 * time.Minute
	require.Zero(t, r.drain("us", "k"))
	r.now += time.Minute
	require.Equal(t, int64(10), r.drain("us", "k"))
	r.now += 10 * time.Hour
	r.step(0)
	require.Zero(t, r.drain("us", "k"))
	require.Equal(t, int64(90), r.hammer(5*time.Second, "k", "ap"))
}

func TestLaw13_FloorsOfALostPastCountInEveryWindow(t *testing.T) {
	r := newRig(t, tenths(t, 100, time.Minute, "us"))
	copied, at := maps.Clone(r.store.entries), r.store.revision
	r.join("us")
	r.run(2 * time.Minute)
	witness := r.join("ap")
	r.sever("us")
	r.store.entries, r.store.revision = copied, at // nobody owned the floor then
	r.lead()
	w, ok := r.ledger.OpenSession()
	require.True(t, ok)
	pieces, err := witness.Welcome(r.now, w)
	require.ErrorIs(t, err, lease.ErrStale)
	require.ErrorIs(t, r.ledger.Hello(r.moment(), pieces[0]), lease.ErrSession)
	r.settle()
	require.ErrorIs(t, r.halt, lease.ErrLostHistory)
	r.lead()
	r.join("ap")
	all := windows{}
	for range 13 * 60 {
		r.step(time.Second)
		all.take(r, "us", "k")
		all.take(r, "ap", "k")
	}
	require.Equal(t, int64(100), all.most())
}
