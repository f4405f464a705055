// Package limitertest is a coordinator for tests of what embeds a limiter: the
// real Ledger on a store in memory, spoken to over a real gRPC connection that
// never leaves the process. It can be made to fail in the ways that matter.
package limitertest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/memstore"
	"github.com/a1009580/leasehold/policy"
	"github.com/a1009580/leasehold/reconcile"
)

// Address is what Options.Coordinators names together with Coordinator.Dial.
const Address = "passthrough:///coordinator"

// Cluster is the name of every Coordinator's cluster.
const Cluster = "test"

const (
	// pulse is how often the ledger ticks.
	pulse = 10 * time.Millisecond
	// forever is how long a Coordinator leads.
	forever = time.Duration(1 << 60)
)

// Coordinator leads a cluster of its own. Its methods may be called
// concurrently.
type Coordinator struct {
	pb.UnimplementedCoordinatorServer
	t      TB
	clock  *clock.Clock
	store  *memstore.Store
	server *grpc.Server
	stop   context.CancelFunc
	actors sync.WaitGroup
	delay  time.Duration

	mu       sync.Mutex
	listener *bufconn.Listener
	leader   lease.LeaderKey
	ledger   *lease.Ledger
	sessions map[uint64]*session
	granted  map[account]int64 // the most that each account was granted
	rejoined map[account]int64 // of that, what a claim brought along
	ended    int64             // the sum of those that were closed
	faults   Faults
	goodbyes int
	received int
	mayHalt  bool
	halted   error
}

// account names one account in all of a coordinator's life.
type account struct {
	bucket  lease.BucketID
	session lease.Session
	n       uint64
}

// Faults is what is wrong with a Coordinator.
type Faults struct {
	// Mute takes messages in and sends nothing.
	Mute bool
	// Frozen neither reads nor sends: what is sent to it fills the connection.
	Frozen bool
	// Refusing ends every new stream.
	Refusing bool
	// Dropping loses every second batch of grants.
	Dropping bool
}

// TB is what a Coordinator needs of a test. A *testing.T is one.
type TB interface {
	Helper()
	Error(args ...any)
	Fatal(args ...any)
	Cleanup(f func())
}

// Script is a TB for what is no test, such as an example: it panics where a test
// would fail. Call End when all is done.
type Script struct{ cleanups []func() }

// Helper implements TB.
func (*Script) Helper() {}

// Error implements TB.
func (*Script) Error(args ...any) { panic(fmt.Sprint(args...)) }

// Fatal implements TB.
func (*Script) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Cleanup implements TB.
func (s *Script) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// End runs what was to be cleaned up, the last first.
func (s *Script) End() {
	for _, f := range slices.Backward(s.cleanups) {
		f()
	}
}

// Options are the choices of New.
type Options struct {
	// Policy is a policy file.
	Policy string
	// Delay is how long every answer is on its way.
	Delay time.Duration
	// MayHalt says that it is no failure of the test when the ledger halts.
	MayHalt bool
	// Clock is read by the coordinator; by default it is a new one.
	Clock *clock.Clock
}

// New starts a coordinator, which ends with the test.
func New(t TB, o Options) *Coordinator {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clock.New(1)
	}
	c := &Coordinator{
		t: t, mayHalt: o.MayHalt, clock: o.Clock, delay: o.Delay, store: memstore.New(memstore.Options{Now: o.Clock.Mono, TTL: forever}),
		listener: bufconn.Listen(1 << 20), sessions: map[uint64]*session{}, granted: map[account]int64{}, rejoined: map[account]int64{},
		server: grpc.NewServer(grpc.MaxRecvMsgSize(wire.MaxMessageBytes), grpc.MaxSendMsgSize(wire.MaxMessageBytes)),
	}
	c.lead(o.Policy)
	pb.RegisterCoordinatorServer(c.server, c)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.actors.Go(func() { c.server.Serve(c.listener) }) //nolint:errcheck // it ends by Stop
	c.actors.Go(func() { c.beat(ctx) })
	t.Cleanup(c.Stop)
	return c
}

// Stop ends the coordinator without a word to anyone.
func (c *Coordinator) Stop() {
	c.SetFaults(Faults{})
	c.stop()
	c.server.Stop()
	c.actors.Wait()
}

// Dial connects to the coordinator, whatever the address.
func (c *Coordinator) Dial() grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.DialContext(ctx) })
}

// DialContext connects to the coordinator.
func (c *Coordinator) DialContext(ctx context.Context) (net.Conn, error) {
	return c.listener.DialContext(ctx)
}

// lead makes the first ledger.
func (c *Coordinator) lead(text string) {
	leadership, ok := c.store.Stand("test").Elected()
	if !ok {
		c.t.Fatal("limitertest: not elected")
	}
	c.leader = leadership.Key()
	set := c.parse(text)
	record, _ := lease.PolicyRecord{}.Next(set.MarshalCanonical())
	var err error
	c.ledger, err = lease.NewLedger(lease.Config{
		Cluster: Cluster, Drift: lease.DefaultDrift, ElectionTTL: time.Second, ReportInterval: 100 * time.Millisecond,
		MaxBuckets: 1 << 20, Allocate: reconcile.Allocate, NewCluster: true,
	}, lease.Begin{
		Now: c.clock.Moment(), Leader: c.leader.Revision, Revision: c.leader.Revision, Policy: record, Terms: set.Terms(),
	})
	if err != nil {
		c.t.Fatal("limitertest:", err)
	}
	c.ledger.Extend(forever)
	c.settle()
	c.ledger.Scanned(c.clock.Moment(), nil, true)
	c.settle()
}

func (c *Coordinator) parse(text string) *policy.Set {
	set, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		c.t.Fatal("limitertest:", err)
	}
	return set
}

// beat is what only time brings.
func (c *Coordinator) beat(ctx context.Context) {
	ticker := c.clock.NewTicker(pulse)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		c.mu.Lock()
		c.ledger.Tick(c.clock.Moment())
		c.settle()
		c.mu.Unlock()
	}
}

// settle carries out all that the ledger wants. The caller holds mu.
func (c *Coordinator) settle() {
	ctx := context.Background()
	for {
		r := c.ledger.Ready(c.clock.Moment())
		if r.Halt != nil {
			if c.halted == nil && !c.mayHalt {
				c.t.Error("limitertest: halted:", r.Halt)
			}
			c.halted = r.Halt
			return
		}
		if len(r.Loads)+len(r.Txns)+len(r.Batches)+len(r.Closed) == 0 {
			return
		}
		if len(r.Loads) > 0 {
			keys := make([]string, len(r.Loads))
			for i, id := range r.Loads {
				keys[i] = lease.BucketPrefix + id.Quota + "\x00" + id.Key
			}
			entries, _, err := c.store.Get(ctx, keys)
			if err != nil {
				c.t.Error("limitertest:", err)
			}
			c.ledger.Loaded(c.clock.Moment(), r.Loads, entries)
		}
		for _, txn := range r.Txns {
			revision, err := c.store.Commit(ctx, c.leader, txn.Writes)
			if err != nil {
				c.t.Error("limitertest:", err)
				c.ledger.Failed(txn.ID, err)
				continue
			}
			c.ledger.Committed(c.clock.Moment(), txn.ID, revision)
		}
		for i := range r.Batches {
			c.post(r.Batches[i])
		}
		for _, n := range r.Closed {
			if s := c.sessions[n]; s != nil {
				s.end(nil) // its holder comes again for the new policy
			}
		}
	}
}

// post has a batch sent, and notes what it grants.
func (c *Coordinator) post(b lease.GrantBatch) {
	for _, g := range b.Grants {
		a := account{g.Bucket, b.Session, g.Account}
		c.granted[a] = max(c.granted[a], g.Granted)
		if g.Closed {
			c.ended += c.granted[a] - c.rejoined[a]
			delete(c.granted, a)
			delete(c.rejoined, a)
		}
	}
	if s := c.sessions[b.Session.N]; s != nil {
		s.post(b)
	}
}

// SetFaults changes what is wrong with the coordinator.
func (c *Coordinator) SetFaults(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
	for _, s := range c.sessions {
		s.changed()
	}
}

// Break ends every open stream.
func (c *Coordinator) Break() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		s.end(status.Error(codes.Unavailable, "the stream was broken"))
	}
}

// SetPolicy brings another policy into force.
func (c *Coordinator) SetPolicy(text string) {
	set := c.parse(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, _, err := c.store.Scan(context.Background(), lease.MetaPrefix, "", 1000)
	if err != nil {
		c.t.Error("limitertest:", err)
	}
	stored, err := lease.StoredPolicy(entries)
	if err != nil {
		c.t.Error("limitertest:", err)
	}
	if !c.ledger.SetPolicy(stored.Replace(set.MarshalCanonical()), set.Terms()) {
		c.t.Error("limitertest: the policy cannot be changed now")
	}
	c.settle()
}

// Granted returns the sum of all distinct grants, of all accounts, without what
// claims brought along from an older session.
func (c *Coordinator) Granted() (tokens int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tokens = c.ended
	for a, n := range c.granted {
		tokens += n - c.rejoined[a]
	}
	return tokens
}

// Sessions returns how many sessions are open.
func (c *Coordinator) Sessions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions)
}

// Goodbyes returns how many holders left in good order.
func (c *Coordinator) Goodbyes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goodbyes
}

// Received returns how many messages came.
func (c *Coordinator) Received() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received
}

// Halted returns why the ledger halted, nil if it did not.
func (c *Coordinator) Halted() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halted
}

// Stats returns the ledger's figures by quota.
func (c *Coordinator) Stats() map[string]lease.QuotaStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, quotas := c.ledger.Snapshot()
	byName := map[string]lease.QuotaStats{}
	for i := range quotas {
		byName[quotas[i].Quota] = quotas[i]
	}
	return maps.Clone(byName)
}

// Check fails the test if the ledger's books do not balance (law 16).
func (c *Coordinator) Check() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ledger.Check(); err != nil {
		c.t.Error("limitertest:", fmt.Errorf("the books: %w", err))
	}
}
