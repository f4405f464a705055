package regional

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// rawCodec sends and receives bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil //nolint:errcheck // a test's own
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize() //nolint:errcheck // a test's own
	return nil
}

const method = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

// fields decodes one level of a message by hand: numbers of varints, bytes of all
// else.
func fields(t *testing.T, b []byte) map[protowire.Number][]any {
	t.Helper()
	all := map[protowire.Number][]any{}
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		require.Positive(t, size)
		b = b[size:]
		switch kind {
		case protowire.VarintType:
			v, size := protowire.ConsumeVarint(b)
			require.Positive(t, size)
			all[n], b = append(all[n], v), b[size:]
		case protowire.BytesType:
			v, size := protowire.ConsumeBytes(b)
			require.Positive(t, size)
			all[n], b = append(all[n], v), b[size:]
		default:
			t.Fatalf("field %d of kind %d", n, kind)
		}
	}
	return all
}

// The bytes here are written by the public .proto files alone.
func TestEnvoy_AMessageThatIsEncodedByHand(t *testing.T) {
	str := func(n protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, n, protowire.BytesType), s)
	}
	entry := append(str(1, "user"), str(2, "u")...)
	hits := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	descriptor := append(str(1, string(entry)), str(3, string(hits))...)
	request := append(str(1, "api"), str(2, string(descriptor))...)
	run(t, two, func(t *testing.T, r *rig) {
		var answer []byte
		require.NoError(t, r.conn.Invoke(t.Context(), method, &request, &answer, grpc.ForceCodecV2(rawCodec{})))
		all := fields(t, answer)
		assert.Equal(t, []any{uint64(1)}, all[1], "overall_code OK")
		require.Len(t, all[2], 1)
		state := fields(t, all[2][0].([]byte)) //nolint:errcheck // or it panics
		assert.Equal(t, []any{uint64(1)}, state[1], "code OK")
		assert.Equal(t, []any{uint64(7)}, state[3], "limit_remaining")
		limit := fields(t, state[2][0].([]byte)) //nolint:errcheck // or it panics
		assert.Equal(t, []any{uint64(10)}, limit[1], "requests_per_unit")
		assert.Equal(t, []any{uint64(3)}, limit[2], "HOUR")
		assert.Equal(t, []any{[]byte("user")}, limit[3], "name")
		assert.Equal(t, []any{uint64(1080)}, fields(t, state[4][0].([]byte))[1], "3 of 10 an hour, in seconds") //nolint:errcheck // or it panics

		broken := append(str(1, "api"), str(2, string(str(1, string(append(str(1, "user"), str(2, "\xff\xfe")...)))))...)
		for _, b := range [][]byte{broken, str(1, "\xff")} {
			err := r.conn.Invoke(t.Context(), method, &b, &answer, grpc.ForceCodecV2(rawCodec{}))
			assert.Equal(t, codes.InvalidArgument, status.Code(err), "KEY-01: %v", err)
		}
	})
}

// On a real socket, in real time.
func TestEnvoy_AUnixSocketServesToo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	socket, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	require.NoError(t, err)
	r := realTime(t, two, func(o *Options) { o.Proxies = []net.Listener{socket} })
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	r.conn = conn
	require.NoError(t, r.s.Limiter().Ready(t.Context()))
	assert.Equal(t, fine, r.should("api", 1, desc("user", "u")).GetOverallCode())
}

// realTime is a rig outside of a bubble.
func realTime(t testing.TB, policy string, change func(o *Options)) *rig {
	t.Helper()
	c := limitertest.New(t, limitertest.Options{Policy: policy})
	listen := func() net.Listener {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return l
	}
	o := Options{GRPC: listen(), HTTP: listen(), Limiter: limiter.Options{
		Region: "eu", Node: "n1", Coordinators: []string{limitertest.Address}, DialOptions: []grpc.DialOption{c.Dial()},
	}}
	change(&o)
	s, err := New(o)
	require.NoError(t, err)
	conn, err := grpc.NewClient(o.GRPC.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	r := &rig{c: c, s: s, conn: conn, done: make(chan error, 1)}
	if tt, ok := t.(*testing.T); ok {
		r.t = tt
	}
	ctx := t.Context()
	go func() { r.done <- s.Run(ctx) }() // which ends when the test does
	t.Cleanup(func() {
		assert.NoError(t, conn.Close())
		select {
		case err := <-r.done:
			assert.NoError(t, err)
		case <-time.After(20 * time.Second):
			t.Error("the server does not end")
		}
	})
	return r
}
