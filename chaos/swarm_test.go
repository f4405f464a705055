package chaos

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSwarm plays a slice of what make sim plays.
func TestSwarm(t *testing.T) {
	r := Swarm(1, 800, runtime.NumCPU(), 3, 0)
	for _, f := range r.Failed {
		t.Errorf("seed %d: %v\ngo run ./chaos/cmd/sim -replay %d -v", f.Seed, f.Err, f.Seed)
	}
	require.Empty(t, r.NeverExercised())
}

// TestReplay wants the same seed to be the same run.
func TestReplay(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		a, b := Play(Draw(seed), true), Play(Draw(seed), true)
		require.Equal(t, a, b, "seed %d", seed)
	}
}

// TestDirected plays each family of directed schedules.
func TestDirected(t *testing.T) {
	for _, d := range directed {
		t.Run(d.name, func(t *testing.T) {
			for seed := uint64(1); seed <= 60; seed++ {
				r := Play(Directed(d.name, seed), false)
				require.NoError(t, r.Failure, "seed %d", seed)
			}
		})
	}
}

// TestIdeal wants a world without faults to admit what a central bucket would.
func TestIdeal(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		r := Play(Ideal(seed), false)
		require.NoError(t, r.Failure, "seed %d", seed)
		require.GreaterOrEqual(t, r.Used, 0.97, "seed %d", seed)
		require.LessOrEqual(t, r.Worst[0], 1.0, "seed %d", seed)
		t.Logf("seed %d: used %.4f, worst %.4f", seed, r.Used, r.Worst[0])
	}
}

// TestTight wants the bound to be reached, so that nothing in it is padding.
func TestTight(t *testing.T) {
	worst := 0.0
	for seed := uint64(1); seed <= 20; seed++ {
		r := Play(Tight(seed), false)
		require.NoError(t, r.Failure, "seed %d", seed)
		worst = max(worst, r.Worst[0])
		t.Logf("seed %d: %.5f", seed, r.Worst[0])
	}
	require.GreaterOrEqual(t, worst, 0.99)
}

// TestTightCut wants the closed forms of the inexact modes to be reached as well:
// with several cuts, several processes, and to the end of what a fallback allows.
func TestTightCut(t *testing.T) {
	worst := 0.0
	for seed := uint64(1); seed <= 12; seed++ {
		r := Play(TightCut(seed), false)
		require.NoError(t, r.Failure, "seed %d", seed)
		require.LessOrEqual(t, r.Tightness, 1.0, "seed %d", seed)
		worst = max(worst, r.Tightness)
		t.Logf("seed %d: %.5f", seed, r.Tightness)
	}
	require.GreaterOrEqual(t, worst, 0.95)
}
