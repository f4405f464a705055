package cli

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
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

// TestRegionalOutlivesAHangup has logrotate and the like send what a coordinator
// heeds.
func TestRegionalOutlivesAHangup(t *testing.T) {
	_, stop := OnHangup() // should the command not heed it, the test still goes on
	defer stop()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var errs page
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, NewRegional(), []string{
			"--region", "eu", "--coordinator", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--drain-delay", "1ms",
		}, &page{}, &errs)
	}()
	says := func(what string) func() bool { return func() bool { return strings.Contains(errs.String(), what) } }
	require.Eventually(t, says("msg=serving"), 10*time.Second, time.Millisecond)
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGHUP))
	require.Eventually(t, says("a region takes its policy from the coordinator"), 10*time.Second, time.Millisecond)
	end()
	assert.Equal(t, OK, <-ended)
}

func TestRegionalServesUntilItIsTold(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var out, script page
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, NewRegional(), []string{
			"--region", "eu", "--coordinator", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
			"--drain-delay", "1ms", "--data-dir", t.TempDir(),
		}, &script, &out)
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
		assert.Empty(t, script.String(), "standard output is for what was asked for")
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}
