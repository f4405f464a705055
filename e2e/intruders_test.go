package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/wire"
)

// plain sends bytes as they are: what no region would send.
type plain struct{}

func (plain) Name() string { return "proto" }

func (plain) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

func (plain) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return errors.ErrUnsupported
	}
	*b = data.Materialize()
	return nil
}

// intruder is one way to misuse a stream.
type intruder struct {
	name string
	code codes.Code // how the coordinator ends it; OK: it took what was said, and saw through it
	why  string
	say  func(w *pb.Welcome) [][]byte
}

// message is one of a region.
func message(m *pb.LeaseRequest) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// hello is a sound one, but for what change does to it.
func hello(w *pb.Welcome, change func(h *pb.Hello)) []byte {
	h := &pb.Hello{
		Session: w.GetSession(), Cluster: w.GetCluster(), PolicyRevision: w.GetPolicyRevision(), SeenEpoch: &pb.Epoch{}, Last: true,
		Holder: &pb.HolderId{Region: "us", Node: "intruder", Incarnation: make([]byte, 16)},
	}
	rand.Read(h.GetHolder().GetIncarnation())
	change(h)
	return message(&pb.LeaseRequest{Message: &pb.LeaseRequest_Hello{Hello: h}})
}

// hot is the bucket that the healthy regions share.
func hot() *pb.BucketId { return &pb.BucketId{Quota: "api/key", Key: []byte("hot")} }

// intruders are all ways. Whoever invents tokens does so for the bucket under
// load, so that they would be spent there.
func intruders() []intruder {
	one := func(say func(w *pb.Welcome) []byte) func(w *pb.Welcome) [][]byte {
		return func(w *pb.Welcome) [][]byte { return [][]byte{say(w)} }
	}
	changed := func(change func(h *pb.Hello)) func(w *pb.Welcome) [][]byte {
		return one(func(w *pb.Welcome) []byte { return hello(w, change) })
	}
	return []intruder{
		{"garbage", codes.Internal, "unmarshal", one(func(*pb.Welcome) []byte { return []byte("\xff\xff\xff\xff") })},
		{"an empty message", codes.InvalidArgument, "neither a Hello nor reports", one(func(*pb.Welcome) []byte { return nil })},
		{"an oversized message", codes.ResourceExhausted, "larger than", one(func(*pb.Welcome) []byte { return make([]byte, wire.MaxMessageBytes+1) })},
		{"a report without a Hello", codes.Aborted, "before the Hello", one(func(w *pb.Welcome) []byte {
			return message(&pb.LeaseRequest{Message: &pb.LeaseRequest_Reports{Reports: &pb.ReportBatch{Session: w.GetSession()}}})
		})},
		{"a foreign cluster", codes.Aborted, `of cluster "other"`, changed(func(h *pb.Hello) { h.Cluster = "other" })},
		{"another's session", codes.Aborted, "the message is of session", changed(func(h *pb.Hello) { h.Session.Number++ })},
		{"a negative claim", codes.InvalidArgument, "claims[0]", changed(func(h *pb.Hello) {
			h.Claims = []*pb.Claim{{Bucket: hot(), Session: h.GetSession(), Account: 1, Unspent: math.MinInt64}}
		})},
		{"invented tokens", codes.OK, "", func(w *pb.Welcome) [][]byte {
			claims := hello(w, func(h *pb.Hello) {
				old := &pb.Session{Epoch: w.GetSession().GetEpoch(), Number: 1}
				h.Claims = []*pb.Claim{{Bucket: hot(), Session: old, Account: 1, Returned: 100_000, Unspent: 100_000}}
			})
			returns := &pb.ReportBatch{Session: w.GetSession(), Sent: 1, Goodbye: true, Reports: []*pb.Report{
				{Bucket: hot(), Account: 1, Returned: 100_000}, {Bucket: hot(), Account: 2, Returned: math.MaxInt64},
			}}
			return [][]byte{claims, message(&pb.LeaseRequest{Message: &pb.LeaseRequest_Reports{Reports: returns}})}
		}},
	}
}

// open begins a stream and waits for the Welcome.
func open(ctx context.Context, t *testing.T, address string) (grpc.ClientStream, *pb.Welcome) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if !assert.NoError(t, err) {
		return nil, nil
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	stream, err := conn.NewStream(ctx, &pb.Coordinator_ServiceDesc.Streams[0], pb.Coordinator_Lease_FullMethodName, grpc.ForceCodecV2(plain{}))
	var first []byte
	if !assert.NoError(t, err) || !assert.NoError(t, stream.RecvMsg(&first)) {
		return nil, nil
	}
	var response pb.LeaseResponse
	assert.NoError(t, proto.Unmarshal(first, &response))
	return stream, response.GetWelcome()
}

// closing waits until the coordinator has ended a stream, and returns how.
func closing(stream grpc.ClientStream) error {
	for {
		var answer []byte
		if err := stream.RecvMsg(&answer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// intrude misuses one stream, in one way.
func (i *intruder) intrude(ctx context.Context, t *testing.T, address string) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	stream, welcome := open(ctx, t, address)
	if stream == nil {
		return
	}
	for _, m := range i.say(welcome) {
		if stream.SendMsg(&m) != nil {
			break // closing tells why
		}
	}
	err := closing(stream)
	assert.Equal(t, i.code, status.Code(err), "%s: %v", i.name, err)
	assert.Contains(t, status.Convert(err).Message(), i.why, i.name)
}

// halfOpen opens n connections that say nothing, n that stop within the first
// words of HTTP/2, and n streams without a Hello; it returns these streams.
func halfOpen(ctx context.Context, t *testing.T, address string, n int) (streams []grpc.ClientStream) {
	t.Helper()
	for _, words := range []string{"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x40\x00\x01\x05"} {
		for range n {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			_, err = io.WriteString(conn, words)
			require.NoError(t, err)
		}
	}
	for range n {
		stream, _ := open(ctx, t, address)
		require.NotNil(t, stream)
		streams = append(streams, stream)
	}
	return streams
}

// TestIntrudersHarmNobody has strangers talk to the coordinator in every way that
// is wrong, again and again, while three regions ask for three times the limit:
// the coordinator lives on, no token is minted, and every region is served.
func TestIntrudersHarmNobody(t *testing.T) {
	c := small(t, "--election-ttl", "10s") // a busy machine must not end what is tried here
	k := c.coordinators[0]
	l := c.hammerAll()
	l.more(t, -1, burst+tokens, "the load is on")
	before := k.books()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	streams := halfOpen(ctx, t, k.grpc, 40)
	enough := make(chan struct{})
	var attack sync.WaitGroup
	ways := intruders()
	for i := range ways {
		attack.Go(func() {
			pace := time.NewTicker(20 * time.Millisecond) // the cores are for the healthy too
			defer pace.Stop()
			for rounds := 0; ; rounds++ {
				select {
				case <-enough:
					t.Logf("%s: %d times", ways[i].name, rounds)
					return
				case <-pace.C:
					ways[i].intrude(ctx, t, k.grpc)
				}
			}
		})
	}
	for i := range c.regions {
		l.more(t, i, tokens/3, "every region is served beside them")
	}
	l.more(t, -1, 5*tokens, "and all that the limit allows is granted")
	close(enough)
	attack.Wait()
	for _, s := range streams {
		assert.Equal(t, codes.DeadlineExceeded, status.Code(closing(s)), "a stream without a Hello is closed")
	}
	cancel()

	code, _ := k.get("/healthz")
	require.Equal(t, http.StatusOK, code)
	k.ready()
	after := k.books()
	require.Equal(t, before.Epoch, after.Epoch, "the leader stayed")
	require.Zero(t, after.Quotas[0].Imbalance)
	require.Positive(t, metric(k, "leasehold_coordinator_malformed_messages_total"))
	eventually(t, "only the regions are connected", func() bool { return metric(k, "leasehold_coordinator_sessions") == float64(len(c.regions)) })
	l.judge(t, promise())
}

// TestARegionOfAnotherClusterIsNotServed starts one that has the wrong address.
func TestARegionOfAnotherClusterIsNotServed(t *testing.T) {
	c := newCluster(t)
	k := c.coordinator("", "--new-cluster")
	k.ready()
	stranger := c.region("us", "--cluster", "other")
	r := c.region("eu")
	r.ready()
	eventually(t, "it says what is wrong", func() bool { return strings.Contains(stranger.log.String(), "it is of cluster") })
	l := hammer(t, "hot", tokens, newHTTP(t, stranger.http), newHTTP(t, r.http))
	l.more(t, 1, burst+tokens, "the other region is served")
	require.Zero(t, l.total(0), "without a policy nothing is decided")
	code, _ := stranger.get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, 1.0, metric(k, "leasehold_coordinator_sessions"))
	l.judge(t, promise())
}
