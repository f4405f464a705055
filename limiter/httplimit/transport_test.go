package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter/httplimit"
)

// server answers as its script says, the last answer again and again.
type server struct {
	t       *testing.T
	answers []func() *http.Response
	times   []time.Time
	bodies  []string
	open    int // bodies that were given out and not closed
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.times = append(s.times, time.Now())
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		require.NoError(s.t, err)
		require.NoError(s.t, r.Body.Close())
		s.bodies = append(s.bodies, string(body))
	}
	answer := s.answers[min(len(s.times), len(s.answers))-1]()
	if answer == nil {
		return nil, errors.New("broken")
	}
	s.open++
	answer.Body = &counted{strings.NewReader("denied"), s}
	return answer, nil
}

type counted struct {
	io.Reader
	s *server
}

func (c *counted) Close() error {
	c.s.open--
	return nil
}

func answer(status int, retryAfter string) func() *http.Response {
	return func() *http.Response {
		h := http.Header{}
		if retryAfter != "" {
			h.Set("Retry-After", retryAfter)
		}
		return &http.Response{StatusCode: status, Header: h}
	}
}

// send has a client with a Transport send a request, and closes what came.
func send(t *testing.T, s *server, tr httplimit.Transport, r *http.Request) (status int, err error) {
	t.Helper()
	tr.Base = s
	response, err := (&http.Client{Transport: &tr}).Do(r)
	if err != nil {
		assert.Zero(t, s.open, "no body is left open")
		return 0, err
	}
	assert.Equal(t, 1, s.open, "all bodies but the last are closed")
	require.NoError(t, response.Body.Close())
	return response.StatusCode, nil
}

func request(t *testing.T, method, body string) *http.Request {
	t.Helper()
	var b io.Reader
	if body != "" {
		b = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://api.example/", b)
	require.NoError(t, err)
	return r
}

func TestADeniedRequestIsSentAgainWhenTheServerSaid(t *testing.T) {
	for _, after := range []string{"7", "Sat, 01 Jan 2000 00:00:07 GMT"} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{t: t, answers: []func() *http.Response{answer(429, after), answer(200, "")}}
			status, err := send(t, s, httplimit.Transport{}, request(t, http.MethodPost, "payload"))
			require.NoError(t, err)
			assert.Equal(t, 200, status)
			assert.Equal(t, []string{"payload", "payload"}, s.bodies)
			waited := s.times[1].Sub(s.times[0])
			assert.GreaterOrEqual(t, waited, 7*time.Second)
			assert.LessOrEqual(t, waited, 8*time.Second)
		})
	}
}

func TestHDR09_WhoWasDeniedTogetherComesBackSpreadOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := map[time.Duration]int{}
		for range 500 {
			s := &server{t: t, answers: []func() *http.Response{answer(429, "1"), answer(200, "")}}
			_, err := send(t, s, httplimit.Transport{}, request(t, http.MethodGet, ""))
			require.NoError(t, err)
			slots[(s.times[1].Sub(s.times[0])-time.Second)/(100*time.Millisecond)]++
		}
		for slot := range 10 {
			assert.InDelta(t, 50, slots[time.Duration(slot)], 40, "%d hundred milliseconds late", slot)
		}
	})
}

func TestWhatIsNotToBeSentAgainIsHandedOver(t *testing.T) {
	unrepeatable := func(t *testing.T) *http.Request {
		r := request(t, http.MethodPost, "once")
		r.GetBody = nil
		return r
	}
	lost := func(t *testing.T) *http.Request {
		r := request(t, http.MethodPost, "once")
		r.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
		return r
	}
	get := func(t *testing.T) *http.Request { return request(t, http.MethodGet, "") }
	post := func(t *testing.T) *http.Request { return request(t, http.MethodPost, "x") }
	for name, c := range map[string]struct {
		answer func() *http.Response
		make   func(t *testing.T) *http.Request
		tr     httplimit.Transport
		sent   int
	}{
		"served":                       {answer(200, "1"), get, httplimit.Transport{}, 1},
		"another error":                {answer(500, "1"), get, httplimit.Transport{}, 1},
		"denied for good":              {answer(429, ""), get, httplimit.Transport{}, 1},
		"an answer that is malformed":  {answer(429, "soon"), get, httplimit.Transport{}, 1},
		"a number that is malformed":   {answer(429, "-1"), get, httplimit.Transport{}, 1},
		"too long a wait":              {answer(429, "61"), get, httplimit.Transport{}, 1},
		"a wait too long to be true":   {answer(429, "99999999999"), get, httplimit.Transport{}, 1},
		"the body is gone":             {answer(429, "1"), unrepeatable, httplimit.Transport{}, 1},
		"the body cannot be had again": {answer(429, "1"), lost, httplimit.Transport{}, 1},
		"sent once only":               {answer(429, "1"), get, httplimit.Transport{MaxTries: 1}, 1},
		"sent often enough":            {answer(429, "1"), get, httplimit.Transport{}, 4},
		"unavailable, idempotent":      {answer(503, "1"), get, httplimit.Transport{MaxTries: 2}, 2},
		"unavailable, not idempotent":  {answer(503, "1"), post, httplimit.Transport{}, 1},
		"denied, not idempotent":       {answer(429, "1"), post, httplimit.Transport{MaxTries: 3}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{t: t, answers: []func() *http.Response{c.answer}}
				status, err := send(t, s, c.tr, c.make(t))
				require.NoError(t, err)
				assert.Equal(t, c.answer().StatusCode, status)
				assert.Len(t, s.times, c.sent)
			})
		})
	}
}

func TestTheCallersContextBoundsAllWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s := &server{t: t, answers: []func() *http.Response{answer(429, "10")}}
		began := time.Now()
		status, err := send(t, s, httplimit.Transport{}, request(t, http.MethodGet, "").WithContext(ctx))
		require.NoError(t, err)
		assert.Equal(t, 429, status, "there is no use in waiting for a time that is too late")
		assert.Zero(t, time.Since(began))

		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, stop)
		s = &server{t: t, answers: []func() *http.Response{answer(429, "10")}}
		_, err = send(t, s, httplimit.Transport{}, request(t, http.MethodPost, "x").WithContext(ctx))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 3*time.Second, time.Since(began))
		assert.Len(t, s.times, 1)
	})
}

func TestAConnectionThatBreaksIsTheCallersToKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, answers: []func() *http.Response{answer(429, "1"), func() *http.Response { return nil }}}
		_, err := send(t, s, httplimit.Transport{}, request(t, http.MethodGet, ""))
		require.ErrorContains(t, err, "broken")
		assert.Len(t, s.times, 2)
	})
}
