package wire_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
)

func session() *pb.Session { return &pb.Session{Epoch: &pb.Epoch{History: 1, Revision: 2}, Number: 3} }

func bucketID() *pb.BucketId { return &pb.BucketId{Quota: "api/q", Key: []byte("k")} }

func welcome() *pb.Welcome {
	return &pb.Welcome{
		Cluster: "c", Session: session(), ReportInterval: durationpb.New(1e8), PolicyRevision: 1, Policy: []byte("p"),
	}
}

func hello() *pb.Hello {
	return &pb.Hello{
		Session: session(), Holder: &pb.HolderId{Region: "us", Node: "a", Incarnation: make([]byte, 16)}, SeenEpoch: &pb.Epoch{},
		Claims: []*pb.Claim{{Bucket: bucketID(), Session: session(), Account: 1}},
		Floors: []*pb.FloorClaim{{Quota: "api/q"}},
	}
}

func reports() *pb.ReportBatch {
	return &pb.ReportBatch{
		Session: session(), Reports: []*pb.Report{{Bucket: bucketID()}},
		Cuts: []*pb.CutReport{{Number: 1}}, Overspent: []*pb.Overspend{{Bucket: bucketID(), Cut: 1}},
	}
}

func grants() *pb.GrantBatch {
	return &pb.GrantBatch{
		Session: session(),
		Grants:  []*pb.Grant{{Bucket: bucketID(), Account: 1}},
		Recalls: []*pb.Recall{{Bucket: bucketID(), Account: 1}},
		Floors:  []*pb.FloorGrant{{Quota: "api/q"}},
	}
}

// broken changes a sound message and says what the error must name.
type broken[M any] struct {
	name string
	do   func(M)
	want string
}

// refuse checks that every change is refused by name, and the message without
// one is not.
func refuse[M proto.Message, V any](t *testing.T, sound func() M, to func(M) (V, error), cases []broken[M]) {
	t.Helper()
	_, err := to(sound())
	require.NoError(t, err)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := sound()
			c.do(m)
			_, err := to(m)
			require.ErrorIs(t, err, wire.ErrInvalid)
			require.ErrorContains(t, err, c.want)
		})
	}
	var none M
	_, err = to(none)
	require.ErrorIs(t, err, wire.ErrInvalid)
}

func TestWelcomeRefused(t *testing.T) {
	refuse(t, welcome, wire.ToWelcome, []broken[*pb.Welcome]{
		{"no cluster", func(w *pb.Welcome) { w.Cluster = "" }, "cluster: is empty"},
		{"long cluster", func(w *pb.Welcome) { w.Cluster = strings.Repeat("x", 257) }, "cluster: 257 bytes"},
		{"no session", func(w *pb.Welcome) { w.Session = nil }, "session: is missing"},
		{"no epoch", func(w *pb.Welcome) { w.Session.Epoch = nil }, "session.epoch: is missing"},
		{"session 0", func(w *pb.Welcome) { w.Session.Number = 0 }, "session.number: is 0"},
		{"negative revision", func(w *pb.Welcome) { w.StoreRevision = -1 }, "store_revision: -1"},
		{"negative drift", func(w *pb.Welcome) { w.DriftPpm = -1 }, "drift_ppm: -1"},
		{"drift above 10%", func(w *pb.Welcome) { w.DriftPpm = 100_001 }, "drift_ppm: 100001"},
		{"no interval", func(w *pb.Welcome) { w.ReportInterval = nil }, "report_interval"},
		{"interval 0", func(w *pb.Welcome) { w.ReportInterval = durationpb.New(0) }, "report_interval: 0s"},
		{"interval of an age", func(w *pb.Welcome) { w.ReportInterval = &durationpb.Duration{Seconds: math.MaxInt64} }, "report_interval"},
		{"policy revision 0", func(w *pb.Welcome) { w.PolicyRevision = 0 }, "policy_revision: is 0"},
		{"no policy", func(w *pb.Welcome) { w.Policy = nil }, "policy: is empty"},
	})
}

func TestHelloRefused(t *testing.T) {
	refuse(t, hello, wire.ToHello, []broken[*pb.Hello]{
		{"no session", func(h *pb.Hello) { h.Session = nil }, "session: is missing"},
		{"negative epoch", func(h *pb.Hello) { h.Session.Epoch.Revision = -4 }, "session.epoch.revision: -4"},
		{"long cluster", func(h *pb.Hello) { h.Cluster = strings.Repeat("x", 257) }, "cluster: 257"},
		{"no holder", func(h *pb.Hello) { h.Holder = nil }, "holder: is missing"},
		{"no region", func(h *pb.Hello) { h.Holder.Region = "" }, "holder.region: is empty"},
		{"long region", func(h *pb.Hello) { h.Holder.Region = strings.Repeat("x", 257) }, "holder.region: 257"},
		{"long node", func(h *pb.Hello) { h.Holder.Node = strings.Repeat("x", 257) }, "holder.node: 257"},
		{"incarnation of 15", func(h *pb.Hello) { h.Holder.Incarnation = make([]byte, 15) }, "holder.incarnation: 15 bytes"},
		{"incarnation of 17", func(h *pb.Hello) { h.Holder.Incarnation = make([]byte, 17) }, "holder.incarnation: 17 bytes"},
		{"no seen epoch", func(h *pb.Hello) { h.SeenEpoch = nil }, "seen_epoch: is missing"},
		{"negative seen revision", func(h *pb.Hello) { h.SeenRevision = -1 }, "seen_revision: -1"},
		{"too many claims", func(h *pb.Hello) { h.Claims = make([]*pb.Claim, lease.MaxBatchReports+1) }, "claims: 20001"},
		{"a nil claim", func(h *pb.Hello) { h.Claims[0] = nil }, "claims[0]"},
		{"a claim of no bucket", func(h *pb.Hello) { h.Claims[0].Bucket = nil }, "claims[0]: malformed message: bucket: is missing"},
		{"a claim of no session", func(h *pb.Hello) { h.Claims[0].Session = nil }, "session: is missing"},
		{"a claim below 0", func(h *pb.Hello) { h.Claims[0].Unspent = -1 }, "unspent: -1"},
		{"spent below 0", func(h *pb.Hello) { h.Claims[0].Spent = math.MinInt64 }, "spent: -9223372036854775808"},
		{"returned below 0", func(h *pb.Hello) { h.Claims[0].Returned = -1 }, "returned: -1"},
		{"refunded below 0", func(h *pb.Hello) { h.Claims[0].Refunded = -1 }, "refunded: -1"},
		{"a nil floor", func(h *pb.Hello) { h.Floors[0] = nil }, "floors[0]"},
		{"a floor of no quota", func(h *pb.Hello) { h.Floors[0].Quota = "" }, "quota: is empty"},
		{"a negative slot", func(h *pb.Hello) { h.Floors[0].Slot = -1 }, "slot: -1"},
	})
}

func TestReportBatchRefused(t *testing.T) {
	r := func(do func(*pb.Report)) func(*pb.ReportBatch) { return func(b *pb.ReportBatch) { do(b.Reports[0]) } }
	refuse(t, reports, wire.ToReportBatch, []broken[*pb.ReportBatch]{
		{"no session", func(b *pb.ReportBatch) { b.Session = nil }, "session: is missing"},
		{"sent before time", func(b *pb.ReportBatch) { b.Sent = -1 }, "sent: -1"},
		{"too many", func(b *pb.ReportBatch) { b.Reports = make([]*pb.Report, lease.MaxBatchReports+1) }, "reports: 20001"},
		{"a nil report", func(b *pb.ReportBatch) { b.Reports[0] = nil }, "reports[0]"},
		{"no bucket", r(func(r *pb.Report) { r.Bucket = nil }), "bucket: is missing"},
		{"no quota", r(func(r *pb.Report) { r.Bucket.Quota = "" }), "bucket.quota: is empty"},
		{"key of 1025 bytes", r(func(r *pb.Report) { r.Bucket.Key = make([]byte, 1025) }), "bucket.key: 1025 bytes, at most 1024"},
		{"spent", r(func(r *pb.Report) { r.Spent = -1 }), "spent: -1"},
		{"returned", r(func(r *pb.Report) { r.Returned = -1 }), "returned: -1"},
		{"refunded", r(func(r *pb.Report) { r.Refunded = -1 }), "refunded: -1"},
		{"seen", r(func(r *pb.Report) { r.GrantSeen = -1 }), "grant_seen: -1"},
		{"echo", r(func(r *pb.Report) { r.EchoSeen = -1 }), "echo_seen: -1"},
		{"demand", r(func(r *pb.Report) { r.Demand = -1 }), "demand: -1"},
		{"want", r(func(r *pb.Report) { r.Want = -1 }), "want: -1"},
		{"need", r(func(r *pb.Report) { r.Need = -1 }), "need: -1"},
		{"floor spent", r(func(r *pb.Report) { r.FloorSpent = -1 }), "floor_spent: -1"},
		{"span", r(func(r *pb.Report) { r.Span = -1 }), "span: -1"},
		{"clock", func(b *pb.ReportBatch) { b.Clock = -1 }, "clock: -1"},
		{"answered", func(b *pb.ReportBatch) { b.Answered = -1 }, "answered: -1"},
		{"too many cuts", func(b *pb.ReportBatch) { b.Cuts = make([]*pb.CutReport, lease.MaxBatchReports+1) }, "cuts: 20001"},
		{"a nil cut", func(b *pb.ReportBatch) { b.Cuts[0] = nil }, "cuts[0]"},
		{"cut 0", func(b *pb.ReportBatch) { b.Cuts[0].Number = 0 }, "number: is 0"},
		{"cuts below 0", func(b *pb.ReportBatch) { b.Cuts[0].Count = -1 }, "count: -1"},
		{"a cut of no time", func(b *pb.ReportBatch) { b.Cuts[0].Length = -1 }, "length: -1"},
		{"too many overspends", func(b *pb.ReportBatch) { b.Overspent = make([]*pb.Overspend, lease.MaxBatchReports+1) }, "overspent: 20001"},
		{"a nil overspend", func(b *pb.ReportBatch) { b.Overspent[0] = nil }, "overspent[0]"},
		{"an overspend of no bucket", func(b *pb.ReportBatch) { b.Overspent[0].Bucket = nil }, "bucket: is missing"},
		{"tokens", func(b *pb.ReportBatch) { b.Overspent[0].Tokens = -1 }, "tokens: -1"},
		{"span of an overspend", func(b *pb.ReportBatch) { b.Overspent[0].Span = -1 }, "span: -1"},
	})
}

func TestGrantBatchRefused(t *testing.T) {
	refuse(t, grants, wire.ToGrantBatch, []broken[*pb.GrantBatch]{
		{"no session", func(b *pb.GrantBatch) { b.Session = nil }, "session: is missing"},
		{"echo", func(b *pb.GrantBatch) { b.Echo = -1 }, "echo: -1"},
		{"store revision", func(b *pb.GrantBatch) { b.StoreRevision = -1 }, "store_revision: -1"},
		{"a nil grant", func(b *pb.GrantBatch) { b.Grants[0] = nil }, "grants[0]"},
		{"no bucket", func(b *pb.GrantBatch) { b.Grants[0].Bucket = nil }, "bucket: is missing"},
		{"account 0", func(b *pb.GrantBatch) { b.Grants[0].Account = 0 }, "account: is 0"},
		{"granted", func(b *pb.GrantBatch) { b.Grants[0].Granted = -1 }, "granted: -1"},
		{"ttl", func(b *pb.GrantBatch) { b.Grants[0].Ttl = -1 }, "ttl: -1"},
		{"a deadline that wraps", func(b *pb.GrantBatch) { b.Grants[0].Ttl, b.Grants[0].Echo = math.MaxInt64, 1 }, "beyond all time"},
		{"pool", func(b *pb.GrantBatch) { b.Grants[0].Pool = -1 }, "pool: -1"},
		{"wait", func(b *pb.GrantBatch) { b.Grants[0].Wait = -1 }, "wait: -1"},
		{"a nil recall", func(b *pb.GrantBatch) { b.Recalls[0] = nil }, "recalls[0]"},
		{"a recall of no bucket", func(b *pb.GrantBatch) { b.Recalls[0].Bucket = nil }, "bucket: is missing"},
		{"a recall of account 0", func(b *pb.GrantBatch) { b.Recalls[0].Account = 0 }, "account: is 0"},
		{"keep", func(b *pb.GrantBatch) { b.Recalls[0].Keep = -1 }, "keep: -1"},
		{"a nil floor", func(b *pb.GrantBatch) { b.Floors[0] = nil }, "floors[0]"},
		{"a floor of no quota", func(b *pb.GrantBatch) { b.Floors[0].Quota = "" }, "quota: is empty"},
		{"a floor below 0", func(b *pb.GrantBatch) { b.Floors[0].Tokens = -1 }, "tokens: -1"},
		{"a burst below 0", func(b *pb.GrantBatch) { b.Floors[0].Burst = -1 }, "burst: -1"},
		{"a floor from before 1970", func(b *pb.GrantBatch) { b.Floors[0].Wall = -1 }, "wall: -1"},
		{"a floor's deadline that wraps", func(b *pb.GrantBatch) { b.Floors[0].Ttl, b.Floors[0].Echo = math.MaxInt64, 1 }, "beyond all time"},
	})
}
