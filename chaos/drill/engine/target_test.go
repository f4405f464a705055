package engine_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/engine"
	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
	"github.com/a1009580/leasehold/internal/cli"
)

// TestMain has the test's own binary be the processes of a deployment.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(cli.Main(cli.NewRoot()))
	}
	os.Exit(m.Run())
}

// TestATargetIsLoadedAndItsFaultsAreMarked has a deployment run that the drill did
// not start, and an operator who stops a region, and one who only says so.
func TestATargetIsLoadedAndItsFaultsAreMarked(t *testing.T) {
	source, err := os.ReadFile("../host/testdata/short.yaml")
	require.NoError(t, err)
	s, err := scenario.Parse("short.yaml", source)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	f, err := fleet.New(fleet.Options{Scenario: s, Network: fleet.Loopback(t.TempDir()), Binary: os.Args[0], Log: log})
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	go func() {
		for range f.Said() {
		}
	}()
	require.NoError(t, f.Boot(ctx))
	target := fleet.Target{Regions: map[string]string{}}
	for _, p := range f.All() {
		switch p.Kind {
		case result.Region:
			target.Regions[p.Name] = p.HTTP
		case result.Coordinator:
			target.Coordinators = append(target.Coordinators, p.HTTP)
		case result.Etcd, result.Client:
		}
	}

	for _, real := range []bool{true, false} {
		marks := make(chan engine.Mark)
		eu := f.Named("eu")
		o := engine.Options{Scenario: s, Target: &target, Marks: marks, Log: log, Progress: func(e result.Event) {
			if e.Kind != result.EventPhase || e.Text != string(result.Faulty) {
				return
			}
			go func() {
				marks <- engine.Mark{Text: "stop eu"}
				if !real {
					return
				}
				if _, err := eu.Kill(); err != nil {
					t.Error(err)
				}
				<-time.After(1500 * time.Millisecond)
				if err := eu.Start(); err != nil {
					t.Error(err)
				}
			}()
		}}
		r, err := engine.Run(ctx, o)
		require.NoError(t, err)
		require.Equal(t, "target", r.Reproduction.Mode)
		require.Len(t, r.Faults, 1)
		require.Equal(t, "stop eu", r.Faults[0].Description)
		require.Equal(t, real, r.Faults[0].Bite.Proven, "%+v", r.Faults[0])
		require.Greater(t, r.Faults[0].ToSeconds, r.Faults[0].FromSeconds)
		require.Zero(t, r.Overshoots[0].Observed)
		if !real {
			require.Equal(t, result.Inconclusive, r.Verdict.Outcome)
			require.Contains(t, r.Verdict.Reasons[0], "not proven")
		}
	}
	delete(target.Regions, "eu")
	_, err = engine.Run(ctx, engine.Options{Scenario: s, Target: &target, Log: log})
	require.ErrorContains(t, err, "a target needs the address of at least one coordinator, and of every region")
}
