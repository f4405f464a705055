package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nodeClient installs what examples/node needs, by its lock file, into a copy: the
// repository stays as it is. It returns a function that runs check.mjs.
func nodeClient(t *testing.T) func(args ...string) (code int, lines []map[string]any, said string) {
	t.Helper()
	node, npm := program(t, "node", "nodejs"), program(t, "npm", "npm")
	root := t.TempDir()
	dir := filepath.Join(root, "examples", "node")
	for _, file := range []string{
		"examples/node/package.json", "examples/node/package-lock.json", "examples/node/client.mjs", "examples/node/check.mjs",
		"api/leasehold/v1/limiter.proto",
	} {
		to := filepath.Join(root, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o750))
		require.NoError(t, os.WriteFile(to, []byte(readFile(t, filepath.Join("..", file))), 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	said, err := install.CombinedOutput()
	require.NoError(t, err, "npm ci: %s", said)
	return func(args ...string) (int, []map[string]any, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		run := exec.CommandContext(ctx, node, append([]string{"check.mjs"}, args...)...)
		var stdout, stderr bytes.Buffer
		run.Dir, run.Stdout, run.Stderr = dir, &stdout, &stderr
		err := run.Run()
		var exit *exec.ExitError
		require.True(t, err == nil || errors.As(err, &exit), "%v", err)
		var lines []map[string]any
		for line := range strings.Lines(stdout.String()) {
			var answer map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &answer), line)
			lines = append(lines, answer)
		}
		return run.ProcessState.ExitCode(), lines, stderr.String()
	}
}

// TestNodeClient has a client that is not ours to build speak the protocol: every
// reason and error that a client can meet, and numbers of 64 bits.
func TestNodeClient(t *testing.T) {
	region := limited(t, `apiVersion: leasehold/v1
domain: api
quotas:
  - {name: key, match: {api_key: "*"}, limit: {tokens: 3, per: 1h}, partition: {mode: fail_closed}}
  - {name: vip, match: {plan: vip}, limit: {tokens: unbounded}}
---
apiVersion: leasehold/v1
domain: closed
unmatched: deny
quotas: []
`)
	check := nodeClient(t)
	ask := func(args ...string) (int, []map[string]any, string) {
		return check(append([]string{region.grpc}, args...)...)
	}

	code, lines, said := ask("api", "--times", "4", "api_key=k", "ignored=x")
	require.Equal(t, 3, code, said)
	require.Len(t, lines, 4)
	for i, line := range lines {
		assert.Equal(t, i < 3, line["allowed"])
		assert.Equal(t, "api/key", line["quota"])
		assert.Equal(t, "3", line["limit"])
		assert.Equal(t, fmt.Sprint(max(0, 2-i)), line["remaining"])
		assert.Greater(t, line["resetSeconds"], 1100.0)
	}
	assert.Equal(t, "within_quota", lines[0]["reason"])
	assert.Zero(t, lines[0]["retryAfterSeconds"])
	assert.Equal(t, "exhausted", lines[3]["reason"])
	assert.InDelta(t, 1200, lines[3]["retryAfterSeconds"], 60)

	for _, c := range []struct {
		args   string
		code   int
		reason string
	}{
		{"api --cost 0 api_key=peek", 0, "within_quota"},
		{"api --cost 3 api_key=peek", 0, "within_quota"},
		{"api --cost 0 api_key=peek", 3, "exhausted"},
		{"api --cost 9007199254740993 api_key=k", 3, "impossible"},
		{"api --cost 9223372036854775807 plan=vip", 0, "unbounded"},
		{"api", 0, "no_quota"},
		{"closed", 3, "unmatched"},
		{"api api_key=é", 0, "within_quota"},
		{"api api_key=e\u0301", 0, "within_quota"},
	} {
		code, lines, said := ask(strings.Fields(c.args)...)
		require.Equal(t, c.code, code, "%s: %s", c.args, said)
		require.Len(t, lines, 1)
		assert.Equal(t, c.reason, lines[0]["reason"], c.args)
		if c.reason == "impossible" {
			assert.Equal(t, "3", lines[0]["most"])
		}
	}

	_, lines, said = ask("api", "--batch", "--times", "5", "api_key=batch")
	require.Len(t, lines, 5, said)
	admitted := 0
	for _, line := range lines {
		if line["reason"] == "within_quota" {
			admitted++
		} else {
			assert.Equal(t, "exhausted", line["reason"])
		}
	}
	assert.Positive(t, admitted)
	assert.LessOrEqual(t, admitted, 3)
	_, lines, _ = ask("apo", "--batch")
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0]["error"], "unknown domain")

	for args, want := range map[string]string{
		"apo api_key=k":           "NOT_FOUND",
		"api --cost=-1 api_key=k": "INVALID_ARGUMENT",
	} {
		code, _, said := ask(strings.Fields(args)...)
		assert.Equal(t, 1, code)
		assert.Contains(t, said, want)
	}
	region.kill()
	code, _, said = ask("api", "api_key=k")
	assert.Equal(t, 1, code)
	assert.Regexp(t, "UNAVAILABLE|DEADLINE_EXCEEDED", said)
}
