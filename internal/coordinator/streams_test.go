package coordinator

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
)

// rawCodec sends bytes as they are: what no client of ours would send.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return errors.ErrUnsupported
	}
	*b = data.Materialize()
	return nil
}

// sendRaw sends bytes on a stream of its own and returns how it ended.
func sendRaw(t *testing.T, n *node, message []byte) error {
	t.Helper()
	conn, err := grpc.NewClient(n.rpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	stream, err := conn.NewStream(t.Context(), &pb.Coordinator_ServiceDesc.Streams[0], pb.Coordinator_Lease_FullMethodName,
		grpc.ForceCodecV2(rawCodec{}))
	require.NoError(t, err)
	var answer []byte
	require.NoError(t, stream.RecvMsg(&answer))
	stream.SendMsg(&message) //nolint:errcheck // RecvMsg tells why
	for {
		if err := stream.RecvMsg(&answer); err != nil {
			return err
		}
	}
}

// TestStreamsThatBreakTheProtocol shows that each is refused by name, mints
// nothing, and harms nobody else.
func TestStreamsThatBreakTheProtocol(t *testing.T) {
	n := newRig(t, time.Second).start().leads()
	good := n.join(identity("eu", 1)).hello()
	sound := func(h *holder) lease.Hello {
		return lease.Hello{Session: h.welcome.Session, Holder: h.id, PolicyRevision: h.welcome.PolicyRevision, Last: true}
	}
	malformed := 0
	for _, c := range []struct {
		name string
		code codes.Code
		want string
		do   func(h *holder)
	}{
		{"empty message", codes.InvalidArgument, "neither a Hello nor reports", func(h *holder) { h.send(&pb.LeaseRequest{}) }},
		{"short incarnation", codes.InvalidArgument, "holder.incarnation", func(h *holder) {
			m := helloMessage(sound(h))
			m.GetHello().Holder.Incarnation = []byte("short")
			h.send(m)
		}},
		{"no holder", codes.InvalidArgument, "holder: is missing", func(h *holder) {
			m := helloMessage(sound(h))
			m.GetHello().Holder = nil
			h.send(m)
		}},
		{"negative claim", codes.InvalidArgument, "claims[0]", func(h *holder) {
			s := sound(h)
			s.Claims = []lease.Claim{{Bucket: bucket("k"), Session: s.Session, Account: 1, Unspent: math.MinInt64}}
			h.send(helloMessage(s))
		}},
		{"long key", codes.InvalidArgument, "bucket.key: 1025 bytes", func(h *holder) {
			h.hello()
			h.report(lease.Report{Bucket: bucket(strings.Repeat("k", 1025)), Ask: lease.Ask{Want: 1}})
		}},
		{"too many reports", codes.InvalidArgument, "reports: 20001", func(h *holder) {
			h.hello()
			h.report(make([]lease.Report, lease.MaxBatchReports+1)...)
		}},
		{"foreign cluster", codes.Aborted, `the holder is of cluster "other"`, func(h *holder) {
			s := sound(h)
			s.Cluster = "other"
			h.send(helloMessage(s))
		}},
		{"report before the Hello", codes.Aborted, "before the Hello", func(h *holder) { h.report() }},
		{"another's session", codes.Aborted, "the message is of session", func(h *holder) {
			s := sound(h)
			s.Session = good.welcome.Session
			h.send(helloMessage(s))
		}},
		{"another's session in a report", codes.Aborted, "the message is of session", func(h *holder) {
			h.hello()
			h.welcome.Session = good.welcome.Session
			h.report(lease.Report{Bucket: bucket("k"), Ask: lease.Ask{Want: 1}})
		}},
		{"second Hello", codes.Aborted, "a second Hello", func(h *holder) { h.hello().sayHello() }},
		{"pieces out of order", codes.Aborted, "piece 7", func(h *holder) {
			s := sound(h)
			s.Piece = 7
			h.send(helloMessage(s))
		}},
		{"older policy", codes.Aborted, "policy revision 9", func(h *holder) {
			s := sound(h)
			s.PolicyRevision = 9
			h.send(helloMessage(s))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := n.join(identity("us", 2))
			c.do(h)
			err := h.broken()
			assert.Equal(t, c.code, status.Code(err), "%v", err)
			assert.ErrorContains(t, err, c.want)
		})
		if c.code == codes.InvalidArgument {
			malformed++
		}
	}
	t.Run("oversized", func(t *testing.T) {
		err := sendRaw(t, n, make([]byte, wire.MaxMessageBytes+1))
		assert.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
		assert.ErrorContains(t, err, "larger than")
	})
	t.Run("garbage", func(t *testing.T) {
		err := sendRaw(t, n, []byte("\xff\xff\xff\xff"))
		assert.Equal(t, codes.Internal, status.Code(err), "%v", err)
		assert.ErrorContains(t, err, "failed to unmarshal")
	})
	eventually(t, "all are counted", func() bool {
		return n.metric("leasehold_coordinator_malformed_messages_total") == strconv.Itoa(malformed+2)
	})
	good.want("k", 10)
	eventually(t, "nothing was granted to those", func() bool { return n.status().Quotas[0].Granted == 10 })
}

func TestReportsOfMoreThanWasGrantedChangeNothing(t *testing.T) {
	n := newRig(t, time.Second).start().leads()
	h := n.join(identity("us", 1)).hello()
	g := h.want("k", 10)
	h.report(lease.Report{Bucket: bucket("k"), Account: g.Account, Spent: 0, Returned: math.MaxInt64})
	eventually(t, "it is counted", func() bool { return n.metric("leasehold_coordinator_overspent_reports_total") == "1" })
	st := n.status().Quotas[0]
	assert.Equal(t, int64(10), st.Outstanding)
	assert.Zero(t, st.Imbalance)
	assert.Equal(t, overshoot.Observed{}, *n.overshoot("").Quotas[0].Observed, "such a report proves nothing")
}

func TestAHalfOpenStreamIsClosed(t *testing.T) {
	n := newRig(t, time.Second).start(func(o *Options) { o.HelloTimeout = 100 * time.Millisecond }).leads()
	h := n.join(identity("us", 1))
	err := h.broken()
	assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
	eventually(t, "it is forgotten", func() bool { return n.server.streams.Load() == 0 })
	n.join(identity("us", 2)).hello() // and the deadline ends with the Hello
}

func TestStreamsAreBounded(t *testing.T) {
	n := newRig(t, time.Second).start(func(o *Options) { o.MaxStreams = 2 }).leads()
	a, b := n.join(identity("us", 1)).hello(), n.join(identity("us", 2)).hello()
	_, err := n.dial().Recv()
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	a.want("k", 1)
	require.NoError(t, b.stream.CloseSend())
	require.ErrorIs(t, b.broken(), io.EOF)
	eventually(t, "there is room again", func() bool { return n.server.streams.Load() == 1 })
	n.join(identity("us", 3)).hello()
}

// TestAFloodStarvesNobody has one holder send as much as it can and read
// nothing, beside one that behaves.
func TestAFloodStarvesNobody(t *testing.T) {
	n := newRig(t, 2*time.Second).start(func(o *Options) { o.maxQueued = 5_000 }).leads()
	flood, good := n.join(identity("us", 1)).hello(), n.join(identity("eu", 2)).hello()
	reports := make([]lease.Report, 2_000)
	var flooding sync.WaitGroup
	flooding.Go(func() {
		for sent := time.Duration(1); ; sent++ {
			for i := range reports { // new keys each time: every one is answered
				reports[i] = lease.Report{Bucket: bucket(fmt.Sprint(sent, i)), Ask: lease.Ask{Demand: 1, Want: 1}}
			}
			if flood.stream.Send(reportsMessage(lease.ReportBatch{Session: flood.welcome.Session, Sent: sent, Reports: reports})) != nil {
				return
			}
		}
	})
	served := 0
	eventually(t, "who does not read is cut off", func() bool {
		served++
		good.want(fmt.Sprint("good", served), 1)
		return n.metric(`leasehold_coordinator_streams_ended_total{code="ResourceExhausted"}`) == "1"
	})
	flood.cut() // it would wait for ever to be read
	flooding.Wait()
	for range 10 {
		served++
		good.want(fmt.Sprint("good", served), 1)
	}
}

func TestWhoDoesNotLeadNamesTheLeader(t *testing.T) {
	r := newRig(t, 2*time.Second)
	first := r.start().leads()
	second := r.start()
	eventually(t, "the second stands by", func() bool { s, code := second.get("/readyz"); return code == 200 && strings.HasPrefix(s, "standby") })
	_, err := second.dial().Recv()
	st, ok := status.FromError(err)
	require.True(t, ok)
	assert.Equal(t, codes.FailedPrecondition, st.Code())
	assert.Contains(t, st.Message(), first.rpc)
	require.Len(t, st.Details(), 1)
	info, ok := st.Details()[0].(*errdetails.ErrorInfo)
	require.True(t, ok)
	assert.Equal(t, first.rpc, info.GetMetadata()["leader"])
	assert.Equal(t, ReasonNotLeading, info.GetReason())
	assert.Equal(t, first.rpc, second.status().Leader)
	assert.Equal(t, "0", second.metric("leasehold_coordinator_leader"))
}
