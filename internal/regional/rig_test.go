package regional

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const head = "apiVersion: leasehold/v1\ndomain: api\n"

func perKey(limit string) string {
	return head + "quotas: [{name: key, match: {api_key: '*'}, limit: " + limit + ", partition: {mode: fail_closed}}]\n"
}

// rig is a region with its coordinator, in a bubble of virtual time.
type rig struct {
	t    *testing.T
	c    *limitertest.Coordinator
	s    *Server
	end  context.CancelFunc
	done chan error
	conn *grpc.ClientConn
}

// run has a test in a bubble, with a region that serves.
func run(t *testing.T, policy string, f func(t *testing.T, r *rig), change ...func(o *Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, c: limitertest.New(t, limitertest.Options{Policy: policy, Delay: 20 * time.Millisecond}), done: make(chan error, 1)}
		grpcListener, httpListener := bufconn.Listen(1<<16), bufconn.Listen(1<<16)
		o := Options{
			GRPC: grpcListener, HTTP: httpListener, DrainDelay: 500 * time.Millisecond, Random: func() float64 { return 0 },
			Limiter: limiter.Options{
				Region: "eu", Node: "n1", Coordinators: []string{limitertest.Address}, DialOptions: []grpc.DialOption{r.c.Dial()},
				Clock: clock.New(1),
			},
		}
		for _, c := range change {
			c(&o)
		}
		var err error
		r.s, err = New(o)
		require.NoError(t, err)
		ctx, end := context.WithCancel(context.Background())
		r.end = end
		go func() { r.done <- r.s.Run(ctx) }()
		r.conn, err = grpc.NewClient("passthrough:///region", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dialer(grpcListener)))
		require.NoError(t, err)
		defer func() {
			_ = r.conn.Close()
			end()
			require.NoError(t, <-r.done)
			r.c.Check()
		}()
		time.Sleep(time.Second)
		f(t, r)
	})
}

func (r *rig) do(req *http.Request) *answer {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.s.http.Handler.ServeHTTP(w, req.WithContext(r.t.Context()))
	a := &answer{t: r.t, code: w.Code, header: w.Header(), text: w.Body.String()}
	if strings.Contains(a.header.Get("Content-Type"), "json") {
		d := json.NewDecoder(strings.NewReader(a.text))
		d.UseNumber()
		require.NoError(r.t, d.Decode(&a.body), a.text)
	}
	return a
}

// answer is what came back over HTTP.
type answer struct {
	t      *testing.T
	code   int
	header http.Header
	text   string
	body   map[string]any
}

func (r *rig) get(path string) *answer {
	r.t.Helper()
	return r.do(httptest.NewRequest(http.MethodGet, path, http.NoBody))
}

func (r *rig) post(body string) *answer {
	r.t.Helper()
	return r.do(httptest.NewRequest(http.MethodPost, "/v1/check", strings.NewReader(body)))
}

// check asks about a key.
func (r *rig) check(key string) *answer {
	r.t.Helper()
	return r.get("/v1/check?domain=api&api_key=" + url.QueryEscape(key))
}

// number is a number of the body.
func (a *answer) number(field string) float64 {
	a.t.Helper()
	n, ok := a.body[field].(json.Number)
	require.True(a.t, ok, "%s in %s", field, a.text)
	f, err := n.Float64()
	require.NoError(a.t, err)
	return f
}

func TestNewRefusesWhatIsMissing(t *testing.T) {
	_, err := New(Options{})
	require.ErrorContains(t, err, "listener")
	l := bufconn.Listen(1)
	_, err = New(Options{GRPC: l, HTTP: l, DrainTimeout: -1})
	require.ErrorContains(t, err, "DrainTimeout -1ns")
	_, err = New(Options{GRPC: l, HTTP: l})
	require.ErrorIs(t, err, limiter.ErrOptions)
	assert.NoError(t, l.Close())
}

func readAll(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return string(data)
}
