package cli

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRegionalRefusesWhatItCannotUse(t *testing.T) {
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	const somewhere = "127.0.0.1:0"
	sound := []string{"--region", "eu", "--coordinator", "127.0.0.1:1", "--listen", somewhere, "--http", somewhere}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, Usage, "--region must be given"},
		{[]string{"--region", "eu"}, Usage, "--coordinator must be given"},
		{append(sound, "--http", busy.Addr().String()), Failure, "--http " + busy.Addr().String() + ": the address is in use"},
		{append(sound, "--listen", "nonsense"), Usage, "--listen nonsense"},
		{append(sound, "--cold-wait", "2h"), Usage, `ColdWait "2h0m0s"`},
		{append(sound, "--data-dir", "/dev/null/x"), Usage, "DataDir"},
		{append(sound, "--log-level", "loud"), Usage, "--log-level"},
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), NewRegional(), c.args, &out, &errs)
		assert.Equal(t, c.code, code, "%v: %s", c.args, errs.String())
		assert.Contains(t, errs.String(), c.says)
	}
}

// page is what a command has printed so far.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func TestRegionalServesUntilItIsTold(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var out page
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, NewRegional(), []string{
			"--region", "eu", "--coordinator", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
			"--drain-delay", "1ms", "--data-dir", t.TempDir(),
		}, &out, &page{})
	}()
	at := regexp.MustCompile(`region eu serves gRPC on \S+ and HTTP on (\S+)`)
	require.Eventually(t, func() bool { return at.MatchString(out.String()) }, 10*time.Second, time.Millisecond)
	answer, err := http.Get("http://" + at.FindStringSubmatch(out.String())[1] + "/readyz")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusServiceUnavailable, answer.StatusCode, "no coordinator, no policy")
	http.DefaultClient.CloseIdleConnections()
	end()
	select {
	case code := <-ended:
		assert.Equal(t, OK, code)
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}
