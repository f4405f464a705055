package wire_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
	"github.com/a1009580/leasehold/internal/wire"
)

// FuzzTo feeds the decoders with whatever a peer can make protobuf accept.
// What they let through keeps its meaning when it is encoded again.
func FuzzTo(f *testing.F) {
	for kind, m := range []proto.Message{welcome(), hello(), reports(), grants()} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(kind), data)
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		switch kind % 4 {
		case 0:
			again(t, data, &pb.Welcome{}, wire.ToWelcome, wire.FromWelcome)
		case 1:
			again(t, data, &pb.Hello{}, wire.ToHello, wire.FromHello)
		case 2:
			again(t, data, &pb.ReportBatch{}, wire.ToReportBatch, wire.FromReportBatch)
		case 3:
			again(t, data, &pb.GrantBatch{}, wire.ToGrantBatch, wire.FromGrantBatch)
		}
	})
}

func again[M proto.Message, V any](t *testing.T, data []byte, m M, to func(M) (V, error), from func(V) M) {
	if proto.Unmarshal(data, m) != nil {
		return
	}
	v, err := to(m)
	if err != nil {
		return
	}
	if _, err := to(from(v)); err != nil {
		t.Fatalf("accepted once, refused again: %v", err)
	}
}
