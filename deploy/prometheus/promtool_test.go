package prometheus_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	rulesFile = "leasehold.rules.yaml"
	testsFile = "leasehold.rules_test.yaml"
)

// promtool runs the real one, which must be installed: what a rule means is decided by nobody else.
func promtool(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	require.NoError(t, err, "this test runs the real promtool: on Debian, apt-get install prometheus")
	said, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	require.NoError(t, err, "%s", said)
	return string(said)
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	said := promtool(t, "check", "rules", "--lint-fatal", rulesFile)
	found := regexp.MustCompile(`SUCCESS: (\d+) rules found`).FindStringSubmatch(said)
	require.Len(t, found, 2, said)
	require.Equal(t, len(rules(t)), number(t, found[1]))
}

func TestPromtoolSeesTheRulesFire(t *testing.T) {
	promtool(t, "test", "rules", testsFile)
}

// tested is what a file of tests for promtool says of alerts.
type tested struct {
	Tests []struct {
		Alerts []struct {
			Name     string           `yaml:"alertname"`
			Expected []map[string]any `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	} `yaml:"tests"`
}

// A rule that nobody saw fire, or that nobody saw keep quiet, is not tested.
func TestEveryAlertIsSeenToFireAndToKeepQuiet(t *testing.T) {
	b, err := os.ReadFile(testsFile)
	require.NoError(t, err)
	var doc tested
	require.NoError(t, yaml.Unmarshal(b, &doc))
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range doc.Tests {
		for _, a := range test.Alerts {
			if len(a.Expected) > 0 {
				fires[a.Name] = true
			} else {
				quiet[a.Name] = true
			}
		}
	}
	for _, r := range rules(t) {
		require.True(t, fires[r.Alert], "no test has %s fire", r.Alert)
		require.True(t, quiet[r.Alert], "no test has %s keep quiet", r.Alert)
	}
}
