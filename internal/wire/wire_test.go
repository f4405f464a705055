package wire_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/lease"
)

// travel marshals a message and reads it back, as a stream does.
func travel[M proto.Message](t require.TestingT, m, into M) M {
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(data, into))
	return into
}

var (
	amounts = rapid.Int64Min(0)
	times   = rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "time"))
	})
	names = rapid.StringN(1, 20, 256)
	keys  = rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.Byte(), 0, lease.MaxKeyLen).Draw(t, "key"))
	})
	epochs = rapid.Custom(func(t *rapid.T) lease.Epoch {
		return lease.Epoch{History: rapid.Uint64().Draw(t, "h"), Revision: amounts.Draw(t, "r")}
	})
	sessions = rapid.Custom(func(t *rapid.T) lease.Session {
		return lease.Session{Epoch: epochs.Draw(t, "epoch"), N: rapid.Uint64Min(1).Draw(t, "n")}
	})
	buckets = rapid.Custom(func(t *rapid.T) lease.BucketID {
		return lease.BucketID{Quota: names.Draw(t, "quota"), Key: keys.Draw(t, "key")}
	})
)

// some draws a list that is nil when it is empty, as the decoders return it.
func some[V any](t *rapid.T, name string, draw func(*rapid.T) V) []V {
	var list []V
	for range rapid.IntRange(0, 5).Draw(t, name) {
		list = append(list, draw(t))
	}
	return list
}

func TestWelcomeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := lease.Welcome{
			Cluster: names.Draw(t, "cluster"), Session: sessions.Draw(t, "session"), StoreRevision: amounts.Draw(t, "rev"),
			Drift:          lease.Drift(rapid.Int64Range(0, 100_000).Draw(t, "drift")),
			ReportInterval: time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Hour)).Draw(t, "interval")),
			PolicyRevision: rapid.Uint64Min(1).Draw(t, "policy"),
			Policy:         rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "text"),
		}
		got, err := wire.ToWelcome(travel(t, wire.FromWelcome(w), &pb.Welcome{}))
		require.NoError(t, err)
		require.Equal(t, w, got)
	})
}

func TestHelloRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := lease.Hello{
			Session: sessions.Draw(t, "session"), Cluster: rapid.SampledFrom([]string{"", "blue"}).Draw(t, "cluster"),
			Holder:    lease.HolderID{Region: names.Draw(t, "region"), Node: names.Draw(t, "node")},
			SeenEpoch: epochs.Draw(t, "seen"), SeenRevision: amounts.Draw(t, "rev"), PolicyRevision: rapid.Uint64().Draw(t, "policy"),
			Piece: rapid.Uint32().Draw(t, "piece"), Last: rapid.Bool().Draw(t, "last"),
		}
		copy(h.Holder.Incarnation[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "incarnation"))
		h.Claims = some(t, "claims", func(t *rapid.T) lease.Claim {
			return lease.Claim{
				Bucket: buckets.Draw(t, "bucket"), Session: sessions.Draw(t, "of"), Account: rapid.Uint64().Draw(t, "account"),
				Spent: amounts.Draw(t, "s"), Returned: amounts.Draw(t, "r"), Refunded: amounts.Draw(t, "rf"), Unspent: amounts.Draw(t, "u"), Window: rapid.Int64().Draw(t, "w"),
			}
		})
		h.Floors = some(t, "floors", func(t *rapid.T) lease.FloorClaim {
			return lease.FloorClaim{Quota: names.Draw(t, "quota"), Slot: rapid.Int32Min(0).Draw(t, "slot"), Grant: rapid.Uint64().Draw(t, "grant")}
		})
		got, err := wire.ToHello(travel(t, wire.FromHello(h), &pb.Hello{}))
		require.NoError(t, err)
		require.Equal(t, h, got)
	})
}

func report(t *rapid.T) lease.Report {
	return lease.Report{
		Bucket: buckets.Draw(t, "bucket"), Account: rapid.Uint64().Draw(t, "account"),
		Spent: amounts.Draw(t, "s"), Returned: amounts.Draw(t, "r"), Refunded: amounts.Draw(t, "rf"), GrantSeen: amounts.Draw(t, "g"), FloorGrant: rapid.Uint64().Draw(t, "f"), FloorReturned: amounts.Draw(t, "fr"), FloorWindow: rapid.Int64().Draw(t, "fw"), EchoSeen: times.Draw(t, "e"),
		Ask:   lease.Ask{Demand: amounts.Draw(t, "d"), Want: amounts.Draw(t, "w"), Need: amounts.Draw(t, "n")},
		Close: rapid.Bool().Draw(t, "close"), FloorSpent: amounts.Draw(t, "fs"), Span: times.Draw(t, "span"),
	}
}

func grant(t *rapid.T) lease.Grant {
	return lease.Grant{
		Bucket: buckets.Draw(t, "bucket"), Account: rapid.Uint64Min(1).Draw(t, "account"), Granted: amounts.Draw(t, "g"),
		TTL: times.Draw(t, "ttl"), Echo: times.Draw(t, "echo"), Window: rapid.Int64().Draw(t, "w"),
		Pool: amounts.Draw(t, "pool"), Wait: times.Draw(t, "wait"), Closed: rapid.Bool().Draw(t, "closed"),
	}
}

func floorReturn(t *rapid.T) lease.FloorReturn {
	return lease.FloorReturn{
		Quota: names.Draw(t, "quota"), Slot: rapid.Int32Min(0).Draw(t, "slot"), Grant: rapid.Uint64().Draw(t, "grant"), Window: rapid.Int64().Draw(t, "w"),
	}
}

func TestReportBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := lease.ReportBatch{
			Session: sessions.Draw(t, "session"), Sent: times.Draw(t, "sent"),
			Reports: some(t, "reports", report), Goodbye: rapid.Bool().Draw(t, "bye"), Floors: some(t, "floors", floorReturn),
			Part: rapid.Uint32().Draw(t, "part"), Clock: times.Draw(t, "clock"), Answered: times.Draw(t, "answered"), Owes: rapid.Uint64().Draw(t, "owes"),
		}
		b.Cuts = some(t, "cuts", func(t *rapid.T) lease.CutReport {
			return lease.CutReport{
				Number: rapid.Uint64Min(1).Draw(t, "n"), Count: amounts.Draw(t, "count"), Length: times.Draw(t, "length"),
				Closed: rapid.Bool().Draw(t, "closed"),
			}
		})
		b.Overspent = some(t, "overspent", func(t *rapid.T) lease.Overspend {
			return lease.Overspend{
				Bucket: buckets.Draw(t, "bucket"), Cut: rapid.Uint64().Draw(t, "cut"), Window: rapid.Int64().Draw(t, "w"),
				Tokens: amounts.Draw(t, "tokens"), Span: times.Draw(t, "span"),
			}
		})
		got, err := wire.ToReportBatch(travel(t, wire.FromReportBatch(b), &pb.ReportBatch{}))
		require.NoError(t, err)
		require.Equal(t, b, got)
	})
}

func TestGrantBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := lease.GrantBatch{
			Session: sessions.Draw(t, "session"), Echo: times.Draw(t, "echo"),
			PolicyRevision: rapid.Uint64().Draw(t, "policy"), StoreRevision: amounts.Draw(t, "store"),
			Wall: amounts.Draw(t, "wall"), Made: times.Draw(t, "made"), Grants: some(t, "grants", grant),
		}
		b.Recalls = some(t, "recalls", func(t *rapid.T) lease.Recall {
			return lease.Recall{Bucket: buckets.Draw(t, "bucket"), Account: rapid.Uint64Min(1).Draw(t, "a"), Keep: amounts.Draw(t, "keep"), FloorGrant: rapid.Uint64().Draw(t, "floor"), FloorSeen: amounts.Draw(t, "seen"), FloorWindow: rapid.Int64().Draw(t, "fw")}
		})
		b.Floors = some(t, "floors", func(t *rapid.T) lease.FloorGrant {
			return lease.FloorGrant{
				Quota: names.Draw(t, "quota"), Slot: rapid.Int32Min(0).Draw(t, "slot"), Grant: rapid.Uint64().Draw(t, "grant"),
				Tokens: amounts.Draw(t, "tokens"), Burst: amounts.Draw(t, "burst"), TTL: times.Draw(t, "ttl"), Echo: times.Draw(t, "echo"),
				First: rapid.Int64().Draw(t, "first"), Wall: amounts.Draw(t, "wall"),
			}
		})
		got, err := wire.ToGrantBatch(travel(t, wire.FromGrantBatch(b), &pb.GrantBatch{}))
		require.NoError(t, err)
		require.Equal(t, b, got)
	})
}

// TestSplit shows that the parts of a batch fit a message each and are the
// batch when put together.
func TestSplit(t *testing.T) {
	long := strings.Repeat("k", lease.MaxKeyLen)
	var reports lease.ReportBatch
	var grants lease.GrantBatch
	for i := range 45_000 {
		id := lease.BucketID{Quota: "api/q", Key: long[:i%lease.MaxKeyLen]}
		reports.Reports = append(reports.Reports, lease.Report{Bucket: id, Spent: math.MaxInt64, Returned: math.MaxInt64, Refunded: math.MaxInt64, GrantSeen: math.MaxInt64, EchoSeen: math.MaxInt64, Account: math.MaxUint64})
		grants.Grants = append(grants.Grants, lease.Grant{Bucket: id, Account: uint64(i + 1), Granted: math.MaxInt64, TTL: math.MaxInt64, Echo: math.MaxInt64, Window: -1, Pool: math.MaxInt64, Wait: math.MaxInt64})
		grants.Recalls = append(grants.Recalls, lease.Recall{Bucket: id, Account: uint64(i + 1)})
		grants.Floors = append(grants.Floors, lease.FloorGrant{Quota: "api/q", Slot: int32(i)})
	}
	reports.Session, reports.Sent, reports.Goodbye = lease.Session{N: 7}, 9, true
	reports.Floors = []lease.FloorReturn{{Quota: "api/q", Grant: 1}}
	grants.Session = lease.Session{N: 7}

	var again lease.ReportBatch
	parts := wire.SplitReports(reports)
	for i, p := range parts {
		require.Equal(t, reports.Sent, p.Sent)
		require.Equal(t, i == len(parts)-1, p.Goodbye, "only the last one says goodbye")
		require.Equal(t, p.Goodbye, len(p.Floors) == 1)
		require.LessOrEqual(t, len(p.Reports), lease.MaxBatchReports)
		require.Less(t, proto.Size(wire.FromReportBatch(p)), wire.MaxMessageBytes)
		again.Reports = append(again.Reports, p.Reports...)
	}
	require.Equal(t, reports.Reports, again.Reports)

	var whole lease.GrantBatch
	for _, p := range wire.SplitGrants(grants) {
		require.Less(t, proto.Size(wire.FromGrantBatch(p)), wire.MaxMessageBytes)
		whole.Grants = slices.Concat(whole.Grants, p.Grants)
		whole.Recalls = slices.Concat(whole.Recalls, p.Recalls)
		whole.Floors = slices.Concat(whole.Floors, p.Floors)
	}
	require.Equal(t, grants.Grants, whole.Grants)
	require.Equal(t, grants.Recalls, whole.Recalls)
	require.Equal(t, grants.Floors, whole.Floors)

	for _, n := range []int{10, 1000, 2500, 25_000} {
		over := lease.ReportBatch{Reports: reports.Reports[:5000], Cuts: []lease.CutReport{{Number: 1}}, Goodbye: true}
		for range n {
			over.Overspent = append(over.Overspent, lease.Overspend{Bucket: lease.BucketID{Quota: "api/q", Key: long}, Cut: 1, Tokens: math.MaxInt64})
		}
		parts = wire.SplitReports(over)
		told, overs := 0, 0
		for i, p := range parts {
			require.Less(t, proto.Size(wire.FromReportBatch(p)), wire.MaxMessageBytes)
			require.Equal(t, uint32(i), p.Part)
			require.Equal(t, i == len(parts)-1, p.Goodbye)
			require.Equal(t, i == 0, len(p.Cuts) == 1)
			require.True(t, slices.Equal(over.Overspent[overs:overs+len(p.Overspent)], p.Overspent), "in order")
			overs += len(p.Overspent)
			told += len(p.Reports)
		}
		require.Equal(t, 5000, told)
		require.Equal(t, n, overs)
		if n <= 1000 {
			require.Len(t, parts[0].Overspent, n, "the first part holds all that a batch says which is no goodbye")
		}
	}

	assert.Len(t, wire.SplitReports(lease.ReportBatch{Goodbye: true}), 1, "an empty batch is one message")
	assert.Len(t, wire.SplitGrants(lease.GrantBatch{}), 1)
}
