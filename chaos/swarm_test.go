package chaos

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
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

// TestNoLawOfAnExactModeNeedsADetector has detectors that are always wrong, or
// wrong by chance: with quotas of exact modes alone nothing depends on them.
func TestNoLawOfAnExactModeNeedsADetector(t *testing.T) {
	for _, d := range []Detector{AlwaysConnected, AlwaysCutOff, DiceDetector} {
		for seed := uint64(1); seed <= 60; seed++ {
			c := Draw(seed)
			c.Detector = d
			for _, p := range c.Policies {
				for i := range p {
					p[i].Unreserved = lease.Unreserved{}
				}
			}
			r := Play(c, false)
			require.NoError(t, r.Failure, "detector %d, seed %d", d, seed)
			require.Zero(t, r.Counts[UnreservedSpent])
		}
	}
}

// TestTheBoundThatIsToldIsTheBoundThatIsReached runs a policy as people write it,
// and compares what package partition says of it with what happens at worst.
func TestTheBoundThatIsToldIsTheBoundThatIsReached(t *testing.T) {
	for name, mode := range map[string]string{
		"fallback":  "{mode: local_fallback, rate: {tokens: 30, per: 1s}, burst: 90, for: 12s}",
		"fail open": "{mode: fail_open, ceiling: {tokens: 40, per: 1s}, burst: 60}",
	} {
		t.Run(name, func(t *testing.T) {
			set, err := policy.Parse("policy.yaml", []byte("apiVersion: leasehold/v1\ndomain: api\nquotas:\n"+
				"  - {name: q, match: {}, limit: {tokens: 60, per: 1s}, partition: "+mode+"}\n"))
			require.NoError(t, err)
			q := set.Quota("api/q")
			worst := 0.0
			for seed := uint64(1); seed <= 3; seed++ {
				c := TightCut(seed)
				c.Policies = [][]lease.Terms{{q.Terms()}}
				w := newWorld(c, false)
				w.run(c.Duration + c.Quiet)
				require.NoError(t, w.failure)
				var cuts []partition.Cut
				for _, k := range w.cuts {
					cuts = append(cuts, partition.Cut{Region: k.region.cfg.Name, Holders: 1, For: k.ended - k.began, Count: 1})
				}
				bound := partition.Bound(q, c.Drift, cuts)
				require.NotEmpty(t, bound.Lines)
				over := w.bounds[0].overshoot()
				require.LessOrEqual(t, over, bound.Tokens, "seed %d", seed)
				worst = max(worst, float64(over)/float64(bound.Tokens))
			}
			t.Logf("%.5f of the bound was reached", worst)
			require.GreaterOrEqual(t, worst, 0.95)
		})
	}
}
