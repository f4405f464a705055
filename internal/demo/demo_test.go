package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// screenBuffer is what a demo wrote, readable while it writes.
type screenBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *screenBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *screenBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// tidy checks that nothing of a demo is left: no directory, no port.
func tidy(t *testing.T, text string) {
	t.Helper()
	dir := regexp.MustCompile(`data +(\S+), removed`).FindStringSubmatch(text)
	require.Len(t, dir, 2, text)
	_, err := os.Stat(dir[1])
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, address := range regexp.MustCompile(`(?:gRPC|HTTP|etcd) (127\.0\.0\.1:\d+)`).FindAllStringSubmatch(text, -1) {
		_, err := net.DialTimeout("tcp", address[1], time.Second)
		require.Error(t, err, address[1])
	}
}

func TestTheDemoFromItsStartToItsEnd(t *testing.T) {
	// Whoever has the default ports, the demo finds others.
	if l, err := net.Listen("tcp", loopback(7400)); err == nil {
		defer func() { require.NoError(t, l.Close()) }()
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errs screenBuffer
	var report *Report
	var err error
	var running sync.WaitGroup
	running.Go(func() { report, err = Run(ctx, Options{Out: &out, Errors: &errs}) })
	// On a failure, too, it must have ended before the test has.
	defer running.Wait()
	defer stop()
	require.Eventually(t, func() bool { return strings.Count(out.String(), "\nt=") >= 2 }, time.Minute, 20*time.Millisecond)

	said := out.String()
	assert.Contains(t, said, "NOT FOR PRODUCTION")
	assert.NotContains(t, said, "127.0.0.1:7400")
	commands := regexp.MustCompile(`(?m)^  curl (?:-i )?'?(http\S+?)'?$`).FindAllStringSubmatch(said, -1)
	require.Len(t, commands, 3)
	for _, c := range commands {
		a, err := http.Get(c[1])
		require.NoError(t, err)
		body, err := io.ReadAll(a.Body)
		require.NoError(t, err)
		require.NoError(t, a.Body.Close())
		assert.Equal(t, http.StatusOK, a.StatusCode, "%s: %s", c[1], body)
	}
	stop()
	running.Wait()
	require.NoError(t, err)
	tidy(t, out.String())
	assert.True(t, report.Kept)
	assert.Equal(t, "generated", report.Traffic)
	assert.Zero(t, *report.BoundTokens)
	assert.Zero(t, report.ObservedTokens)
	assert.Positive(t, *report.MarginTokens)
	assert.Positive(t, report.Total.Admitted)
	assert.Zero(t, report.Total.Failed)
	require.Len(t, report.Regions, 3)
	assert.Equal(t, "us", report.Regions[0].Region)
	assert.InDelta(t, 210, report.Regions[2].RoundTripMillis, 0)
	assert.Len(t, report.Keys, 3)
	var sum Counts
	for _, r := range report.Regions {
		sum.Requests += r.Requests
		sum.AdmittedTokens += r.AdmittedTokens
	}
	assert.Equal(t, report.Total.Requests, sum.Requests)
	assert.Equal(t, report.Total.AdmittedTokens, sum.AdmittedTokens)
}

func TestTheDemoPlaysATrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	body := "time_ms,region,key,cost\n"
	for i := range 300 {
		body += fmt.Sprintf("%d,mars,a,60\n", 10*i)
	}
	require.NoError(t, os.WriteFile(path, []byte(body), 0o600))
	dir := filepath.Join(t.TempDir(), "data")
	var out, errs screenBuffer
	o := Options{
		Trace: path, Speed: 2, Out: &out, Errors: &errs, DataDir: dir, TraceEntry: "api_key",
		Policy: []byte(strings.ReplaceAll(string(samplePolicy), "10000", "6000")), PolicyName: "p.yaml",
	}
	report, err := Run(t.Context(), o)
	require.NoError(t, err, errs.String())
	assert.Equal(t, path, report.Traffic)
	assert.Equal(t, int64(300), report.Total.Requests)
	assert.Zero(t, report.Total.Failed)
	assert.Positive(t, report.Total.Denied, "18,000 tokens in 3 seconds are above a burst of 6,000")
	assert.LessOrEqual(t, report.Total.AdmittedTokens, int64(6000+310))
	require.Len(t, report.Regions, 1)
	assert.Equal(t, "mars", report.Regions[0].Region)
	assert.True(t, report.Kept)
	assert.DirExists(t, dir, "what was given is kept")

	o.Duration = time.Second
	_, err = Run(t.Context(), o)
	require.NoError(t, err, "the directory serves again: %s", errs.String())
}

func TestWhatADemoRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(path, []byte("time_ms,region,key,cost\n1,us,a,x\n"), 0o600))
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Policy: []byte("x"), PolicyName: "p.yaml"}, "p.yaml:1:1: "},
		{Options{Speed: -1}, "speed"},
		{Options{TraceEntry: "k"}, "--trace-entry"},
		{Options{Trace: path}, path + ":2: cost"},
		{Options{Trace: path + "x"}, "no such file"},
		{Options{Policy: []byte("apiVersion: leasehold/v1\ndomain: a\nquotas: []\n")}, "no quota"},
	} {
		_, err := Run(t.Context(), c.options)
		var wrong *OptionError
		require.ErrorAs(t, err, &wrong)
		require.ErrorContains(t, err, c.want)
	}
}

func TestADemoThatIsToldToEndAtOnce(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r, err := Run(ctx, Options{Out: io.Discard, Errors: io.Discard})
	require.NoError(t, err)
	require.Nil(t, r)
}

// leaver is a reader that leaves after a few lines.
type leaver struct{ left int }

func (l *leaver) Write(b []byte) (int, error) {
	if l.left--; l.left < 0 {
		return 0, errors.New("nobody reads")
	}
	return len(b), nil
}

func TestTheDemoEndsWhenNobodyReads(t *testing.T) {
	r, err := Run(t.Context(), Options{Out: &leaver{left: 20}, Errors: io.Discard})
	require.NoError(t, err)
	require.NotNil(t, r)
}

func TestWarnings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(path, []byte("time_ms,region,key,cost\n0,us,a,1\n86400000,us,a,1\n"), 0o600))
	p, err := Options{Speed: 21, Trace: path}.plan()
	require.NoError(t, err)
	all := strings.Join(p.warnings(), "\n")
	assert.Contains(t, all, "at --speed 21 this machine's own delays count 21-fold")
	assert.Contains(t, all, "the trace spans 24h0m0s: at --speed 21 it takes 1h8m34s")
	p, err = Options{}.plan()
	require.NoError(t, err)
	assert.Empty(t, p.warnings())
}
