package lab

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/reconcile"
)

// Terms are what a run of ours may change of a quota; zero values are the
// defaults.
type Terms struct {
	TTL  time.Duration // of leases, 5 s
	Size int64         // of a lease; 0 is by demand
	// Window makes it a window quota of so many tokens in an hour, of which a
	// run sees one; the limit's rate and burst are then nothing.
	Window int64
}

// ours is the shipping code between a simulated network and a simulated store:
// one coordinator, and one regional process in each region, in the mode
// fail_closed. Floors are not part of it.
type ours struct {
	w       *world
	terms   lease.Terms
	ledger  *lease.Ledger
	store   *shelf
	places  []*place
	pumping bool
}

const (
	quotaName = "quota"
	keyName   = "key"
	// What the shells do: see packages limiter and internal/coordinator.
	reportInterval = 100 * time.Millisecond
	hurried        = 10 * time.Millisecond
	ledgerTick     = 10 * time.Millisecond
	coldWait       = time.Second
	// commitTime is what a durable write takes on a disk nearby.
	commitTime = 2 * time.Millisecond
)

// began is when a run begins by everybody's wall clock.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newOurs builds runs of the shipping code.
func newOurs(t Terms) func(w *world) system {
	return func(w *world) system {
		s := &ours{w: w, store: &shelf{entries: map[string]lease.Entry{}, revision: 1}}
		s.terms = lease.Terms{
			Quota: quotaName, Tokens: w.Limit.Rate, Per: time.Second, Burst: w.Limit.Burst, TTL: t.TTL, Size: t.Size,
			FloorTTL: 10 * time.Minute,
		}
		if t.TTL == 0 {
			s.terms.TTL = 5 * time.Second
		}
		if t.Window > 0 {
			hours, err := bucket.FixedWindows(time.Hour)
			if err != nil {
				w.fail(err)
			}
			s.terms.Tokens, s.terms.Per, s.terms.Burst = t.Window, 0, 0
			s.terms.Windowed, s.terms.Windows = true, hours
		}
		if err := s.lead(); err != nil {
			w.fail(fmt.Errorf("the ledger does not open: %w", err))
			return s
		}
		for i := range w.K {
			s.places = append(s.places, newPlace(s, i))
		}
		return s
	}
}

// lead opens the ledger, which leads for good.
func (s *ours) lead() error {
	var none lease.PolicyRecord
	policy, _ := none.Next([]byte("policy"))
	var err error
	s.ledger, err = lease.NewLedger(lease.Config{
		Cluster: "lab", Drift: lease.DefaultDrift, ElectionTTL: 2 * time.Second, ReportInterval: reportInterval,
		MaxBuckets: 10, Allocate: reconcile.Allocate, NewCluster: true,
	}, lease.Begin{Now: s.moment(), Leader: 1, Revision: 1, Policy: policy, Terms: []lease.Terms{s.terms}})
	if err != nil {
		return err
	}
	s.ledger.Extend(s.w.end + time.Hour)
	s.w.every(ledgerTick, 0, func() {
		s.ledger.Tick(s.moment())
		s.pump()
	})
	return nil
}

func (s *ours) moment() lease.Moment { return lease.Moment{Mono: s.w.now, Wall: began.Add(s.w.now)} }

// look has the ledger looked at once for all that happens at this moment.
func (s *ours) look() {
	if s.pumping {
		return
	}
	s.pumping = true
	s.w.after(0, s.pump)
}

// pump does what the ledger wants done.
func (s *ours) pump() {
	s.pumping = false
	r := s.ledger.Ready(s.moment())
	if r.Halt != nil {
		s.w.fail(fmt.Errorf("the ledger halts: %w", r.Halt))
		return
	}
	if len(r.Loads) > 0 {
		s.w.after(commitTime, func() {
			s.ledger.Loaded(s.moment(), r.Loads, s.store.get(r.Loads))
			s.look()
		})
	}
	for _, t := range r.Txns {
		s.w.after(commitTime, func() {
			revision, err := s.store.commit(t.Writes)
			if err != nil {
				s.w.fail(err)
				return
			}
			s.ledger.Committed(s.moment(), t.ID, revision)
			s.look()
		})
	}
	for i := range r.Batches {
		s.deliver(r.Batches[i])
	}
}

// deliver sends a batch to its region.
func (s *ours) deliver(b lease.GrantBatch) {
	for _, p := range s.places {
		if p.session == b.Session {
			s.w.traffic.Grants += int64(len(b.Grants))
			s.w.traffic.Recalls += int64(len(b.Recalls))
			s.w.send(p.i, proto.Size(wire.FromGrantBatch(b)), func() { p.grants(b) })
			return
		}
	}
}

// ask decides by the holder of the region.
func (s *ours) ask(q *Request) {
	if s.w.failure == nil {
		s.places[q.Region].ask(q)
	}
}

// pool is what the ledger can grant, or could as soon as it is set aside.
func (s *ours) pool() (level, taken int64) {
	if s.ledger == nil {
		return 0, 0
	}
	_, quotas := s.ledger.Snapshot()
	v, ok := s.ledger.View(lease.BucketID{Quota: quotaName, Key: keyName})
	switch {
	case ok:
		level = v.Pool + v.Pending + v.Chunk
	case s.terms.Windowed:
		level = s.terms.Tokens // nobody asked yet
	default:
		level = s.terms.Burst // nobody asked yet, or for so long that it is full
	}
	return level, quotas[0].Granted
}

// held is what the holder could admit from its lease.
func (s *ours) held(i int) int64 {
	if len(s.places) <= i || s.places[i].cell == nil {
		return 0
	}
	v := s.places[i].cell.View()
	if !v.Leased || s.w.now >= v.Deadline {
		return 0
	}
	return v.Available
}

// shelf is a store that obeys.
type shelf struct {
	entries  map[string]lease.Entry
	revision int64
}

var errConflict = errors.New("the ledger expected another revision of a record")

func (s *shelf) commit(writes []lease.Write) (int64, error) {
	for _, w := range writes {
		if s.entries[w.Key].Revision != w.Expect {
			return 0, fmt.Errorf("%w: %q", errConflict, w.Key)
		}
	}
	s.revision++
	for _, w := range writes {
		if w.Value == nil {
			delete(s.entries, w.Key)
			continue
		}
		s.entries[w.Key] = lease.Entry{Key: w.Key, Value: w.Value, Revision: s.revision}
	}
	return s.revision, nil
}

func (s *shelf) get(ids []lease.BucketID) (found []lease.Entry) {
	for _, id := range ids {
		if e, ok := s.entries[lease.BucketPrefix+id.Quota+"\x00"+id.Key]; ok {
			found = append(found, e)
		}
	}
	return found
}
