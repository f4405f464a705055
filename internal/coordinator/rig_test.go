package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long anything may take on a busy machine; nothing waits for
// it when all is well.
const patience = 20 * time.Second

const testPolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: q
    match: {key: "*"}
    limit: {tokens: 1000, per: 1s, burst: 1000}
    lease: {size: 10} # a holder is granted what it asks for, and lent nothing more
    partition: {mode: fail_closed}
    regions: {us: {}, eu: {}}
`

const quotaID = "api/q"

// rig is a store, and the coordinators on it.
type rig struct {
	t     *testing.T
	clock *clock.Clock
	store *memstore.Store
}

func newRig(t *testing.T, ttl time.Duration) *rig { return newRigAt(t, ttl, 1) }

// newRigAt is a rig whose clock runs so many times faster than true time.
func newRigAt(t *testing.T, ttl time.Duration, speed float64) *rig {
	c := clock.New(speed)
	return &rig{t: t, clock: c, store: memstore.New(memstore.Options{Now: c.Mono, After: c.After, TTL: ttl})}
}

// node is one coordinator that runs.
type node struct {
	t      *testing.T
	server *Server
	rpc    string
	web    string
	log    *logBook
	stop   context.CancelFunc
	done   chan struct{}
	err    error // belongs to the closer of done
}

// logBook is a log that a test reads.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// start runs a coordinator until the test ends.
func (r *rig) start(change ...func(*Options)) *node {
	r.t.Helper()
	n := &node{t: r.t, log: &logBook{}, done: make(chan struct{})}
	o := Options{
		Listener: listen(r.t), HTTPListener: listen(r.t), Backing: Backing{Store: r.store, Elector: r.store}, Clock: r.clock,
		Policy: []byte(testPolicy), PolicyName: "policy.yaml", NewCluster: true, Log: slog.New(slog.NewTextHandler(n.log, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	n.rpc, n.web = o.Listener.Addr().String(), "http://"+o.HTTPListener.Addr().String()
	var err error
	n.server, err = New(o)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	go func() {
		defer close(n.done)
		n.err = n.server.Run(ctx)
	}()
	r.t.Cleanup(func() {
		cancel()
		<-n.done
		if r.t.Failed() {
			r.t.Logf("the log of %s:\n%s", n.rpc, n.log)
		}
	})
	return n
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, 2*time.Millisecond, what)
}

// leads waits until the coordinator leads.
func (n *node) leads() *node {
	n.t.Helper()
	eventually(n.t, "it leads", func() bool { s, code := n.get("/readyz"); return code == 200 && strings.HasPrefix(s, "leader") })
	return n
}

// ended waits for the end of Run and returns its error.
func (n *node) ended() error {
	n.t.Helper()
	select {
	case <-n.done:
		return n.err
	case <-time.After(patience):
		require.FailNow(n.t, "Run does not return")
		return nil
	}
}

func (n *node) get(path string) (body string, code int) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, n.web+path, http.NoBody)
	require.NoError(n.t, err)
	resp, err := client.Do(req)
	if err != nil {
		return err.Error(), 0
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error(), 0
	}
	return string(data), resp.StatusCode
}

func (n *node) status() (st statusBody) {
	n.t.Helper()
	body, _ := n.get("/v1/status")
	require.NoError(n.t, json.Unmarshal([]byte(body), &st))
	return st
}

// overshoot asks for a report.
func (n *node) overshoot(query string) (r overshoot.Report) {
	n.t.Helper()
	body, code := n.get("/v1/overshoot" + query)
	require.Equal(n.t, 200, code, body)
	require.NoError(n.t, json.Unmarshal([]byte(body), &r))
	return r
}

// links asks for the links.
func (n *node) links() (l overshoot.Links) {
	n.t.Helper()
	body, code := n.get("/v1/links")
	require.Equal(n.t, 200, code, body)
	require.NoError(n.t, json.Unmarshal([]byte(body), &l))
	return l
}

// metric returns a line of the metrics.
func (n *node) metric(name string) string {
	body, _ := n.get("/metrics")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// holder is a fake one: it says what a test tells it to.
type holder struct {
	t       *testing.T
	id      lease.HolderID
	stream  pb.Coordinator_LeaseClient
	welcome lease.Welcome
	sent    time.Duration
	made    time.Duration      // of the last message that answer waited for
	cut     context.CancelFunc // breaks the stream off
	seen    lease.Epoch
	rev     int64
}

func identity(region string, n byte) lease.HolderID {
	return lease.HolderID{Region: region, Node: "node", Incarnation: [16]byte{n}}
}

// dial opens a stream, which ends with the test.
func (n *node) dial() pb.Coordinator_LeaseClient {
	n.t.Helper()
	stream, _ := n.open()
	return stream
}

func (n *node) open() (pb.Coordinator_LeaseClient, context.CancelFunc) {
	n.t.Helper()
	conn, err := grpc.NewClient(n.rpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(n.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	n.t.Cleanup(func() { cancel(); conn.Close() })
	stream, err := pb.NewCoordinatorClient(conn).Lease(ctx)
	require.NoError(n.t, err)
	return stream, cancel
}

// join connects a holder up to its Welcome.
func (n *node) join(id lease.HolderID) *holder {
	n.t.Helper()
	h := &holder{t: n.t, id: id}
	h.stream, h.cut = n.open()
	m, err := h.stream.Recv()
	require.NoError(n.t, err)
	h.welcome, err = wire.ToWelcome(m.GetWelcome())
	require.NoError(n.t, err)
	return h
}

func (h *holder) send(m *pb.LeaseRequest) { h.stream.Send(m) } //nolint:errcheck // Recv tells why a stream broke

// hello says a whole Hello and waits for the answer.
func (h *holder) hello(claims ...lease.Claim) *holder {
	h.t.Helper()
	h.sayHello(claims...)
	_, err := h.next()
	require.NoError(h.t, err)
	return h
}

func (h *holder) sayHello(claims ...lease.Claim) {
	h.send(helloMessage(lease.Hello{
		Session: h.welcome.Session, Holder: h.id, Last: true, Claims: claims,
		SeenEpoch: h.seen, SeenRevision: h.rev, PolicyRevision: h.welcome.PolicyRevision,
	}))
}

func helloMessage(hello lease.Hello) *pb.LeaseRequest {
	return &pb.LeaseRequest{Message: &pb.LeaseRequest_Hello{Hello: wire.FromHello(hello)}}
}

func (h *holder) report(reports ...lease.Report) {
	h.sent += time.Millisecond
	h.send(reportsMessage(lease.ReportBatch{Session: h.welcome.Session, Sent: h.sent, Reports: reports}))
}

func reportsMessage(b lease.ReportBatch) *pb.LeaseRequest {
	return &pb.LeaseRequest{Message: &pb.LeaseRequest_Reports{Reports: wire.FromReportBatch(b)}}
}

// next waits for a batch of grants.
func (h *holder) next() (lease.GrantBatch, error) {
	m, err := h.stream.Recv()
	if err != nil {
		return lease.GrantBatch{}, err
	}
	return wire.ToGrantBatch(m.GetGrants())
}

// bucket is the bucket of a key.
func bucket(key string) lease.BucketID { return lease.BucketID{Quota: quotaID, Key: key} }

// want asks for tokens of a bucket until they are granted.
func (h *holder) want(key string, tokens int64) lease.Grant {
	h.t.Helper()
	h.report(lease.Report{Bucket: bucket(key), Ask: lease.Ask{Demand: 1, Want: tokens}})
	var last lease.Grant
	for {
		b, err := h.next()
		require.NoError(h.t, err)
		for _, g := range b.Grants {
			if g.Bucket.Key == key {
				last = g
			}
		}
		if last.Granted >= tokens {
			return last
		}
		h.report(lease.Report{Bucket: bucket(key), Account: last.Account, GrantSeen: last.Granted, EchoSeen: last.Echo, Ask: lease.Ask{Demand: 1, Want: tokens}})
	}
}

// broken waits until the stream ends and returns why.
func (h *holder) broken() error {
	for {
		if _, err := h.stream.Recv(); err != nil {
			return err
		}
	}
}
