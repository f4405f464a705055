package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheDemoCleansUp when it is interrupted, and leaves no directory behind.
func TestTheDemoCleansUp(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	p := start(t, "demo", "demo")
	eventually(t, "it shows figures", func() bool { return strings.Count(p.log.String(), "\nt=") >= 2 })
	p.signal(syscall.SIGINT)
	require.Equal(t, 0, p.exit())
	require.Contains(t, p.log.String(), "the promise was kept")
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestTheDemoIsReadByScripts: one JSON object and nothing else.
func TestTheDemoIsReadByScripts(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := start(t, "demo", "demo", "--json", "--policy", "../examples/web.yaml", "--trace", "../examples/traces/web.csv", "--speed", "200")
	require.Equal(t, 0, p.exit())
	var report struct {
		Kept  bool `json:"promise_kept"`
		Total struct{ Requests, Admitted, Denied int64 }
		Keys  []struct{ Key string }
	}
	require.NoError(t, json.Unmarshal([]byte(p.out.String()), &report), p.log.String())
	require.True(t, report.Kept)
	require.Equal(t, int64(511), report.Total.Requests)
	require.Equal(t, report.Total.Requests, report.Total.Admitted+report.Total.Denied)
	require.Len(t, report.Keys, 20)
	require.Equal(t, "crawler", report.Keys[0].Key)
}

// TestATraceThatIsNoTrace is refused with file and line, as is a bad policy.
func TestATraceThatIsNoTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(path, []byte("time_ms,region,key,cost\n0,us,a,1\n0,us,a,-1\n"), 0o600))
	p := start(t, "demo", "demo", "--trace", path)
	require.Equal(t, 2, p.exit())
	require.Contains(t, p.log.String(), path+":3: cost")
	p = start(t, "demo", "demo", "--policy", path)
	require.Equal(t, 2, p.exit())
	require.Contains(t, p.log.String(), path+":1:1: ")
}
