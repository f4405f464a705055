package e2e

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the output of documented commands into the documents")

// prompt begins a documented command, and indent every line of what it printed.
const (
	indent = "    "
	prompt = indent + "$ curl "
)

// TestDocumentedCommands runs every curl of docs/http.md, in order, against a
// region with the policy that stands there, and compares what it prints.
func TestDocumentedCommands(t *testing.T) {
	program(t, "curl", "curl")
	const file = "../docs/http.md"
	lines := strings.Split(readFile(t, file), "\n")
	region := limited(t, documentedPolicy(lines), "--legacy-headers")
	var out []string
	ran := 0
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		if !strings.HasPrefix(lines[i], prompt) {
			continue
		}
		end := i + 1
		for end < len(lines) && printed(lines, end) {
			end++
		}
		want := strings.Join(lines[i+1:end], "\n")
		got := curl(t, strings.TrimPrefix(lines[i], indent+"$ "), region.http)
		if !*update {
			assert.Equal(t, masked(want), masked(got), lines[i])
		}
		out = append(out, got)
		i = end - 1
		ran++
	}
	assert.GreaterOrEqual(t, ran, 9, "the document has so many")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(out, "\n")), 0o600))
	}
}

// printed says that a line is of a command's output: an indented one, or an empty
// one between two of these.
func printed(lines []string, i int) bool {
	if strings.HasPrefix(lines[i], prompt) {
		return false
	}
	if lines[i] == "" && i+1 < len(lines) {
		return strings.HasPrefix(lines[i+1], indent) && !strings.HasPrefix(lines[i+1], prompt)
	}
	return strings.HasPrefix(lines[i], indent)
}

// documentedPolicy is the first block of a document.
func documentedPolicy(lines []string) string {
	var policy []string
	for _, line := range lines {
		text, ok := strings.CutPrefix(line, indent)
		if !ok && len(policy) > 0 {
			break
		}
		if ok {
			policy = append(policy, text)
		}
	}
	return strings.Join(policy, "\n")
}

// curl runs a documented command, and returns its output as a document has it.
func curl(t *testing.T, command, address string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	command = strings.ReplaceAll(command, "127.0.0.1:7501", address)
	text, err := exec.CommandContext(ctx, "bash", "-c", command).Output()
	require.NoError(t, err, command)
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\r", "")) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "Date: ") || strings.HasPrefix(line, "Content-Length: ") {
			continue
		}
		if line != "" {
			line = indent + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// varying are the figures that depend on the time of day, and on how long things
// took.
var varying = regexp.MustCompile(`(;w=2[0-9]{6}|;t=|Retry-After: |Reset: |_seconds":)[0-9.]*`)

func masked(s string) string { return varying.ReplaceAllString(s, "$1 N") }
