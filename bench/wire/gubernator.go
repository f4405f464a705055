package wire

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// gubernatorMethod is what Gubernator is asked by. Its messages are written
// here by hand, since its package would bring all that it needs into this
// module; that is no dearer than to generate them.
const gubernatorMethod = "/pb.gubernator.V1/GetRateLimits"

// gubernatorRequest asks for n decisions about keys, of a limit that is never
// reached (gubernator.proto: GetRateLimitsReq).
func gubernatorRequest(keys []string) []byte {
	var all []byte
	for _, key := range keys {
		var one []byte
		one = protowire.AppendTag(one, 1, protowire.BytesType)
		one = protowire.AppendString(one, "per-key")
		one = protowire.AppendTag(one, 2, protowire.BytesType)
		one = protowire.AppendString(one, key)
		for field, v := range map[protowire.Number]uint64{3: 1, 4: 1_000_000_000_000, 5: 60_000} {
			one = protowire.AppendTag(one, field, protowire.VarintType)
			one = protowire.AppendVarint(one, v)
		}
		all = protowire.AppendTag(all, 1, protowire.BytesType)
		all = protowire.AppendBytes(all, one)
	}
	return all
}

// askGubernator sends a request and returns how many decisions came back.
func askGubernator(ctx context.Context, conn *grpc.ClientConn, request []byte) (int, error) {
	var answer []byte
	if err := conn.Invoke(ctx, gubernatorMethod, &request, &answer, grpc.ForceCodecV2(raw{})); err != nil {
		return 0, err
	}
	n := 0
	for len(answer) > 0 {
		field, kind, tag := protowire.ConsumeTag(answer)
		if tag < 0 || field != 1 || kind != protowire.BytesType {
			return 0, errors.New("wire: Gubernator's answer is not understood")
		}
		response, length := protowire.ConsumeBytes(answer[tag:])
		if length < 0 {
			return 0, protowire.ParseError(length)
		}
		answer = answer[tag+length:]
		if len(response) > 0 && response[0] == 1<<3 { // a status that is not UNDER_LIMIT
			return 0, fmt.Errorf("wire: Gubernator denied: %x", response)
		}
		n++
	}
	return n, nil
}

// raw is a codec of messages that are bytes already.
type raw struct{}

var _ encoding.CodecV2 = raw{}

// Name implements encoding.CodecV2.
func (raw) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("wire: a message of type %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("wire: a message of type %T", v)
	}
	*b = data.Materialize()
	return nil
}
