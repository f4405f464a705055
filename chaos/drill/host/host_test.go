package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/host"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/internal/cli"
)

// TestMain has the test's own binary be the processes of a drill.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(cli.Main(cli.NewRoot()))
	}
	os.Exit(m.Run())
}

func job(t *testing.T, file, mode string) host.Job {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	return host.Job{File: file, Source: source, Scale: 1, Mode: mode}
}

func TestACutThatBites(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	for _, mode := range []string{host.Namespaces, host.Proxies} {
		t.Run(mode, func(t *testing.T) {
			var told []result.Event
			r, err := host.Run(t.Context(), job(t, "short.yaml", mode), func(e result.Event) { told = append(told, e) })
			require.NoError(t, err)
			require.Empty(t, r.Verdict.Reasons)
			require.Equal(t, result.Pass, r.Verdict.Outcome)
			require.True(t, r.Faults[0].Bite.Proven)
			require.Positive(t, r.Faults[0].Bite.Count)
			require.NotEmpty(t, told)
			require.Len(t, r.Topology.Nodes, 4)
			require.Len(t, r.Timeline.Regions, 2)
			require.Greater(t, len(r.Raw.Admissions.Sent), 500)
			require.Equal(t, mode, r.Reproduction.Mode)
			require.NoError(t, r.Validate())
		})
	}
	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestACutOfNothingProvesNothing cuts two regions off from each other, which never
// talk: nothing can be dropped.
func TestACutOfNothingProvesNothing(t *testing.T) {
	r, err := host.Run(t.Context(), job(t, "nothing-cut.yaml", host.Namespaces), nil)
	require.NoError(t, err)
	require.Equal(t, result.Inconclusive, r.Verdict.Outcome)
	require.Len(t, r.Verdict.Reasons, 1)
	require.Contains(t, r.Verdict.Reasons[0], "not proven to bite")
	require.Zero(t, r.Faults[0].Bite.Count)
}

func TestADrillThatIsStoppedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	r, err := host.Run(ctx, job(t, "short.yaml", host.Namespaces), func(e result.Event) {
		if e.Kind == result.EventInject {
			cancel()
		}
	})
	require.NoError(t, err)
	require.Less(t, time.Since(began), time.Minute)
	require.Equal(t, result.Inconclusive, r.Verdict.Outcome)
	require.NotNil(t, r.Stopped)
	require.Equal(t, "it was interrupted", r.Stopped.Reason)
	require.Len(t, r.Phases, 2)
}

func TestADrillThatCannotRunIsAnError(t *testing.T) {
	j := job(t, "short.yaml", host.Namespaces)
	j.Source = []byte("name: x\n")
	_, err := host.Run(t.Context(), j, nil)
	require.ErrorContains(t, err, "short.yaml:1:1: apiVersion is missing")

	j = job(t, "short.yaml", "magic")
	_, err = host.Run(t.Context(), j, nil)
	require.ErrorContains(t, err, `unknown mode "magic"`)

	j = job(t, "short.yaml", host.Proxies)
	j.Source = []byte(strings.NewReplacer("etcd: 1", "etcd: 3", "from: eu, to: coordinators", "from: etcd-leader, to: others").Replace(string(j.Source)))
	_, err = host.Run(t.Context(), j, nil)
	require.ErrorContains(t, err, "line 26: etcd-leader and others cannot reach each other: this way can only be cut where namespaces are available")
}
