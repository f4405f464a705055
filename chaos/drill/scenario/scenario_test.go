package scenario_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

const sound = `apiVersion: leasehold/drill/v1
name: mine
title: Mine
purpose: To see.
safety: true
seed: 7
least_time_scale: 0.5
topology:
  etcd: 1
  coordinators: 1
  election_ttl: 3s
  regions:
    us: {round_trip: 20ms, loss: 0.5%}
    eu: {}
policy: |
  apiVersion: leasehold/v1
  domain: api
  quotas:
    - {name: key, match: {api_key: "*"}, limit: {tokens: 60, per: 1m, burst: 10}}
load:
  domain: api
  descriptor: {api_key: hot}
  cost: 2
  rates:
    us: 10
    eu: [{from: 0s, per_second: 1}, {from: 2s, per_second: 5.5}]
phases: {baseline: 2s, fault: 10s, recovery: 4s}
faults:
  - {at: 6s, for: 4s, kill: {nodes: [us, leader]}}
  - {at: 0s, for: 4s, flap: {from: eu, to: coordinators, closed: 1s, open: 500ms, way: in}}
expect:
  - admitted: {phase: fault, region: eu, at_most: 0%, after: 2s}
  - recovers: {within: 3s, at_least: 90%}
stop: {overshoot: 5, failed_share: 50%}
`

func TestAScenarioSaysAllThatItSays(t *testing.T) {
	s, err := scenario.Parse("mine.yaml", []byte(sound))
	require.NoError(t, err)
	require.Equal(t, "mine", s.Name)
	require.True(t, s.Safety)
	require.EqualValues(t, 7, s.Seed)
	require.Equal(t, []string{"etcd-1", "coordinator-1", "us", "eu"}, s.Topology.Names())
	require.Equal(t, 3*time.Second, s.Topology.ElectionTTL)
	require.Equal(t, scenario.Region{Name: "us", RoundTrip: 20 * time.Millisecond, Loss: 0.005}, s.Topology.Regions[0])
	require.Equal(t, "api/key", s.Quota.ID)
	require.InDelta(t, 1, s.Limit(), 0)
	require.EqualValues(t, 2, s.Load.Cost)
	require.InDelta(t, 1, s.Load.At("eu", 1999*time.Millisecond), 0)
	require.InDelta(t, 5.5, s.Load.At("eu", 2*time.Second), 0)
	require.Equal(t, 16*time.Second, s.Phases.Total())
	require.Equal(t, scenario.Flap, s.Faults[0].Kind, "by time")
	require.Equal(t, scenario.In, s.Faults[0].Way)
	require.Equal(t, []string{"us", "leader"}, s.Faults[1].Nodes)
	require.Zero(t, *s.Expect[0].Most, "0% is a bound, and not none")
	require.Nil(t, s.Expect[1].Most)
	require.Equal(t, "admitted-fault-eu", s.Expect[0].ID())
	require.Equal(t, scenario.Stop{Overshoot: 5, FailedShare: 0.5}, s.Stop)
}

func TestScalingMultipliesThePlanAndNothingElse(t *testing.T) {
	s, err := scenario.Parse("mine.yaml", []byte(sound))
	require.NoError(t, err)
	half, err := s.Scale(0.5)
	require.NoError(t, err)
	require.Equal(t, scenario.Phases{Baseline: time.Second, Fault: 5 * time.Second, Recovery: 2 * time.Second}, half.Phases)
	require.Equal(t, 3*time.Second, half.Faults[1].At)
	require.Equal(t, 2*time.Second, half.Faults[1].For)
	require.Equal(t, 500*time.Millisecond, half.Faults[0].Closed)
	require.Equal(t, time.Second, half.Load.Rates["eu"][1].From)
	require.Equal(t, time.Second, half.Expect[0].After)
	require.Equal(t, 3*time.Second, half.Expect[1].Within, "how soon the system must act")
	require.Equal(t, s.Topology, half.Topology)
	require.Equal(t, 10*time.Second, s.Phases.Fault, "the original stays")
	for _, by := range []float64{0, 0.49, 101} {
		_, err = s.Scale(by)
		require.ErrorContains(t, err, "drill mine needs one from 0.5 to 100")
	}
}

func TestWhatCannotBeMeantIsRefusedWithItsPlace(t *testing.T) {
	for _, tc := range []struct{ old, replacement, want string }{
		{"leasehold/drill/v1", "leasehold/drill/v2", "f.yaml:1:13: apiVersion: must be leasehold/drill/v1, not \"leasehold/drill/v2\""},
		{"seed: 7", "sede: 7", "f.yaml:6:1: unknown field \"sede\"; known are apiVersion"},
		{"seed: 7", "seed: seven", "f.yaml:6:7: seed: must be a whole number from 0"},
		{"name: mine\n", "", "f.yaml:1:1: name is missing"},
		{"name: mine", "name: My Drill", "2:7: name: must be 1 to 41 of the characters"},
		{"name: mine", "name: mine\nname: yours", "3:1"},
		{"etcd: 1", "etcd: 2", "9:9: topology.etcd: must be 1 or 3"},
		{"us: {round_trip: 20ms, loss: 0.5%}", "leader: {}", "13:5: topology.regions.leader: \"leader\" cannot be the name of a region"},
		{"us: {round_trip: 20ms, loss: 0.5%}", "us: {round_trip: 20}", "13:22: topology.regions.us.round_trip: must be a duration from 0s to 10s"},
		{"loss: 0.5%", "loss: 51%", "topology.regions.us.loss: must be a share from 0% to 50%, not \"51%\""},
		{"safety: true", "safety: maybe", "5:9: safety: must be true or false"},
		{"limit: {tokens: 60", "limit: {tokens: none", "policy: policy:4:"},
		{"per: 1m, burst: 10}", "per: 1m, algorithm: fixed_window}", "api/key is no token bucket"},
		{`match: {api_key: "*"}`, `match: {other: "*"}`, "0 quotas match the load's descriptor"},
		{"domain: api\n  descriptor", "domain: web\n  descriptor", `policy: has no domain "web"`},
		{"us: 10\n", "us: 10\n    mars: 1\n", "load.rates: there is no region \"mars\""},
		{"{from: 0s, per", "{from: 1s, per", "load.rates.eu[0]: the first step must be from 0s"},
		{"{from: 2s, per", "{from: 0s, per", "load.rates.eu[1]: must be later than the step before"},
		{"baseline: 2s, ", "", "phases: baseline is missing"},
		{"recovery: 4s", "recovery: 0s", "phases.recovery: must be a duration from 1s"},
		{"at: 6s, for: 4s", "at: 6s, for: 5s", "29:6: faults[0]: ends 11s after the fault phase began, which lasts 10s"},
		{"kill: {nodes: [us, leader]}", "explode: {nodes: us}", "unknown field \"explode\"; known are at, for, change_limit, cut"},
		{"kill: {nodes: [us, leader]}", "kill: {nodes: [us, mars]}", "faults[0].kill.nodes: must be one of etcd-1, coordinator-1, us, eu, regions"},
		{"kill: {nodes: [us, leader]}", "kill: {nodes: []}", "must name at least one process"},
		{"kill: {nodes: [us, leader]}", "kill: {}", "faults[0].kill: nodes is missing"},
		{"kill: {nodes: [us, leader]}", "slow: {nodes: leader, round_trip: 1s}", "faults[0].slow.nodes: must be one of regions, us, eu"},
		{"kill: {nodes: [us, leader]}", "wipe_store: {now: true}", "faults[0].wipe_store: must be {}"},
		{"kill: {nodes: [us, leader]}", "kill: {nodes: us}, freeze: {nodes: eu}", "faults[0]: must be of one kind"},
		{"way: in", "way: up", "faults[1].flap.way: must be one of both, out, in"},
		{"expect:\n", "expect:\n  - admitted: {phase: fault}\n", "expect[0].admitted: needs at_least or at_most"},
		{"expect:\n", "expect:\n  - recovers: {within: 1s, at_least: 5%}\n", "the same is expected twice (recovers)"},
		{"phase: fault, region", "phase: lunch, region", "must be one of baseline, fault, recovery"},
		{"failed_share: 50%", "failed_share: half", "stop.failed_share: must be a share"},
		{"stop:", "---\nstop:", "a file holds one scenario"},
		{"title: Mine", "title: [Mine", "f.yaml:4:1: "},
	} {
		require.Contains(t, sound, tc.old)
		_, err := scenario.Parse("f.yaml", []byte(strings.Replace(sound, tc.old, tc.replacement, 1)))
		require.ErrorContains(t, err, tc.want, tc.replacement)
		require.Regexp(t, `(?m)^f\.yaml:\d+:\d+: `, err.Error())
	}
	for text, want := range map[string]string{
		"": "holds no scenario", "[]": "must be a mapping", "# nothing": "holds no scenario",
		strings.Repeat("#", scenario.MaxBytes+1): "the most is",
	} {
		_, err := scenario.Parse("f.yaml", []byte(text))
		require.ErrorContains(t, err, want)
	}
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	text := strings.NewReplacer("seed: 7", "seed: -7", "etcd: 1", "etcd: 9", "way: in", "way: up").Replace(sound)
	_, err := scenario.Parse("f.yaml", []byte(text))
	require.Len(t, strings.Split(err.Error(), "\n"), 3)
}

func TestEveryBuiltInDrillIsSound(t *testing.T) {
	all, err := scenario.Builtin()
	require.NoError(t, err)
	require.Greater(t, len(all), 20)
	files, err := os.ReadDir("builtin")
	require.NoError(t, err)
	require.Len(t, all, len(files))
	seen := map[string]bool{}
	for i, s := range all {
		require.FileExists(t, "builtin/"+s.Name+".yaml", "named like its file")
		require.False(t, seen[s.Name])
		seen[s.Name] = true
		require.True(t, i == 0 || all[i-1].Safety || !s.Safety, "those about the promise come first")
		least, err := s.Scale(s.LeastScale)
		require.NoError(t, err)
		require.LessOrEqual(t, least.Phases.Total(), 25*time.Second, s.Name)
		for _, phase := range []struct{ from, to time.Duration }{
			{0, s.Phases.Baseline}, {s.Phases.Baseline, s.Phases.Total()},
		} {
			var rate float64
			for _, r := range s.Topology.Regions {
				rate += s.Load.At(r.Name, phase.from)
			}
			require.Greater(t, rate, 1.1*s.Limit(), "the load of %s is above the limit", s.Name)
		}
		for _, u := range scenario.NotHere() {
			require.NotEqual(t, u.Name, s.Name)
		}
		found, err := scenario.Find(s.Name)
		require.NoError(t, err)
		require.Equal(t, s.Source, found.Source)
	}
	_, err = scenario.Find("nonsense")
	require.ErrorContains(t, err, `no drill "nonsense"`)
}

func TestAFaultSaysWhatItDoes(t *testing.T) {
	all, err := scenario.Builtin()
	require.NoError(t, err)
	kinds := map[scenario.FaultKind]bool{}
	for _, s := range all {
		for i := range s.Faults {
			f := &s.Faults[i]
			kinds[f.Kind] = true
			require.NotEqual(t, string(f.Kind), f.String(), "words for every kind")
			require.NotContains(t, f.String(), "%!")
		}
	}
	require.Len(t, kinds, len(scenario.FaultKinds()), "every kind is drilled")
}
