package explore

import (
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// origin is what every clock read when the world began, so that no time is 0.
const origin = time.Hour

var epochStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// World is one state. Worlds share their processes until one of them changes.
type World struct {
	scene   *Scene
	now     time.Duration // true time since the world began, in milliseconds
	leaders []*leader     // in the order of their election
	holders []*process
	up      []*message
	down    []*message
	txns    []txn
	store   *store
	left    Budget
	meter   meter
	fault   error
	// owned are the processes that this world alone has.
	ownLeaders, ownHolders uint8
	ownStore               bool
}

// leader is one coordinator. It keeps which holder is behind a session.
type leader struct {
	ledger   *lease.Ledger
	key      int64 // by which the store knows it
	sessions []int8
	scanned  bool
	alive    bool
	sum      sum
}

// process is the regional process of one region.
type process struct {
	h           *lease.Holder
	id          lease.HolderID
	incarnation uint8
	left        bool // said goodbye
	sum         sum
}

// message is on its way. It never changes, so that worlds share it.
type message struct {
	holder, leader int8
	incarnation    uint8
	report         *lease.ReportBatch
	hello          *lease.Hello
	grants         *lease.GrantBatch
}

type txn struct {
	leader int8
	txn    lease.Txn
}

// Start returns the world in which a scene's search begins.
func (s *Scene) Start() *World {
	w := s.begin()
	for _, a := range s.Prologue {
		w = w.After(a)
	}
	w.left = s.Budget
	return w
}

// begin returns the world before the prologue, in which all may happen.
func (s *Scene) begin() *World {
	w := &World{scene: s, store: newStore(), meter: newMeter(&s.Terms, s.Drift), ownStore: true}
	w.left = Budget{
		Duplicates: 99, Drops: 99, Refusals: 99, Unknowns: 99, Reconnects: 99, Crashes: 99, Leavings: 99,
		Takeovers: 99, Usurpers: 99, Steps: 99,
	}
	for i, region := range s.Holders {
		w.holders = append(w.holders, s.process(region, 0))
		w.ownHolders |= 1 << i
	}
	w.elect()
	return w
}

func (s *Scene) process(region string, incarnation uint8) *process {
	p := &process{id: lease.HolderID{Region: region, Node: "1"}, incarnation: incarnation}
	p.id.Incarnation[0] = incarnation + 1
	p.h = lease.NewHolder(lease.HolderConfig{ID: p.id, Plan: plan}, lease.State{})
	return p
}

// plan asks for a token more than was missing while there is demand, and
// returns everything as soon as there is none.
func plan(u *lease.Usage) lease.Plan {
	if u.Admitted == 0 && u.Refused == 0 {
		return lease.Plan{}
	}
	p := lease.Plan{Keep: u.Limit, Ask: lease.Ask{Want: min(u.Limit, u.MaxRefused+1)}}
	if u.MaxRefused > u.Unspent && u.MaxRefused <= u.Limit {
		p.Ask.Need = u.MaxRefused
	}
	return p
}

// allocate shares as the product does, but rounding always favours the first:
// turns would tell apart states that differ in nothing else, and so would measured
// round trips.
func allocate(s *lease.Situation, targets []lease.Target) {
	s.Turn = 0
	for i := range s.Asks {
		s.Asks[i].RoundTrip = 0 // an average is hardly ever the same twice
	}
	reconcile.Allocate(s, targets)
}

// After returns the world after an action; w stays as it is.
func (w *World) After(a Action) *World {
	c := *w
	c.ownLeaders, c.ownHolders, c.ownStore = 0, 0, false
	c.do(a)
	return &c
}

// holder returns a holder that may be changed.
func (w *World) holder(i int8) *process {
	if w.ownHolders&(1<<i) == 0 {
		p := *w.holders[i]
		p.h, p.sum = p.h.Clone(), sum{}
		w.holders = slices.Clone(w.holders)
		w.holders[i] = &p
		w.ownHolders |= 1 << i
	}
	return w.holders[i]
}

// leader returns a leader that may be changed.
func (w *World) leader(i int8) *leader {
	if w.ownLeaders&(1<<i) == 0 {
		l := *w.leaders[i]
		l.ledger, l.sessions, l.sum = l.ledger.Clone(), slices.Clone(l.sessions), sum{}
		w.leaders = slices.Clone(w.leaders)
		w.leaders[i] = &l
		w.ownLeaders |= 1 << i
	}
	return w.leaders[i]
}

// current is the leader that the store takes writes of.
func (w *World) current() int8 { return int8(len(w.leaders) - 1) }

// holderClock is what a holder's clock reads.
func (w *World) holderClock(i int8) time.Duration {
	return origin + scaled(w.now, w.scene.HolderClocks[i])
}

// moment is what a leader's clocks read.
func (w *World) moment(i int8) lease.Moment {
	d := scaled(w.now, w.leaderDrift(i))
	return lease.Moment{Mono: origin + d, Wall: epochStart.Add(d)}
}

func (w *World) leaderDrift(i int8) int64 {
	return w.scene.LeaderClocks[int(i)%len(w.scene.LeaderClocks)]
}

const million = 1_000_000

// scaled is what passes by a clock that is so many millionths too fast. True
// time goes in steps that leave no remainder.
func scaled(d time.Duration, ppm int64) time.Duration {
	return time.Duration(int64(d) / million * (million + ppm))
}

// unscaled is the first moment of true time at which such a clock shows d.
func unscaled(d time.Duration, ppm int64) time.Duration {
	steps := (int64(d) + million + ppm - 1) / (million + ppm)
	return time.Duration(steps * million)
}

// bucket is the one bucket of the world.
func (w *World) bucket() lease.BucketID {
	return lease.BucketID{Quota: w.scene.Terms.Quota, Key: "k"}
}
