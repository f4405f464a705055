package chaos

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/a1009580/leasehold/lease"
)

var errRetired = errors.New("an orderly end")

// World is one run.
type World struct {
	cfg  *Config
	now  time.Duration // true time
	heap heap

	netRNG, storeRNG, wildRNG *rng

	store   *simstore
	coords  []*coordinator
	regions []*region

	// What the judges know.
	bounds      []meter // by quota and key
	register    register
	floors      []*floorWatch
	cuts        []*cutWatch
	tightness   float64      // the greatest share of a bound of cuts that was used
	newest      *coordinator // who won the last election
	newestEpoch lease.Epoch
	censusFrom  time.Duration
	// lost says that the store lost its past and that it was not yet noticed
	// by a leader of a history above lostHistory.
	lost        bool
	everLost    bool
	lostHistory uint64
	wanted      int // the policy that was asked for last
	announcedAs bool

	quotas       []string
	ids          []lease.BucketID
	incarnations uint64
	counts       [kinds]int
	events       int
	decisions    int
	failure      error
	ideal        float64 // share of an ideal bucket that was used
	story        []string
	telling      bool
}

// newWorld builds the world of a configuration.
func newWorld(cfg *Config, telling bool) *World {
	w := &World{
		cfg: cfg, telling: telling, announcedAs: true,
		netRNG: newRNG(cfg.Seed, "net"), storeRNG: newRNG(cfg.Seed, "store"), wildRNG: newRNG(cfg.Seed, "wild"),
	}
	w.register = register{w: w, accounts: map[accountKey]*account{}}
	for _, p := range cfg.Policies {
		for i := range p {
			w.addQuota(p[i].Quota, p[i].Windowed)
		}
	}
	w.promise(0)
	w.store = &simstore{w: w, process: machine(w, "store", &cfg.StoreMachine), revision: 1}
	for i := range cfg.Coordinators {
		c := &coordinator{process: machine(w, "coordinator "+strconv.Itoa(i+1), &cfg.Coordinators[i]), index: i}
		w.coords = append(w.coords, c)
		w.heap.push(time.Duration(i)*time.Millisecond, c.stand)
	}
	for i := range cfg.Regions {
		m := &cfg.Regions[i]
		r := &region{process: machine(w, m.Name+"/"+m.Node, &m.Machine), index: i, cfg: m}
		w.regions = append(w.regions, r)
		w.heap.push(0, r.boot)
	}
	for i := range cfg.Clients {
		c := &cfg.Clients[i]
		dice := newRNG(cfg.Seed, "client"+strconv.Itoa(i))
		w.heap.push(c.From, func() { w.runClient(c, dice) })
	}
	for i := range cfg.Plan {
		a := &cfg.Plan[i]
		w.heap.push(a.At, func() { w.act(a) })
	}
	return w
}

func machine(w *World, name string, m *Machine) process {
	return process{w: w, name: name, up: true, start: m.Offset, ppm: m.PPM, wall: m.Wall}
}

// addQuota makes the buckets of a quota, once.
func (w *World) addQuota(name string, windowed bool) {
	for _, q := range w.quotas {
		if q == name {
			return
		}
	}
	w.quotas = append(w.quotas, name)
	for k := range w.cfg.Keys {
		w.ids = append(w.ids, lease.BucketID{Quota: name, Key: "key " + strconv.Itoa(k+1)})
		w.bounds = append(w.bounds, meter{windowed: windowed})
	}
}

func (w *World) index(c Cell) int                 { return c.Quota*w.cfg.Keys + c.Key }
func (w *World) bucketID(b int) lease.BucketID    { return w.ids[b] }
func (w *World) policyBytes(i int) []byte         { return []byte(strconv.Itoa(i)) }
func (w *World) count(k Kind)                     { w.counts[k]++ }
func (w *World) termsOf(b []byte) []lease.Terms   { return w.cfg.Policies[w.policyIndex(b)] }
func (w *World) policyIndex(b []byte) (index int) { index, _ = strconv.Atoi(string(b)); return index }

func (w *World) bucket(id lease.BucketID) int {
	for i := range w.ids {
		if w.ids[i] == id {
			return i
		}
	}
	return -1
}

// promise has the limits of a policy count from now on.
func (w *World) promise(policy int) {
	p := w.cfg.Policies[policy]
	for i := range p {
		for b := range w.ids {
			if w.ids[b].Quota == p[i].Quota {
				w.bounds[b].allow(w.now, limitOf(policy, &p[i], w.cfg.Drift))
			}
		}
	}
}

// announced notes that a leader enforces a policy: once the leases of older
// ones have passed, only the newest counts.
func (w *World) announced(e lease.Epoch, policy []byte) {
	if w.wanted < 0 && !w.lost && e.History > w.lostHistory {
		w.wanted, w.announcedAs = w.policyIndex(policy), false
	}
	if w.announcedAs || w.policyIndex(policy) != w.wanted {
		return
	}
	w.announcedAs = true
	wanted := w.wanted
	w.heap.push(w.now+w.cfg.Drift.Outlast(w.cfg.ElectionTTL+w.longestLease()), func() {
		if w.wanted != wanted || !w.announcedAs || w.lost {
			return
		}
		for b := range w.bounds {
			w.bounds[b].end(w.now, wanted)
		}
	})
}

// longestLease is that of all policies, floors included.
func (w *World) longestLease() (longest time.Duration) {
	for _, p := range w.cfg.Policies {
		for i := range p {
			longest = max(longest, p[i].TTL)
			if p[i].Windowed {
				start, end := p[i].Windows.Bounds(0)
				longest = max(longest, end.Sub(start))
			}
			if len(p[i].Floors) > 0 {
				longest = max(longest, p[i].FloorTTL)
			}
		}
	}
	return longest
}

// led notes a new leader. One whose key a copy of the store has taken away by
// the time it begins is none.
func (w *World) led(c *coordinator) {
	w.count(Takeover)
	if e := c.ledger.Epoch(); e.Compare(w.newestEpoch) > 0 && c.key == w.store.key {
		w.newest, w.newestEpoch = c, e
	}
	if w.lost && c.ledger.Epoch().History > w.lostHistory {
		w.lost = false
		w.censusFrom = w.now + 2*w.cfg.Drift.Outlast(w.cfg.ElectionTTL+w.longestLease())
	}
}

// losePast notes that the store lost its past.
func (w *World) losePast() {
	w.lost, w.everLost = true, true
	for _, c := range w.coords {
		if c.ledger != nil {
			w.lostHistory = max(w.lostHistory, c.ledger.Epoch().History)
		}
	}
	w.lostHistory = max(w.lostHistory, 1)
	for i := range w.cfg.Policies {
		w.promise(i)
	}
	w.wanted, w.announcedAs = -1, true // whatever the copy says
	w.newestEpoch = lease.Epoch{}
}

// judgeLedger checks a ledger's own laws.
func (w *World) judgeLedger(c *coordinator) {
	if err := c.ledger.Check(); err != nil {
		w.fail("%s: %v", c.name, err)
	}
}

func (w *World) check(err error) {
	if err != nil {
		w.fail("%v", err)
	}
}

// fail ends the run.
func (w *World) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf(format, args...)
		w.tell("VIOLATION: %v", w.failure)
	}
}

// tell adds a line to the story.
func (w *World) tell(format string, args ...any) {
	if w.telling {
		w.story = append(w.story, fmt.Sprintf("%10.3fs  ", w.now.Seconds())+fmt.Sprintf(format, args...))
	}
}

// detail adds a line that only who looks closely wants to read.
func (w *World) detail(format string, args ...any) {
	if w.cfg.Detail {
		w.tell(format, args...)
	}
}

// run lets everything happen until the end or the first violation.
func (w *World) run(until time.Duration) {
	for w.failure == nil {
		if len(w.heap.list) == 0 || w.heap.list[0].at > until {
			w.now = until
			return
		}
		e := w.heap.pop()
		w.now = e.at
		w.events++
		e.do()
	}
}
