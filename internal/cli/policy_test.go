package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const goodPolicy = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: key
    match: {api_key: "*"}
    limit: {tokens: 100, per: 1s, burst: 10}
`

// leasehold runs the command with arguments and standard input.
func leasehold(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	root := NewRoot()
	root.SetIn(strings.NewReader(stdin))
	code = Run(t.Context(), root, args, &out, &errs)
	return code, out.String(), errs.String()
}

func policyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestPolicyCheck(t *testing.T) {
	path := policyFile(t, goodPolicy)
	code, out, errs := leasehold(t, "", "policy", "check", path)
	require.Equal(t, OK, code, errs)
	assert.Contains(t, out, path+":4:5: warning: api/key: a burst of 10 is worth 100ms")
	assert.Contains(t, out, path+": valid: domains 1, quotas 1, fingerprint ")

	code, out, _ = leasehold(t, goodPolicy, "policy", "check", "--round-trip", "0s", "--report-interval", "0s", "-")
	require.Equal(t, OK, code)
	assert.NotContains(t, out, "warning")
}

func TestPolicyCheckTellsEveryProblemByLine(t *testing.T) {
	path := policyFile(t, strings.NewReplacer("tokens: 100", "tokens: -1", "per: 1s", "pre: 1s").Replace(goodPolicy))
	code, out, errs := leasehold(t, "", "policy", "check", path)
	assert.Equal(t, Usage, code)
	assert.Empty(t, out)
	lines := strings.Split(errs, "\n")
	require.Greater(t, len(lines), 2)
	for _, l := range lines[:2] {
		assert.Regexp(t, `^.*p\.yaml:6:\d+: .+`, l)
	}
	assert.Contains(t, errs, "is not a valid policy")

	code, _, errs = leasehold(t, "", "policy", "check", filepath.Join(t.TempDir(), "none"))
	assert.Equal(t, Usage, code)
	assert.Contains(t, errs, "no such file")
	code, _, _ = leasehold(t, "", "policy", "check")
	assert.Equal(t, Usage, code)
}

func TestPolicyDiff(t *testing.T) {
	before := policyFile(t, goodPolicy)
	after := policyFile(t, strings.ReplaceAll(goodPolicy, "tokens: 100", "tokens: 50"))
	code, out, errs := leasehold(t, "", "policy", "diff", before, after)
	require.Equal(t, OK, code, errs)
	assert.Equal(t, "cut      api/key: limit cut from 100 per 1s to 50 per 1s\n", out)
	code, out, _ = leasehold(t, "", "policy", "diff", before, before)
	assert.Equal(t, OK, code)
	assert.Empty(t, out)
	code, _, _ = leasehold(t, "", "policy", "diff", before, policyFile(t, "x"))
	assert.Equal(t, Usage, code)
}

// TestPolicyDiffTellsWhatIsRefused is about changes that a coordinator which runs
// does not take.
func TestPolicyDiffTellsWhatIsRefused(t *testing.T) {
	before := policyFile(t, goodPolicy)
	after := policyFile(t, strings.ReplaceAll(goodPolicy, "burst: 10}", "algorithm: fixed_window}"))
	code, out, errs := leasehold(t, "", "policy", "diff", before, after)
	assert.Equal(t, CheckFailed, code)
	assert.Contains(t, out, "\nrefused  api/key: it changes its algorithm or its windows: give it a new name\n")
	assert.Contains(t, errs, "a coordinator that enforces "+before+" refuses "+after+" (quotas: 1)")
	assert.NotContains(t, errs, "--help")

	renamed := policyFile(t, strings.NewReplacer("burst: 10}", "algorithm: fixed_window}", "name: key", "name: other").Replace(goodPolicy))
	code, out, _ = leasehold(t, "", "policy", "diff", before, renamed)
	assert.Equal(t, OK, code, "a new name is taken")
	assert.NotContains(t, out, "refused")
}

func TestEveryCommandHasAnExample(t *testing.T) {
	for _, args := range [][]string{{}, {"demo"}, {"policy"}, {"policy", "check"}, {"policy", "diff"}, {"version"}} {
		code, out, errs := leasehold(t, "", append(args, "--help")...)
		require.Equal(t, OK, code, errs)
		assert.Contains(t, out, "Examples:\n  leasehold", args)
	}
	code, out, _ := leasehold(t, "")
	assert.Equal(t, OK, code)
	assert.Contains(t, out, "Usage:")
	code, _, errs := leasehold(t, "", "nonsense")
	assert.Equal(t, Usage, code)
	assert.Contains(t, errs, "nonsense")
}

func TestPolicyImport(t *testing.T) {
	dir := t.TempDir()
	const config = "domain: edge\ndescriptors:\n- key: ip\n  rate_limit: {unit: minute, requests_per_unit: 5}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "edge.yaml"), []byte(config), 0o600))
	code, out, errs := leasehold(t, "", "policy", "import", dir)
	require.Equal(t, OK, code, errs)
	assert.Contains(t, out, "apiVersion: leasehold/v1\ndomain: \"edge\"\n")
	assert.Contains(t, out, "      algorithm: fixed_window\n")
	code, diff, errs := leasehold(t, "", "policy", "diff", dir, policyFile(t, out))
	require.Equal(t, OK, code, errs)
	assert.Empty(t, diff, "it means the same")
	code, out, errs = leasehold(t, config, "policy", "import", "-")
	require.Equal(t, OK, code, errs)
	assert.Contains(t, out, "edge")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "edge.yaml"), []byte(config+"  shadow: true\n"), 0o600))
	code, out, errs = leasehold(t, "", "policy", "import", dir)
	assert.Equal(t, Usage, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, filepath.Join(dir, "edge.yaml")+":5:3: descriptors: unknown field \"shadow\"")
}
