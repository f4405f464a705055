package load

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/a1009580/leasehold/policy"
)

// region answers with the codes that it is given, by turns.
func region(t *testing.T, codes ...int) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Domain     string
			Descriptor map[string]string
			Cost       int64
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Domain != "api" || body.Descriptor["k"] != "v" || body.Cost != 3 {
			t.Errorf("asked for %+v: %v", body, err)
		}
		w.WriteHeader(codes[int(asked.Add(1)-1)%len(codes)])
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), asked
}

func TestEveryRequestIsWrittenDown(t *testing.T) {
	a, asked := region(t, 200, 429, 503)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	l, err := Start(Options{Domain: "api", Descriptor: []policy.Pair{{Key: "k", Value: "v"}}, Cost: 3, Targets: []Target{
		{Address: a, Rate: func(time.Duration) float64 { return 200 }},
		{Address: "127.0.0.1:1", Rate: func(time.Duration) float64 { return 50 }}, // nobody is there
	}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return asked.Load() >= 60 && l.LastError(1) != nil }, time.Minute, time.Millisecond)
	l.End()
	counts := map[Outcome]int64{}
	for _, r := range l.Requests() {
		require.LessOrEqual(t, r.Sent, r.Received)
		if r.Region == 1 {
			require.Equal(t, Failed, r.Outcome)
			continue
		}
		counts[r.Outcome]++
	}
	require.Equal(t, asked.Load(), counts[Admitted]+counts[Denied]+counts[Failed])
	require.InDelta(t, asked.Load()/3, counts[Admitted], 1)
	require.InDelta(t, asked.Load()/3, counts[Denied], 1)
	require.ErrorContains(t, l.LastError(0), "503")
	require.Error(t, l.LastError(1))
}

func TestWhoStandsStillIsNotAskedWithoutEnd(t *testing.T) {
	wait := make(chan struct{})
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-wait
	}))
	defer s.Close()
	l, err := Start(Options{Domain: "api", Cost: 1, Targets: []Target{
		{Address: s.Listener.Addr().String(), Rate: func(time.Duration) float64 { return 5000 }},
	}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(l.Requests()) > 0 }, time.Minute, time.Millisecond, "what is too much fails")
	close(wait)
	l.End()
	var admitted int64
	for _, r := range l.Requests() {
		if r.Outcome == Admitted {
			admitted++
		}
	}
	require.Equal(t, asked.Load(), admitted, "what was sent is counted, however late the answer")
	require.GreaterOrEqual(t, admitted, int64(mostUnderWay))
}

func TestAnAddressThatIsNoneIsAnError(t *testing.T) {
	c, err := newClient("bad host", "api", nil, 1)
	require.NoError(t, err)
	_, err = c.ask(context.Background())
	require.Error(t, err)
}
