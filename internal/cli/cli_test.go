package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample is a command with a flag of each kind, and what it saw.
type sample struct {
	name  string
	every time.Duration
	peers []string
	fresh bool
	err   error
	ran   bool
}

func (s *sample) command() *cobra.Command {
	cmd := &cobra.Command{Use: "sample", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		s.ran = true
		return s.err
	}}
	ConfigFlag(cmd.Flags())
	cmd.Flags().StringVar(&s.name, "node-name", "default", "")
	cmd.Flags().DurationVar(&s.every, "every", time.Second, "")
	cmd.Flags().StringSliceVar(&s.peers, "peers", nil, "")
	cmd.Flags().BoolVar(&s.fresh, "fresh", false, "")
	return cmd
}

func (s *sample) run(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), s.command(), args, &out, &errs)
	return code, errs.String()
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "options.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		err  error
		want int
		says string
	}{
		{"done", nil, nil, OK, ""},
		{"failed", nil, errors.New("no luck"), Failure, "sample: no luck\n"},
		{"wrong policy", nil, Usagef("p.yaml:1:2: no"), Usage, "p.yaml:1:2: no\n"},
		{"content of a file", nil, refusedf("p.yaml:1:2: never"), Usage, "p.yaml:1:2: never\n"},
		{"check failed", nil, WithCode(CheckFailed, errors.New("3 of 4")), CheckFailed, "3 of 4"},
		{"inconclusive", nil, fmt.Errorf("after all: %w", WithCode(Inconclusive, errors.New("?"))), Inconclusive, "after all: ?"},
		{"unknown flag", []string{"--nope"}, nil, Usage, "unknown flag: --nope"},
		{"bad value", []string{"--every", "soon"}, nil, Usage, `invalid argument "soon"`},
		{"stray argument", []string{"there"}, nil, Usage, `unknown command "there"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &sample{err: c.err}
			code, stderr := s.run(t, c.args...)
			assert.Equal(t, c.want, code)
			assert.Contains(t, stderr, c.says)
			assert.Equal(t, code == Usage && c.name != "content of a file", bytes.Contains([]byte(stderr), []byte("--help")))
		})
	}
	require.NoError(t, WithCode(Usage, nil))
}

func TestPrecedence(t *testing.T) {
	path := file(t, "node-name: file\nevery: 3s\npeers: [a:1, b:2]\nfresh: true\n")
	s := &sample{}
	t.Setenv("LEASEHOLD_NODE_NAME", "environment")
	t.Setenv("LEASEHOLD_EVERY", "2s")
	code, stderr := s.run(t, "--config", path, "--node-name", "flag")
	require.Equal(t, OK, code, stderr)
	assert.Equal(t, "flag", s.name)
	assert.Equal(t, 2*time.Second, s.every)
	assert.Equal(t, []string{"a:1", "b:2"}, s.peers)
	assert.True(t, s.fresh)

	s = &sample{}
	t.Setenv("LEASEHOLD_SAMPLE_EVERY", "5s")
	code, _ = s.run(t)
	require.Equal(t, OK, code)
	assert.Equal(t, 5*time.Second, s.every, "the command's own variable goes before that of all")
	t.Setenv("LEASEHOLD_SAMPLE_EVERY", "")

	s = &sample{}
	t.Setenv("LEASEHOLD_EVERY", "")
	t.Setenv("LEASEHOLD_CONFIG", path)
	code, _ = s.run(t)
	require.Equal(t, OK, code)
	assert.Equal(t, 3*time.Second, s.every, "an empty variable is none")
}

func TestOptionsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown", "node-name: a\n\n  \nnod-name: b\n", `:4:1: unknown option "nod-name"`},
		{"itself", "config: x\n", `:1:1: unknown option "config"`},
		{"help", "help: true\n", "unknown option"},
		{"bad value", "fresh: true\nevery: soon\n", ":2:1: every: "},
		{"null", "node-name:\n", ":1:1: node-name: must be a value"},
		{"mapping", "node-name: {a: b}\n", "node-name: must be a value"},
		{"mapping in a list", "peers: [{a: b}]\n", "peers: must be a value"},
		{"a list", "- a\n", "must be one mapping"},
		{"two documents", "node-name: a\n---\nnode-name: b\n", "must be one mapping"},
		{"twice", "node-name: a\nnode-name: b\n", ":2:1: mapping key"},
		{"no yaml", "node-name: [\n", ":1:12:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &sample{}
			path := file(t, c.text)
			code, stderr := s.run(t, "--config", path)
			assert.Equal(t, Usage, code)
			assert.Contains(t, stderr, path)
			assert.Contains(t, stderr, c.want)
			assert.False(t, s.ran)
		})
	}
	s := &sample{}
	code, stderr := s.run(t, "--config", filepath.Join(t.TempDir(), "none"))
	assert.Equal(t, Usage, code)
	assert.Contains(t, stderr, "--config: open")
	t.Setenv("LEASEHOLD_EVERY", "soon")
	code, stderr = s.run(t)
	assert.Equal(t, Usage, code)
	assert.Contains(t, stderr, "environment variable LEASEHOLD_EVERY")
	code, _ = (&sample{}).run(t, "--config", file(t, ""))
	assert.Equal(t, Usage, code)
}

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log, err := (&LogFlags{Format: "json", Level: "warn"}).Logger(&out)
	require.NoError(t, err)
	log.Info("quiet")
	log.Warn("loud", "n", 1)
	assert.Contains(t, out.String(), `"msg":"loud","n":1`)
	assert.NotContains(t, out.String(), "quiet")
	for _, bad := range []LogFlags{{Format: "xml", Level: "info"}, {Format: "text", Level: "all"}} {
		_, err := bad.Logger(&out)
		assert.Equal(t, Usage, Code(err))
	}
}

func TestBusyPortNamesItsFlag(t *testing.T) {
	l, err := Listen(t.Context(), "listen", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	_, err = Listen(t.Context(), "http", l.Addr().String())
	require.ErrorContains(t, err, "--http "+l.Addr().String()+": the address is in use")
	assert.Equal(t, Failure, Code(err))
	_, err = Listen(t.Context(), "http", "nowhere")
	assert.Equal(t, Usage, Code(err))
	var op *net.OpError
	require.ErrorAs(t, err, &op)
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	exits := make(chan int, 1)
	ctx, stop := UntilSignal(t.Context(), func(code int) { exits <- code })
	defer stop()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		require.Fail(t, "the first signal ends the context")
	}
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	select {
	case code := <-exits:
		assert.Equal(t, Failure, code)
	case <-time.After(10 * time.Second):
		require.Fail(t, "the second signal ends the process")
	}
}

func TestHangup(t *testing.T) {
	hangups, stop := OnHangup()
	defer stop()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	select {
	case <-hangups:
	case <-time.After(10 * time.Second):
		require.Fail(t, "no hangup")
	}
}
